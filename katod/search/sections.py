"""Markdown cut into sections as it comes, so that the first can be shown before the last is written. Pure.

A section ends before a heading, at a blank line once it is long, and anywhere once it is very long; a block of code is
then closed, and opened again in the next section. A line that is too long is shown as several, cut between words.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from katod.formats.text.mdblocks import PrintedBlocks
from katod.search.folding import fold
from katod.search.heads import end_of_front_matter, head_of, is_begun, is_speaker
from katod.search.markup import plain
from katod.search.query import Query

_LONG: Final = 8 * 1024  # characters
_VERY_LONG: Final = 32 * 1024
_LONGEST_LINE: Final = 8 * 1024
SPEAKERS: Final = ("## ", "### ")  # no heading of a message has so few signs
_HEADING: Final = re.compile(r"#{1,6}[ \t]")
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}(?=[^`\n]*$)|~{3,})")
_OPENING: Final = re.compile(r"(?:`{3,}(?=[^`\n]*$)|~{3,})[^\n]*")
_LETTER: Final = re.compile(r"[^\W\d_]")  # what follows a cut is one: no line of Markdown's own begins with it
_TO_WORD: Final = re.compile(rf".{{{_LONGEST_LINE // 2},{_LONGEST_LINE - 1}}}\s(?={_LETTER.pattern})", re.DOTALL)
_TO_LETTER: Final = re.compile(rf".{{{_LONGEST_LINE // 2},{_LONGEST_LINE}}}(?={_LETTER.pattern})", re.DOTALL)
_GOES_ON: Final = "…"

# Stands before a section that was looked for.
MARK: Final = "▶"


class Section(NamedTuple):
    """A section as it is shown, and as it is written: without what was added where text was cut.

    It may begin with the heading of a message, in a file of a person's own with one of theirs. A line of a message that
    reads like one is shown with a backslash.
    """

    shown: str
    written: str
    is_heading: bool = False


class _Fence(NamedTuple):
    """A block of code that is open: the lines that open it again and end it, indented as the list that it is in."""

    opening: str
    closing: str


class _Followed:
    """Follows a message, to tell which of its lines are code or HTML."""

    def __init__(self) -> None:
        self._blocks = PrintedBlocks()
        self._is_code = False  # in a block of code at the left margin
        self.fence: _Fence | None = None

    def take(self, line: str) -> None:
        """Follow one more line; of a block of code at the left margin, only its ends are parsed: that is faster."""
        if self._is_code and not _FENCE.match(line):
            return
        self._blocks.take(line)
        found = self._blocks.fence
        self._is_code = found is not None and not found[0]
        closing = "".join(found) if found else ""
        if found is None:
            self.fence = None
        elif self.fence is None or self.fence.closing != closing:
            opening = _OPENING.search(line)
            self.fence = _Fence(found[0] + (opening[0] if opening else found[1]), closing)

    def holds(self, line: str) -> bool:
        """Return whether the next line, one that begins like a heading, is code or HTML."""
        return self._blocks.holds(line)


class Sections:
    """Cuts text that arrives in pieces of any size; a section of more than `most` characters ends with its line.

    In a transcript, only the headings with a speaker are those of messages.
    """

    def __init__(self, most: int = _VERY_LONG, *, is_transcript: bool = False) -> None:
        self._most = most
        self._is_transcript = is_transcript
        self._rest = ""
        self._lines: list[str] = []
        self._written: list[str] = []
        self._size = 0
        self._is_cut = False  # within a line
        self._message = _Followed()
        self._is_heading = False  # the first line is one with a speaker

    def take(self, piece: str) -> Iterator[Section]:
        """Yield the sections that are complete with one more piece of text."""
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            yield from self._take_line(f"{line}\n")
        while len(self._rest) > _LONGEST_LINE:
            end = _end_of_part(self._rest, 0)
            part, self._rest = self._rest[:end], self._rest[end:]
            yield from self._take_part(part)

    def flush(self) -> Iterator[Section]:
        """Yield what is left."""
        rest, self._rest = self._rest, ""
        if rest:
            yield from self._take_line(f"{rest}\n")
        yield from self._cut(self._message.fence)

    def _take_line(self, line: str) -> Iterator[Section]:
        begin = 0
        while len(line) - begin > _LONGEST_LINE + len("\n"):
            end = _end_of_part(line, begin)
            yield from self._take_part(line[begin:end])
            begin = end
        yield from self._take_part(line[begin:])

    def _take_part(self, part: str) -> Iterator[Section]:
        """Take a line, or a part of one that is too long; what goes on behind a cut is shown as a line of words."""
        line = self._whole(part)
        if _HEADING.match(line):
            if not self._message.holds(line):
                yield from self._before(line)
            elif line.startswith(SPEAKERS) and self._message.fence is None:
                line = f"\\{line}"  # it is HTML
        self._lines.append(line)
        self._written.append(part)
        self._size += len(line)
        self._message.take(line[:-1])
        is_gap = self._message.fence is None and not line.strip()
        if self._size > self._most or (is_gap and self._size > _LONG):
            yield from self._cut(self._message.fence)

    def _whole(self, part: str) -> str:
        """Return a part as a line."""
        goes_on = self._is_cut
        self._is_cut = not part.endswith("\n")
        line = f"{part}\n" if self._is_cut else part
        return f"{_GOES_ON}{line}" if goes_on and not _LETTER.match(line) else line

    def _before(self, line: str) -> Iterator[Section]:
        """Cut before a heading: no block goes on behind it, and behind one with a speaker nothing of a message."""
        yield from self._cut()
        if line.startswith(SPEAKERS):
            self._message = _Followed()
            self._is_heading = is_speaker(line) or not self._is_transcript

    def _cut(self, fence: _Fence | None = None) -> Iterator[Section]:
        """Yield the lines so far; code that goes on behind them is closed, and opened again."""
        text, written = "".join(self._lines), "".join(self._written)
        self._lines, self._written, self._size = [], [], 0
        if fence is not None and text.strip():
            text += f"{fence.closing}\n"
            self._lines = [f"{fence.opening}\n"]
        if text.strip():
            yield Section(text, written, self._is_heading)
        self._is_heading = False


def _end_of_part(line: str, begin: int) -> int:
    """Return where to cut a line that is too long: before a word, else before a letter, else anywhere."""
    found = _TO_WORD.match(line, begin) or _TO_LETTER.match(line, begin)
    return found.end() if found else begin + _LONGEST_LINE


def messages(sections: Iterable[Section]) -> Iterator[list[Section]]:
    """Yield the sections of each message, from one heading with a speaker to the next."""
    message: list[Section] = []
    for section in sections:
        if message and section.is_heading:
            yield message
            message = []
        message.append(section)
    if message:
        yield message


def place_in(message: Iterable[Section], query: Query, seen: Callable[[str], str] = str) -> int | None:
    """Return in which section of a message to look for the words, None if the message does not have all of them.

    Only what is `seen` of it counts.
    """
    written = [section.written for section in message]
    text = "".join(written)
    if not query.may_be_in_text(text):
        return None
    text = seen(text)
    if not (query.matches(plain(text)) or query.matches(text)):
        return None
    return next((number for number, one in enumerate(written) if query.longest_in(fold(plain(seen(one))))), 0)


def sections_of(pieces: Iterable[str], most: int = _VERY_LONG, *, is_recording: bool = False) -> Iterator[Section]:
    """Yield the sections of a transcript, without its front matter, each of hardly more than `most` characters.

    All of a file of a person's own is in them, unless it is known to be a recording: then it is a transcript.
    """
    begin, rest = "", iter(pieces)
    for piece in rest:
        begin += piece
        if is_begun(begin):
            break
    head, pieces = head_of(begin, is_recording=is_recording), chain([begin], rest)
    sections = Sections(most, is_transcript=head is not None)
    has_front = head is not None and not head.above  # else something there is a person's
    for piece in without_front_matter(pieces) if has_front else pieces:
        yield from sections.take(piece)
    yield from sections.flush()


def without_front_matter(pieces: Iterable[str]) -> Iterator[str]:
    """Yield text without the front matter at its beginning."""
    text, rest = "", iter(pieces)
    for piece in rest:
        text += piece
        if (begin := end_of_front_matter(text)) is not None:
            text = text[begin:]
            break
    yield text
    yield from rest

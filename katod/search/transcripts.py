"""Transcripts in Markdown, taken apart again into passages: who said what, and when. Pure.

A passage is what stands in a transcript between two things that katod prints: a message, a tool line, a block that
unfolds. Messages that follow each other under one heading are one passage, as nothing tells where one ends, and what a
person wrote into a transcript belongs to the passage around it. Above the first heading, and in a file of notes, it is
a passage of its own.

Nothing is left out but the head and the lines that only katod prints, in exactly their form (`printed`). A file whose
head names no agent and no session is a person's, whatever it looks like, unless it is known to be a recording.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import chain, groupby, pairwise
from typing import Final

import orjson

from katod import events as ev
from katod.events import Event
from katod.formats.eventlines import is_event
from katod.formats.text.mdblocks import PrintedBlocks
from katod.formats.text.ownlines import SIGN
from katod.search.heads import AGENT, PERSON, head_of
from katod.search.passages import NOTE, OWN_NOTE, Heading, Passage, SpokenPart, named, passages
from katod.search.printed import NOTED, OWN_LINE, own_line

# What a message has in a fold: what was pasted, and the rest of a long one.
_IN_PROMPT: Final = r"(?:Pasted: )?[\d,]+ lines?(?: more)?</summary>"
_FOLD: Final = rf"<details>\n<summary>{SIGN} (?!{_IN_PROMPT}$)"
_END: Final = "</details>"
# Where a passage may begin, the fences of code, in which none does, and what may be HTML of a message.
_BOUNDARY: Final = re.compile(
    rf"^(?:(?P<fence> {{0,3}}(?:`{{3,}}(?=[^`\n]*$)|~{{3,}}))[^\n]*|(?P<own>\#\# |\#\#\# |- {SIGN}|{_FOLD})"
    rf"|(?P<line>{OWN_LINE})|<details>\n<summary>{SIGN} {_IN_PROMPT}$|(?P<end>{_END})$|(?P<html> {{0,3}}<))",
    re.MULTILINE,
)
_OWN_LINES: Final = re.compile(r"(?:<details>\n)?[^\n]*\n?")
_IS_FOLD: Final = re.compile(_FOLD, re.MULTILINE)
_PROMPT_FOLD: Final = re.compile(
    rf"\n+<details>\n<summary>{SIGN} {_IN_PROMPT}\n\n(`{{3,}})text\n(.*?)\n\1\n\n{_END}\n*", re.DOTALL
)
_ITEM: Final = f"- {SIGN}"
_AFTER_ITEMS: Final = re.compile(rf"\n+(?!{_ITEM}|[ \t\n])")
_BETWEEN: Final = re.compile(rf"<details>\n<summary>{SIGN} <b>([^<>\n]+)</b> ·")
_NAMED: Final = re.compile(rf"- {SIGN} \*\*(.+?)\*\*|<details>\n<summary>{SIGN} (?:<b>(.+?)</b>|(Thinking)</summary>)")
_HEADINGS: Final = ("## ", "### ")


def markdown_passages(pieces: Iterable[str], *, is_recording: bool = False) -> Iterator[Passage]:
    """Yield the passages of a Markdown transcript, in order, without its front matter. Its lines end with newlines.

    It comes in pieces of whole lines, the head in the first one. No more is kept than a passage and a piece. All of a
    file that is no recording, and has no head of katod's, is notes of a person.
    """
    rest = iter(pieces)
    first = next(rest, "")
    head = head_of(first, is_recording=is_recording)
    if head is not None:
        texts = chain([head.above], _between_passages(chain([head.below], rest)))
        yield from passages(_read(texts, Heading(day=head.about.date)), head.about.zone)
    else:
        yield from passages(_notes(_between_passages(chain([first], rest))), "")


def _notes(texts: Iterable[str]) -> Iterator[SpokenPart]:
    """Yield a file of a person's own, whatever its lines look like; its sections are apart."""
    section: list[str] = []
    for text in texts:
        for begin, end in pairwise([*_boundaries(text), len(text)]):
            if text.startswith(_HEADINGS, begin):
                yield SpokenPart(Heading(), NOTE, "".join(section).strip("\n"))
                section = []
            section.append(text[begin:end])
    yield SpokenPart(Heading(), NOTE, "".join(section).strip("\n"))


def _between_passages(pieces: Iterable[str]) -> Iterator[str]:
    """Yield the same text in other pieces: each begins where a passage does."""
    kept, most = "", 0
    for piece in pieces:
        if len(kept) > most:
            *_, cut = _boundaries(kept)
            if cut:
                yield kept[:cut]
            kept = kept[cut:]
            most = 2 * len(kept)  # so that a passage of many pieces is not looked through again for each
        kept += piece
    yield kept


def _read(texts: Iterable[str], heading: Heading) -> Iterator[SpokenPart]:
    """Yield the parts of a transcript."""
    for text in texts:
        for begin, end in pairwise([*_boundaries(text), len(text)]):
            piece = text[begin:end].removeprefix(_END).strip("\n")
            if f"<summary>{SIGN} " in piece:
                piece = _PROMPT_FOLD.sub(r"\n\2\n", piece).rstrip("\n")
            if found := PERSON.match(piece) or AGENT.match(piece):
                heading, words = _headed(heading, found, piece)
                yield SpokenPart(heading, heading.speaker, words)
            elif between := _BETWEEN.match(piece):
                yield SpokenPart(heading, named(unescape(between[1])), piece[between.end() :], alone=True)
            elif piece:
                yield from _parts(piece, heading)


def _headed(before: Heading, found: re.Match[str], piece: str) -> tuple[Heading, str]:
    """Return a heading, and the words in it and below it.

    Below a person's heading that says only the time, there is always what they typed. So one with nothing below it has
    no time, and says a prompt that reads like one.
    """
    words, stamp = _without_heading(piece, found.end()), found[2] or ""
    is_prompt = found.re is PERSON and not words
    return before.following(found[1], "" if is_prompt else stamp), stamp if is_prompt else words


def _parts(piece: str, heading: Heading) -> Iterator[SpokenPart]:
    """Yield what a piece without a heading begins with, if that is said by somebody else, and its other words."""
    if printed := own_line(piece):
        yield from _printed(printed, heading)
        piece = piece[printed.end() :].strip("\n")
    begin = _behind_items(piece, 0, len(piece))
    end = len(piece) if begin is None else begin
    if name := _NAMED.match(piece, 0, end):
        speaker = f"{heading.speaker or NOTE} {SIGN} {name[name.lastindex or 0]}"
        yield SpokenPart(heading, speaker, piece[:end].rstrip("\n"), alone=True)
    else:
        yield from _words(piece[:end].rstrip("\n"), heading)
    yield from _words(piece[end:].strip("\n"), heading)


def _printed(printed: re.Match[str], heading: Heading) -> Iterator[SpokenPart]:
    """Yield what a line of katod's says: a note, or an answer of the user; marks and footers say nothing.

    What names the question of an answer, if several are open, is the agent's.
    """
    if printed["note"]:
        yield SpokenPart(heading, OWN_NOTE, printed["note"])
    elif not printed["mark"]:
        if printed["key"]:
            yield SpokenPart(heading, heading.speaker or NOTE, printed["key"])
        yield SpokenPart(heading, "You", printed["answer"] or "", alone=True)


def _words(words: str, heading: Heading) -> Iterator[SpokenPart]:
    """Yield words below a heading; above the first one, katod's notes there apart from what a person wrote."""
    if heading.speaker or not words:
        if words:
            yield SpokenPart(heading, heading.speaker, words, alone=words.startswith("<details>"))
        return
    for is_own, alike in groupby(words.split("\n\n"), lambda part: NOTED.fullmatch(part.strip("\n")) is not None):
        if text := "\n\n".join(alike).strip("\n"):
            yield SpokenPart(heading, OWN_NOTE if is_own else NOTE, text)


def _boundaries(text: str) -> Iterator[int]:
    """Yield where passages begin: lines outside of code and HTML of messages that only katod prints."""
    at: int | None = 0
    while at is not None:
        yield at
        at = _next_boundary(text, at)


def _next_boundary(text: str, begin: int) -> int | None:
    """Return where the passage after one begins, None if there is none.

    In plain text, fences are at the left margin, and a search for them is enough; a message that may have HTML, or a
    fence in a list, is read as katod's writer does, which takes longer.
    """
    is_fold = _IS_FOLD.match(text, begin) is not None
    for found in _outside_fences(text, _behind_own(text, begin)):
        if _is_beginning(found, begin, is_fold=is_fold):
            return found.start()
        if found.lastgroup not in ("line", "end") or (is_fold and found["end"]):
            return _next_read_closely(text, begin, is_fold=is_fold)
    return None


def _is_beginning(found: re.Match[str], begin: int, *, is_fold: bool) -> bool:
    """Return whether a passage certainly begins at what was found behind the beginning of another one."""
    if found["end"] is None:
        return found["own"] is not None or (found["line"] is not None and not is_fold)
    text, at = found.string, found.start()
    is_behind_fold = is_fold and text.find("<details", begin + 1, at) < 0
    return is_behind_fold or _behind_items(text, begin, len(text)) == at


def _behind_items(text: str, begin: int, end: int) -> int | None:
    """Return where what follows tool lines begins, None if the passage does not begin with one, or nothing follows.

    An end of a fold there is that of katod's own fold around the lines: no message begins with one.
    """
    found = _AFTER_ITEMS.search(text, begin, end) if text.startswith(_ITEM, begin) else None
    return found.end() if found else None


def _outside_fences(text: str, begin: int) -> Iterator[re.Match[str]]:
    """Yield what may be a boundary or HTML, or a fence in a list, outside of code with fences at the left margin."""
    fence = ""
    for found in _BOUNDARY.finditer(text, begin):
        if found["fence"] and (fence or found["fence"][0] != " "):
            fence = _after_fence(fence, found[0])
        elif not fence and found.lastgroup:
            yield found


def _next_read_closely(text: str, begin: int, *, is_fold: bool) -> int | None:
    message = PrintedBlocks()
    for at, line in _lines(text, _behind_own(text, begin)):
        found = _BOUNDARY.match(text, at)
        begins = found and (found["own"] or found["end" if is_fold else "line"])
        if begins and not message.holds(line):
            return at
        message.take(line)
    return None


def _behind_own(text: str, begin: int) -> int:
    """Return the end of the lines of katod's own with which a passage begins, its beginning if there are none."""
    found = _BOUNDARY.match(text, begin)
    lines = _OWN_LINES.match(text, begin) if found and (found["own"] or found["end"] or found["line"]) else None
    return lines.end() if lines else begin


def _lines(text: str, at: int) -> Iterator[tuple[int, str]]:
    """Yield where each line begins, and the line."""
    while at < len(text):
        end = text.find("\n", at)
        end = end if end >= 0 else len(text)
        yield at, text[at:end]
        at = end + 1


def _after_fence(fence: str, line: str) -> str:
    """Return the fence of the block of code that is open after a line with a fence, an empty string if none is."""
    written = line.strip()
    mark = written[: len(written) - len(written.lstrip(written[0]))]
    if not fence:
        return mark
    return "" if mark.startswith(fence) and written == mark else fence


def _without_heading(piece: str, end: int) -> str:
    """Return a passage without its heading's mark, speaker and time, and without words that are repeated below."""
    words, _, below = piece[end:].lstrip(" ·").partition("\n")
    below = below.strip("\n")
    return below if below and below.startswith(words.rstrip("…")) else f"{words}\n{below}".strip("\n")


def jsonl_event(line: bytes) -> Event | None:
    """Return a line of a JSONL transcript as the event that it is, None if it is none of katod's."""
    try:
        return ev.from_json(orjson.loads(line)) if is_event(line) else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None

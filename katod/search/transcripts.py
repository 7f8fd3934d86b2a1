"""Transcripts that katod wrote, taken apart again into passages: who said what, and when. Pure.

A passage is what stands in a transcript between two things that katod prints: a message, a tool line, a block that
unfolds. Messages that follow each other under one heading are one passage, as nothing tells where one ends, and what a
person wrote into a transcript belongs to the passage around it. Above the first heading, and in a file of notes, it is
a passage of its own.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from html import unescape
from itertools import chain, groupby, pairwise
from typing import Final, NamedTuple

import orjson

from katod import events as ev
from katod.events import Event
from katod.formats.eventlines import is_event
from katod.formats.text.mdblocks import PrintedBlocks
from katod.formats.text.ownlines import SIGN, poses
from katod.formats.text.when import zone_of
from katod.formats.transcript.between import SUMMARY
from katod.search.hits import TranscriptHead
from katod.text import slug

_FIELD: Final = re.compile(r'^(title|date|agent|project|session|subagent): "?(.*?)"?$', re.MULTILINE)
_ZONE: Final = re.compile(r"\d\d:\d\d \(([A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*)\)$", re.MULTILINE)
_STAMPED: Final = r"(?: · ((?:\d{4}-\d\d-\d\d )?\d\d:\d\d))?"
_PERSON: Final = re.compile(rf"## (You){_STAMPED}(?: · |$)", re.MULTILINE)
_AGENT: Final = re.compile(rf"### (\w[\w ]*?)(?: · [^·\n]+)??{_STAMPED}$", re.MULTILINE)
_STAMP: Final = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d)")
# What a message has in a fold: what was pasted, and the rest of a long one.
_IN_PROMPT: Final = r"(?:Pasted: )?[\d,]+ lines?(?: more)?</summary>"
_FOLD: Final = rf"<details>\n<summary>{SIGN} (?!{_IN_PROMPT}$)"
_END: Final = "</details>"
# Where a passage may begin, the fences of code, in which none does, and what may be HTML of a message.
_BOUNDARY: Final = re.compile(
    rf"^(?:(?P<fence> {{0,3}}(?:`{{3,}}(?=[^`\n]*$)|~{{3,}}))[^\n]*|(?P<own>\#\# |\#\#\# |- {SIGN}|{_FOLD})"
    rf"|<details>\n<summary>{SIGN} {_IN_PROMPT}$|(?P<end>{_END})$|(?P<html> {{0,3}}<))",
    re.MULTILINE,
)
_OWN_LINES: Final = re.compile(r"(?:<details>\n)?[^\n]*\n?")
_IS_FOLD: Final = re.compile(_FOLD, re.MULTILINE)
_PROMPT_FOLD: Final = re.compile(
    rf"\n+<details>\n<summary>{SIGN} {_IN_PROMPT}\n\n(`{{3,}})text\n(.*?)\n\1\n\n{_END}\n*", re.DOTALL
)
_PAGE_PROMPT_FOLD: Final = re.compile(rf"<details>\n<summary>{_IN_PROMPT}\n(.*?)\n{_END}", re.DOTALL)
# A prompt as it was typed, above what it looks like: a page shows one of them.
_PAGE_SOURCE: Final = re.compile(r'(<div class="typed written">)<details class="source">.*?</details>', re.DOTALL)
_ITEM: Final = f"- {SIGN}"
_AFTER_ITEMS: Final = re.compile(r"\n+(?![- \n])")
_BETWEEN: Final = re.compile(rf"<details>\n<summary>{SIGN} <b>([^<>\n]+)</b> ·")
_PAGE_BETWEEN: Final = re.compile(r'<details class="between">\n<summary><b>([^<>\n]+)</b>')
_NAMED: Final = re.compile(rf"- {SIGN} \*\*(.+?)\*\*|<details>\n<summary>{SIGN} (?:<b>(.+?)</b>|(Thinking)</summary>)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG: Final = re.compile(r"(?<!\\)</?[a-z][^<>\n]*>")
_PIECES: Final = re.compile(r'(?=<h[1-6][ >]|<details[ >]|</details>|<div class="(?:tool|typed|question)"|<nav>)')
_PAGE_SPEAKER: Final = re.compile(
    r'<h[1-6] class="speaker[^>]*>(?:<a [^>]*>)?([^<]*)(?:</a>)?(?:<span[^>]*>[^<]*</span>)?(?:<time>([^<]*)</time>)?'
)
_PAGE_NAMED: Final = re.compile(r"<details>\n<summary>(?:<b>([^<>\n]+)</b>(?: |</summary>)|(Thinking)</summary>)")
_PAGE_TOOL: Final = re.compile(
    r'<div class="tool"><b>([^<>\n]*)</b>.*?</div>(?:\s*<div class="outcome">.*?</div>)*', re.DOTALL
)
_PAGE_TITLE: Final = re.compile(r"<title>([^<]*)</title>")
_PAGE_ABOUT: Final = re.compile(
    r'<p class="about">([^<]*?) (?:\d[^<·]*)?(?:· ([^<·]*?) )?(?:· [^<]*? )??· (\d{4}-\d\d-\d\d) [^<(]*\(([^)<]*)\)</p>'
)
_PAGE_HEAD: Final = 256 * 1024  # characters: the styles come first
_PROMPTS: Final = "<nav>"  # the list of prompts at the end of a page
_MARKUP: Final = re.compile(r"<[^>]*>")
_HEAD: Final = 4096  # characters
_TITLE: Final = re.compile(r"\s*# [^\n]*\n")
# A line that is emphasised as a whole: so katod prints what the agent notes (an error, another model), in any words.
_NOTED: Final = re.compile(r"\*(?![*\s])(?:\\.|[^*\\\n])+(?<!\s)\*")
_OWN_NOTE: Final = f"{SIGN} Note"
_NOTE: Final = "Note"  # the speaker of what a person wrote above the first heading
_FRONT: Final = "---\ntitle:"


class Passage(NamedTuple):
    """A part of a transcript, as it is written there.

    `time` (ISO 8601) is that of its heading; it may have been said until `until`, the time of the next one. Both are
    empty where the transcript says none.
    """

    speaker: str
    time: str
    text: str
    until: str = ""


class _Heading(NamedTuple):
    """A heading with a speaker, and where it ends; `day` and `minute` as it says them, or as the one before did.

    Above the first heading, `is_of_session` marks a session's transcript, where notes of katod may stand.
    """

    speaker: str = ""
    day: str = ""
    minute: str = ""
    is_of_session: bool = False


def about(text: str) -> TranscriptHead:
    """Return the head of a Markdown transcript, empty if it has none of katod's."""
    if not text.startswith(_FRONT):
        return TranscriptHead()
    head = text[:_HEAD]
    fields = dict(_FIELD.findall(head[: head.find("\n---\n", 4)]))
    zone = _ZONE.search(head)
    return TranscriptHead(**fields, zone=zone[1] if zone else "")


def plain(text: str) -> str:
    """Return the text that Markdown of katod's shows: without its escapes and tags."""
    return unescape(_ESCAPE.sub(r"\1", _TAG.sub("", text)))


def markdown_passages(pieces: Iterable[str]) -> Iterator[Passage]:
    """Yield the passages of a Markdown transcript, in order, without its front matter. Its lines end with newlines.

    It comes in pieces of whole lines, the head in the first one. No more is kept than a passage and a piece.
    """
    rest = iter(pieces)
    first = next(rest, "")
    head = about(first)
    parts = _between_passages(chain([_without_head(first, head)], rest))
    heading = _Heading(day=head.date, is_of_session=bool(head.agent and head.session))
    yield from _dated(_read(parts, heading), head.zone)


def _without_head(text: str, head: TranscriptHead) -> str:
    """Return the beginning of a transcript without its front matter, its title and the line about it."""
    if not text.startswith(_FRONT):
        return text
    text = text[text.find("\n---\n", 4) + 5 :]
    text = text[title.end() :] if (title := _TITLE.match(text)) else text
    line, _, rest = text.lstrip("\n").partition("\n")
    return rest if head.agent and slug(line).startswith(head.agent) else text


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


def _read(texts: Iterable[str], heading: _Heading) -> Iterator[tuple[_Heading, str, str]]:
    """Yield heading, speaker and text of each passage."""
    for text in texts:
        for passage in _read_text(text, heading):
            heading = passage[0]
            yield passage


def _read_text(text: str, heading: _Heading) -> Iterator[tuple[_Heading, str, str]]:
    for begin, end in pairwise([*_boundaries(text), len(text)]):
        found = _PERSON.match(text, begin, end) or _AGENT.match(text, begin, end)
        if found:
            heading = _next(heading, found)
        piece = _without_marks(text[begin:end].removeprefix(_END).strip("\n"))
        piece = _PROMPT_FOLD.sub(r"\n\2\n", piece).rstrip("\n") if f"<summary>{SIGN} " in piece else piece
        between = _BETWEEN.match(piece)
        if not piece:
            continue
        if between:
            yield heading, _named(between[1]), piece[between.end() :]
        elif found:
            yield heading, heading.speaker, _without_heading(piece, found.end() - begin)
        else:
            yield from ((heading, speaker, words) for speaker, words in _pieces_below(piece, heading))


def _pieces_below(piece: str, heading: _Heading) -> Iterator[tuple[str, str]]:
    """Yield the pieces below a heading, or above the first one; a file that is not katod's is a person's."""
    if heading.is_of_session:
        return _pieces_above(piece)
    return _pieces(piece, heading.speaker or _NOTE)


def _named(name: str) -> str:
    """Return who says words between agents, as `speaker_of` does for their event."""
    return f"{SIGN} {name}" if name == SUMMARY else unescape(name)


def _without_marks(piece: str) -> str:
    """Return a passage without the lines in which katod says what became of the recording, or sums up a turn."""
    if "\n*" not in f"\n{piece}":
        return piece
    lines = piece.split("\n")
    return "\n".join(line for line in lines if not (line.startswith("*") and poses(line))).strip("\n")


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
        is_end = found["end"] is not None
        is_behind_items = is_end and _behind_items(text, begin, len(text)) == found.start()
        if is_end and not (is_fold or is_behind_items):
            continue
        is_certain = found["own"] or is_behind_items or (is_end and text.find("<details", begin + 1, found.start()) < 0)
        return found.start() if is_certain else _next_read_closely(text, begin, is_fold=is_fold)
    return None


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
        if found and (found["own"] or (is_fold and found["end"])) and not message.holds(line):
            return at
        message.take(line)
    return None


def _behind_own(text: str, begin: int) -> int:
    """Return the end of the lines of katod's own with which a passage begins, its beginning if there are none."""
    found = _BOUNDARY.match(text, begin)
    lines = _OWN_LINES.match(text, begin) if found and (found["own"] or found["end"]) else None
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


def _pieces(piece: str, speaker: str) -> Iterator[tuple[str, str]]:
    """Yield a tool line and what follows it, each with who says it; any other piece is one."""
    begin = _behind_items(piece, 0, len(piece))
    end = len(piece) if begin is None else begin
    name = _NAMED.match(piece, 0, end)
    yield f"{speaker} {SIGN} {name[name.lastindex or 0]}" if name else speaker, piece[:end].rstrip("\n")
    if words := piece[end:].strip("\n"):
        yield speaker, words


def _pieces_above(piece: str) -> Iterator[tuple[str, str]]:
    """Yield the same of what stands above a transcript's first heading: katod's notes there, no person has said."""
    for speaker, words in _pieces(piece, _NOTE):
        parts = words.split("\n\n") if speaker == _NOTE else [words]
        for is_own, alike in groupby(parts, lambda part: _NOTED.fullmatch(part.strip("\n")) is not None):
            if text := "\n\n".join(alike).strip("\n"):
                yield _OWN_NOTE if is_own else speaker, text


def _next(before: _Heading, found: re.Match[str]) -> _Heading:
    stamp = _STAMP.fullmatch(found[2] or "")
    day, minute = (stamp[1] or before.day, stamp[2]) if stamp else (before.day, before.minute)
    return _Heading(found[1], day, minute)


def _without_heading(piece: str, end: int) -> str:
    """Return a passage without its heading's mark, speaker and time, and without words that are repeated below."""
    words, _, below = piece[end:].lstrip(" ·").partition("\n")
    below = below.strip("\n")
    return below if below and below.startswith(words.rstrip("…")) else f"{words}\n{below}".strip("\n")


def _dated(read: Iterable[tuple[_Heading, str, str]], zone_name: str) -> Iterator[Passage]:
    """Yield passages with their times: each may have been said until the next heading, or the hour after it.

    The hour that comes twice where summer time ends is written alike both times.
    """
    zone = zone_of(zone_name)
    waiting: list[Passage] = []
    current = _Heading()
    for heading, speaker, text in read:
        time = _moment(heading, zone)
        if heading is not current:
            until = _moment(heading, zone, fold=1)
            yield from (passage._replace(until=until) for passage in waiting)
            waiting, current = [], heading
        if text:
            waiting.append(Passage(speaker, time, text))
    yield from waiting


def _moment(heading: _Heading, zone: tzinfo, fold: int = 0) -> str:
    """Return the time of a heading, of a minute that comes twice the first or the second one.

    Before the first heading, none is known.
    """
    if not heading.speaker:
        return ""
    try:
        moment = datetime.fromisoformat(f"{heading.day}T{heading.minute or '00:00'}")
    except ValueError:
        return ""
    return moment.replace(tzinfo=zone, fold=fold).isoformat()


# -- pages of HTML, and JSONL -------------------------------------------------------------------------


def page_about(text: str) -> TranscriptHead:
    """Return the head of an HTML page; pages do not name their session."""
    title, found = _PAGE_TITLE.search(text, 0, _PAGE_HEAD), _PAGE_ABOUT.search(text, 0, _PAGE_HEAD)
    if found is None:
        return TranscriptHead(title=unescape(title[1]) if title else "")
    product, project, date, zone = (unescape(part or "") for part in found.groups())
    return TranscriptHead(product, "", "", project, unescape(title[1]) if title else "", date, zone)


def page_passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a page of HTML that katod wrote, in order, without its pictures and its list of prompts."""
    head = page_about(text)
    yield from _dated(_read_page(text, _Heading(day=head.date)), head.zone)


def _read_page(text: str, heading: _Heading) -> Iterator[tuple[_Heading, str, str]]:
    folds = list[str]()  # that are open, each with who says what is in it, if it is one of katod's
    for piece in _PIECES.split(_PAGE_PROMPT_FOLD.sub(r"\1", _PAGE_SOURCE.sub(r"\1", text))):
        if piece.startswith(_PROMPTS):
            return
        if found := _PAGE_SPEAKER.match(piece):
            heading, folds = _next(heading, found), []
        elif piece.startswith(_END):
            del folds[-1:]
        elif piece.startswith("<details"):
            folds.append(_page_fold(piece, heading.speaker))
        if speaker := next(filter(None, folds), heading.speaker):
            begin = _PAGE_BETWEEN.match(piece) or found
            read = _page_pieces(piece[begin.end() if begin else 0 :], speaker)
            yield from ((heading, name, shown) for name, shown in read)


def _page_fold(piece: str, speaker: str) -> str:
    """Return who says what is in a fold of katod's that begins here, an empty string for any other one."""
    if between := _PAGE_BETWEEN.match(piece):
        return _named(between[1])
    name = _PAGE_NAMED.match(piece) if speaker else None
    return f"{speaker} {SIGN} {unescape(name[name.lastindex or 0])}" if name else ""


def _page_pieces(piece: str, speaker: str) -> Iterator[tuple[str, str]]:
    """Yield a tool line with its outcomes and what follows it, each with who says it; any other piece is one."""
    tool = _PAGE_TOOL.match(piece)
    parts = [(speaker, piece[tool.end() if tool else 0 :])]
    if tool:
        parts.insert(0, (f"{speaker.partition(f' {SIGN} ')[0]} {SIGN} {unescape(tool[1])}", tool[0]))
    for name, part in parts:
        if shown := unescape(_MARKUP.sub("", part)).strip():
            yield name, shown


def jsonl_event(line: bytes) -> Event | None:
    """Return a line of a JSONL transcript as the event that it is, None if it is none of katod's."""
    try:
        return ev.from_json(orjson.loads(line)) if is_event(line) else None
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None

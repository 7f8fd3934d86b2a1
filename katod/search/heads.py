"""The head of a Markdown transcript, as it is after any edit of a person's, and the headings of its messages. Pure.

The head is front matter, which names agent and session, a title, and the line about the transcript. An editor may
put a byte order mark or a blank line before it, change how it ends, or make it long, and a person may write above,
between and below its parts. A file whose front matter names no agent and no session is a person's own.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import orjson

from katod.agents import AGENTS
from katod.search.hits import TranscriptHead
from katod.search.markup import plain
from katod.text import slug

MOST: Final = 64 * 1024  # characters of front matter, and of what stands between it and the first message
_MOST_ABOVE: Final = 4096  # characters; as for outputs that are looked for
_STAMPED: Final = r"(?: · ((?:\d{4}-\d\d-\d\d )?\d\d:\d\d))?"
_LABELS: Final = "|".join(sorted({re.escape(spec.label) for spec in AGENTS.values()}))
PERSON: Final = re.compile(rf"## (You){_STAMPED}(?: · |$)", re.MULTILINE)
AGENT: Final = re.compile(rf"### ({_LABELS})(?: · [^·\n]+)??{_STAMPED}$", re.MULTILINE)
_SPEAKER: Final = re.compile(rf"^(?:{PERSON.pattern}|{AGENT.pattern})", re.MULTILINE)
_PRODUCTS: Final = {slug(spec.product): spec.product for spec in AGENTS.values()}
_BEFORE: Final = re.compile(r"\ufeff?(?:[ \t\r]*\n)*")
_MARK: Final = "---"
_MARK_ALONE: Final = re.compile(r"---[ \t\r]*")
_OPENING: Final = re.compile(rf"{_MARK_ALONE.pattern}\n")
_OPENING_BELOW: Final = re.compile(rf"^{_OPENING.pattern}", re.MULTILINE)
_CLOSING: Final = re.compile(r"^(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)", re.MULTILINE)
_GAP: Final = re.compile(r"^[ \t\r]*\n", re.MULTILINE)
_PROPERTY: Final = re.compile(r"""["']?([^\s"'#-][^:]*?)["']?:(?:\s|$)""")
_KATODS: Final = frozenset(
    {"title", "date", "agent", "model", "project", "branch", "session", "subagent", "parent", "tags", "starred",
     "recorder"}
)  # fmt: skip
_FIELD: Final = re.compile(r"^(title|date|agent|project|session|subagent):[ \t]+(.*)$", re.MULTILINE)
_QUOTED: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?:\s+#.*)?""")
_COMMENT: Final = re.compile(r"\s+#.*")
_TITLE: Final = re.compile(r"^# ([^\n]*)$", re.MULTILINE)
_LINE: Final = re.compile(r"^[^\n]+$", re.MULTILINE)
_WHEN: Final = re.compile(
    r" · \d{4}-\d\d-\d\d \d\d:\d\d \(([A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*)\)$", re.MULTILINE
)


class _Front(NamedTuple):
    """Front matter: where it is in a text, and what it says."""

    begin: int
    end: int
    fields: dict[str, str]

    @property
    def is_katods(self) -> bool:
        """Whether it is that of a transcript."""
        return bool(self.fields.get("agent") and self.fields.get("session"))


class SplitHead(NamedTuple):
    """The beginning of a transcript: what it says of it, and what a person wrote above it, or in it, and below.

    `above` has the properties that they added to the front matter, too. `below` goes on with the messages; the title
    and the line about the transcript are left out.
    """

    about: TranscriptHead
    above: str
    below: str


def about(text: str) -> TranscriptHead:
    """Return what the head of a Markdown file says of it: nothing without front matter."""
    front = _katods(text) or _at_top(text)
    return _read(text, front).about if front else TranscriptHead()


def head_of(text: str, *, is_recording: bool = False) -> SplitHead | None:
    """Return the head of a transcript, given its beginning; None if it is a file of a person's own.

    A recording is a transcript whatever became of its front matter; what is there instead is a person's.
    """
    front = _katods(text)
    if front is None and is_recording:
        front = _at_top(text) or _Front(0, 0, {})
    return _read(text, front) if front else None


def is_begun(text: str) -> bool:
    """Return whether a text that arrives in pieces is long enough to tell whether it is a transcript."""
    return len(text) > MOST + _MOST_ABOVE or _katods(text) is not None


def end_of_front_matter(text: str) -> int | None:
    """Return where a text goes on behind front matter at its beginning, None if more has to be seen to tell.

    Without front matter, that is 0.
    """
    begin = _end_of_blanks(text)
    front = _at_top(text)
    if front is not None and text[front.end - 1] == "\n":
        return front.end
    may_begin = _MARK.startswith(text[begin:]) or _OPENING.match(text, begin) or _MARK_ALONE.fullmatch(text, begin)
    return None if may_begin and len(text) <= MOST else 0


def is_speaker(line: str) -> bool:
    """Return whether a line is the heading of a message."""
    return PERSON.match(line) is not None or AGENT.match(line) is not None


def _end_of_blanks(text: str) -> int:
    found = _BEFORE.match(text)
    return found.end() if found else 0


def _at_top(text: str) -> _Front | None:
    """Return the front matter with which a text begins."""
    opening = _OPENING.match(text, _end_of_blanks(text))
    return _front(text, opening) if opening else None


def _katods(text: str) -> _Front | None:
    """Return the front matter of a transcript; below lines of a person's, it has no gap."""
    front = _at_top(text)
    if front is not None and front.is_katods:
        return front
    found = (_front(text, opening) for opening in _OPENING_BELOW.finditer(text, 0, _MOST_ABOVE))
    return next((one for one in found if one and one.is_katods and not _GAP.search(text, one.begin, one.end)), None)


def _front(text: str, opening: re.Match[str]) -> _Front | None:
    closing = _CLOSING.search(text, opening.end(), opening.end() + MOST)
    if closing is None:
        return None
    said = {name: _value(written.strip()) for name, written in _FIELD.findall(text, opening.end(), closing.start())}
    return _Front(opening.start(), closing.end(), said)


def _value(written: str) -> str:
    """Return a value of front matter: katod's are quoted as in JSON, and a person may quote in another way."""
    quoted = _QUOTED.fullmatch(written)
    if quoted is None:
        return _COMMENT.sub("", written)
    said = quoted[1][1:-1]
    if written.startswith("'"):
        return said.replace("''", "'")
    try:
        return str(orjson.loads(quoted[1])) if "\\" in said else said
    except orjson.JSONDecodeError:
        return said


def _read(text: str, front: _Front) -> SplitHead:
    """Return the head that has this front matter."""
    said = TranscriptHead(**front.fields)
    above = text[_end_of_blanks(text) : front.begin if front.is_katods else front.end]
    above += "".join(_own_properties(text[front.begin : front.end])) if front.is_katods else ""
    zone, below = _below(text[front.end :], said)
    return SplitHead(said._replace(zone=zone), above, below)


def _below(rest: str, said: TranscriptHead) -> tuple[str, str]:
    """Return the time zone of a transcript, and what is below its front matter without its title and the line about it.

    Both stand before the first message; of lines that read like the one about it, one with a time is.
    """
    speaker = _SPEAKER.search(rest, 0, MOST)
    until = speaker.start() if speaker else min(len(rest), MOST)
    lines = [one for one in _LINE.finditer(rest, 0, until) if _is_about(one[0], said)]
    line = next((one for one in lines if _WHEN.search(one[0])), lines[0] if lines else None)
    title = _title(rest, until, line, said.title)
    for begin, end in sorted((one.span() for one in (title, line) if one), reverse=True):
        rest = rest[:begin] + rest[end:]
    zone = _WHEN.search(line[0]) if line else None
    return zone[1] if zone else "", rest


def _own_properties(front: str) -> Iterator[str]:
    """Yield the lines of properties that katod does not write, each with what is indented below it."""
    is_own = False
    for line in front.splitlines(keepends=True)[1:-1]:
        if found := _PROPERTY.match(line):
            is_own = found[1] not in _KATODS
        if is_own:
            yield line


def _title(rest: str, until: int, line: re.Match[str] | None, title: str) -> re.Match[str] | None:
    """Return katod's title: it has the words of the front matter, or stands above the line about the transcript.

    Another heading is a person's.
    """
    found = list(_TITLE.finditer(rest, 0, until))
    above = (one for one in found if line and not rest[one.end() : line.start()].strip())
    return next((one for one in found if title in (one[1], plain(one[1]))), None) or next(above, None)


def _is_about(line: str, head: TranscriptHead) -> bool:
    """Return whether a line is the one about a transcript: product and version, project, branch, and the time.

    Without a time, the version and the project tell it from a line of a person's that begins with the product.
    """
    products = filter(None, [_PRODUCTS.get(head.agent)]) if head.agent else _PRODUCTS.values()
    product = next((one for one in products if f"{line} ".startswith(f"{one} ")), None)
    if product is None or _WHEN.search(line) is not None:
        return product is not None
    name, *others = map(plain, line.rstrip().split(" · "))
    is_version = all(re.search(r"\d", word) for word in name[len(product) :].split())
    return bool(head.agent) and is_version and (not head.project or others[:1] == [head.project])

"""Transcripts that katod wrote, taken apart again into passages: who said what, and when. Pure.

A passage is what one event left in a transcript: a message, a tool line, a block that unfolds. What a person wrote into
a transcript belongs to the passage around it.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from html import unescape
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson

from katod import events as ev
from katod.events import Event
from katod.formats.ownlines import SIGN

_FIELD: Final = re.compile(r'^(title|date|agent|project|session|subagent): "?(.*?)"?$', re.MULTILINE)
_ZONE: Final = re.compile(r"\(([A-Za-z]+(?:/[A-Za-z0-9_+-]+)*)\)$", re.MULTILINE)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_WHEN: Final = r"(?: · ((?:\d{4}-\d\d-\d\d )?\d\d:\d\d))?"
_PERSON: Final = re.compile(rf"## (You|Task){_WHEN}(?: · |$)")
_AGENT: Final = re.compile(rf"### (\w[\w ]*?)(?: · [^·]+)??{_WHEN}$")
_STAMP: Final = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d)")
_NAME: Final = re.compile(r"(?:\*\*|<b>)(.+?)(?:\*\*|</b>)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG: Final = re.compile(r"(?<!\\)</?[a-z][^<>\n]*>")
_PIECES: Final = re.compile(r'(?=<h[1-6][ >]|<details>|</details>|<div class="(?:tool|typed|question)")')
_PAGE_SPEAKER: Final = re.compile(
    r'<h[1-6] class="speaker[^>]*>(?:<a [^>]*>)?([^<]*)(?:</a>)?(?:<span[^>]*>[^<]*</span>)?(?:<time>([^<]*)</time>)?'
)
_PAGE_HEAD: Final = 256 * 1024  # characters: the styles come first
_PAGE_DATE: Final = re.compile(r'<p class="about">[^<]*?(\d{4}-\d\d-\d\d) [^<(]*\(([^)<]*)\)</p>')
_MARKUP: Final = re.compile(r"<[^>]*>")
_HEAD: Final = 4096  # characters
_FRONT: Final = "---\ntitle:"


class Passage(NamedTuple):
    """A part of a transcript; `time` is ISO 8601, an empty string where the transcript says none."""

    speaker: str
    time: str
    text: str


class About(NamedTuple):
    """What the head of a transcript says of it; `agent` is a slug of the product, or katod's name of the agent."""

    agent: str = ""
    session: str = ""
    subagent: str = ""
    project: str = ""
    title: str = ""
    date: str = ""
    zone: str = ""


def about(text: str) -> About:
    """Return what the head of a Markdown transcript says."""
    head = text[:_HEAD]
    fields = dict(_FIELD.findall(head[: head.find("\n---\n", 4)]))
    zone = _ZONE.search(head)
    return About(**fields, zone=zone[1] if zone else "")


def plain(text: str) -> str:
    """Return the text that Markdown of katod's shows: without its escapes and tags."""
    return unescape(_ESCAPE.sub(r"\1", _TAG.sub("", text)))


class _Reader:
    """Where in a Markdown transcript reading has come to."""

    def __init__(self, head: About) -> None:
        self._zone = _zone(head.zone)
        self._day, self._minute = head.date, ""
        self._speaker = self._fence = ""
        self._lines: list[str] = []
        self._is_item = False

    def passages(self, text: str) -> Iterator[Passage]:
        for line in text.split("\n"):
            if self._begins(line):
                yield from self._passage()
                self._enter(line)
            self._lines.append(line)
        yield from self._passage()

    def _begins(self, line: str) -> bool:
        """Return whether a passage begins with this line."""
        if fence := _FENCE.match(line):
            self._toggle(fence[1], line)
            return False
        if self._fence:
            return False
        ended_item = self._is_item and not line.startswith(("- ", " ")) and bool(line)
        return ended_item or line.startswith(("## ", "### ", f"- {SIGN}", "<details>", "</details>"))

    def _toggle(self, fence: str, line: str) -> None:
        if not self._fence:
            self._fence = fence
        elif fence.startswith(self._fence) and not line.strip(" `~"):
            self._fence = ""

    def _enter(self, line: str) -> None:
        self._is_item = line.startswith(f"- {SIGN}")
        if found := _heading(line):
            self._speaker = found[1]
            self._day, self._minute = _stamped(found[2], self._day, self._minute)

    def _passage(self) -> Iterator[Passage]:
        text = "\n".join(self._lines).strip("\n")
        self._lines = []
        if self._speaker and (shown := _without_heading(text.removeprefix("</details>").strip("\n"))):
            yield Passage(self._said_by(text), self._time(), shown)

    def _said_by(self, text: str) -> str:
        if SIGN in text[:64] and (name := _NAME.search(text)):
            return f"{self._speaker} {SIGN} {name[1]}".lstrip()
        return self._speaker

    def _time(self) -> str:
        return _moment(self._day, self._minute, self._zone)


def _stamped(written: str | None, day: str, minute: str) -> tuple[str, str]:
    """Return the day and the minute that a stamp says; without a stamp, and for what it leaves out, the given ones."""
    stamp = _STAMP.fullmatch(written or "")
    return (stamp[1] or day, stamp[2]) if stamp else (day, minute)


def _heading(line: str) -> re.Match[str] | None:
    """Return the match of a heading with a speaker: who it is, and when."""
    return _PERSON.match(line) or _AGENT.match(line)


def _without_heading(text: str) -> str:
    """Return a passage without the heading's mark, speaker and time; words that were cut there stand below it."""
    heading, _, below = text.partition("\n")
    found = _heading(heading)
    if not found:
        return text
    words = heading[found.end() :]
    return below.strip("\n") if below and words.endswith("…") else f"{words}\n{below}".strip("\n")


def _moment(day: str, minute: str, zone: ZoneInfo) -> str:
    try:
        return datetime.fromisoformat(f"{day}T{minute or '00:00'}").replace(tzinfo=zone).isoformat()
    except ValueError:
        return ""


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def markdown_passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a Markdown transcript, in order, without its front matter."""
    head = about(text)
    start = text.find("\n---\n", 4) + 5 if text.startswith(_FRONT) else 0
    yield from _Reader(head).passages(text[start:])


def page_passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a page of HTML that katod wrote, in order, without its pictures."""
    first = _PAGE_DATE.search(text, 0, _PAGE_HEAD)
    zone, day, minute, speaker = _zone(first[2] if first else ""), first[1] if first else "", "", ""
    for piece in _PIECES.split(text):
        heading = _PAGE_SPEAKER.match(piece)
        if heading:
            speaker = unescape(heading[1])
            day, minute = _stamped(heading[2], day, minute)
        shown = unescape(_MARKUP.sub("", piece[heading.end() if heading else 0 :])).strip()
        if speaker and shown:
            yield Passage(speaker, _moment(day, minute, zone), shown)


def jsonl_event(line: bytes) -> Event | None:
    """Return a line of a JSONL transcript as the event that it is, None if it is none of katod's."""
    try:
        return ev.from_json(orjson.loads(line))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None

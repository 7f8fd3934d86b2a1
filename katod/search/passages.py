"""Passages of transcripts, and what stands under one heading as parts of them: who said what, and when. Pure."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from typing import Final, NamedTuple

from katod.formats.text.ownlines import SIGN
from katod.formats.text.when import zone_of
from katod.formats.transcript.between import SUMMARY

NOTE: Final = "Note"  # the speaker of what a person wrote above the first heading, or in a file of their own
OWN_NOTE: Final = f"{SIGN} Note"  # of what katod notes, which nobody said
_STAMP: Final = re.compile(r"(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d)")


class Passage(NamedTuple):
    """A part of a transcript, as it is written there.

    `time` (ISO 8601) is that of its heading; it may have been said until `until`, the time of the next one. Both are
    empty where the transcript says none. `source` has the same as it was typed, where a transcript has both forms.
    """

    speaker: str
    time: str
    text: str
    until: str = ""
    source: str = ""


class Heading(NamedTuple):
    """A heading with a speaker; `day` and `minute` as it says them, or as the one before did."""

    speaker: str = ""
    day: str = ""
    minute: str = ""

    def following(self, speaker: str, stamp: str) -> "Heading":
        """Return the next heading, with the time that it says."""
        found = _STAMP.fullmatch(stamp)
        return Heading(speaker, (found and found[1]) or self.day, found[2] if found else self.minute)


class SpokenPart(NamedTuple):
    """What is printed under a heading; one that is not `alone` goes on with what the same speaker said before it.

    What a tool was given and words between agents are alone. `source` is what was typed, where it looks different.
    """

    heading: Heading
    speaker: str
    text: str
    alone: bool = False
    source: str = ""

    def goes_on(self, before: "SpokenPart") -> bool:
        """Return whether this belongs to a part before it; one that is empty does under the same heading."""
        if self.heading is not before.heading or not (self.text or self.source):
            return self.heading is before.heading
        return self.speaker == before.speaker and not (self.alone or before.alone)

    def is_aside(self, before: "SpokenPart") -> bool:
        """Return whether this is a note of katod's after words below a heading: they may go on behind it."""
        is_own = self.speaker == OWN_NOTE != before.speaker and self.heading is before.heading
        return is_own and bool(self.heading.speaker and (before.text or before.source)) and not before.alone


def named(name: str) -> str:
    """Return who says words between agents, as `spoken.speaker_of` does for their event."""
    return f"{SIGN} {name}" if name == SUMMARY else name


def passages(parts: Iterable[SpokenPart], zone_name: str) -> Iterator[Passage]:
    """Yield passages with their times: each may have been said until the next heading, or the hour after it.

    The hour that comes twice where summer time ends is written alike both times.
    """
    zone = zone_of(zone_name)
    waiting: list[Passage] = []
    current = Heading()
    for heading, speaker, text, _, source in _around_asides(_joined(parts)):
        time = _moment(heading, zone)
        if heading is not current:
            until = _moment(heading, zone, fold=1)
            yield from (passage._replace(until=until) for passage in waiting)
            waiting, current = [], heading
        if text or source:
            waiting.append(Passage(speaker, time, text, source=source))
    yield from waiting


def _joined(parts: Iterable[SpokenPart]) -> Iterator[SpokenPart]:
    """Yield parts as they were said: what follows each other under one heading is one, as nothing tells it apart."""
    waiting: list[SpokenPart] = []
    for part in parts:
        if waiting and not part.goes_on(waiting[0]):
            yield _whole(waiting)
            waiting = []
        waiting.append(part)
    if waiting:
        yield _whole(waiting)


def _around_asides(parts: Iterable[SpokenPart]) -> Iterator[SpokenPart]:
    """Yield parts, joined ones, with the words before and behind a note as one part, and the note after them.

    A message may have a paragraph that reads like a note.
    """
    waiting: list[SpokenPart] = []
    asides: list[SpokenPart] = []
    for part in parts:
        if waiting and part.is_aside(waiting[0]):
            asides.append(part)
            continue
        if waiting and not part.goes_on(waiting[0]):
            yield from (_whole(waiting), *asides)
            waiting, asides = [], []
        waiting.append(part)
    if waiting:
        yield from (_whole(waiting), *asides)


def _whole(parts: list[SpokenPart]) -> SpokenPart:
    """Return parts as one."""
    text = "\n\n".join(part.text for part in parts if part.text)
    has_source = any(part.source for part in parts)
    source = "\n\n".join(filter(None, (part.source or part.text for part in parts))) if has_source else ""
    return parts[0]._replace(text=text, source=source)


def _moment(heading: Heading, zone: tzinfo, fold: int = 0) -> str:
    """Return the time of a heading, of a minute that comes twice the first or the second one.

    Before the first heading, none is known. If a transcript says no minutes, it is the day alone, of no zone.
    """
    if not heading.speaker:
        return ""
    try:
        moment = datetime.fromisoformat(f"{heading.day}T{heading.minute}" if heading.minute else heading.day)
    except ValueError:
        return ""
    return moment.replace(tzinfo=zone, fold=fold).isoformat() if heading.minute else heading.day

"""All saved sessions: the folder `rescued/` in katod's own data folder, for its owner alone."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from katod import durable
from katod.agents import AGENTS
from katod.archive.manifest import MANIFEST
from katod.errors import KatodError, RescueError
from katod.model import SessionKey
from katod.rescue import copyfile
from katod.rescue.copyfile import About, read_about
from katod.rescue.names import ARCHIVE, PART, TRANSCRIPT, found_aside, names_aside, place_of, transcript_of

KEPT_DAYS: Final = 365
MOST_BYTES: Final = 10 * 1024**3
# Of one session, before it is compressed: it must not drive out all others, nor take the daemon's time for long.
LARGEST, MOST_FILES = MOST_BYTES // 4, 10_000
_MODE: Final = 0o700


class RescueFolder:
    """The copies on disk, read once; what is damaged is in `problems`."""

    def __init__(self, path: Path, *, owned: bool = False, was_made: bool = False) -> None:
        self.path = path
        self._owned = owned  # by the daemon, which alone changes it
        self._was_made = was_made  # by this katod or an earlier one: then it is not made again in its empty place
        self.problems: dict[Path, str] = {}
        self._known: dict[SessionKey, About] | None = None

    def make(self, agent: str, outputs: Iterable[Path]) -> None:
        """Create the folder of an agent.

        Raises OSError; RescueError if it is where outputs are, or if all is gone that was there.
        """
        self._require_apart(outputs)
        if self._was_made and not self.path.is_dir():
            hint = "if you deleted it, create it again: `mkdir -m 700` with this path"
            raise RescueError("is gone with all that was saved: is its disk mounted?", path=self.path, hint=hint)
        for one in (self.path.parent, self.path, self.path / agent):
            durable.make_folders(one, _MODE)
        os.chmod(self.path, _MODE)
        self._was_made = True

    def _require_apart(self, outputs: Iterable[Path]) -> None:
        own = Path(os.path.realpath(self.path))
        above = next((path for path in outputs if own.is_relative_to(os.path.realpath(path))), None)
        above = above or next((path for path in own.parents if (path / MANIFEST).exists()), None)
        if above is not None:
            hint = "set $KATOD_DATA_DIR, or choose another directory for transcripts: saved sessions are never shared"
            raise RescueError(f"is in or below {above}, where transcripts are", path=self.path, hint=hint)

    def all(self) -> dict[SessionKey, About]:
        """Return what is saved; damaged copies are only noted."""
        if self._known is None:
            self._clean()
            known: dict[SessionKey, About] = {}
            for place in self._places():
                try:
                    about = read_about(place)
                except (KatodError, OSError) as error:
                    self.problems[place] = _words(error)
                    continue
                if about.key.agent in AGENTS and place_of(self.path, about.key) == place:
                    known[about.key] = about
            self._known = known
        return self._known

    def look_again(self) -> None:
        """Read the copies again if there were problems: they may be over."""
        if self.problems:
            self.problems.clear()
            self._known = None

    def set_aside(self, key: SessionKey) -> None:
        """Give a damaged copy another name, as it may have files that the agent has deleted since.

        Raises OSError; RescueError if it is whole, but was not read: then what it has is not known.
        """
        place = place_of(self.path, key)
        if key in self.all() or not place.exists():
            return
        if _is_whole(place, key):
            what = "its copy could not be read at first, but can be now"
            raise RescueError(what, path=place, hint="katod tries again")
        durable.rename(place, next(name for name in names_aside(place) if not name.exists()))
        self.problems.pop(place, None)

    def keep_aside(self, key: SessionKey) -> None:
        """Give a copy that is damaged in part a second name, so that it stays when a new one takes its place.

        It gets no third one, however often a new one could not take its place then. Raises OSError.
        """
        place = place_of(self.path, key)
        if place.exists() and not any(path.samefile(place) for path in found_aside(place)):
            durable.link(place, next(name for name in names_aside(place) if not name.exists()))

    def _clean(self) -> None:
        """Delete what was not finished when katod ended; a reader of the folder leaves that to the daemon."""
        for suffix in (ARCHIVE, TRANSCRIPT) if self._owned else ():
            for path in self.path.glob(f"*/*{suffix}{PART}"):
                with suppress(OSError):
                    durable.remove(path)

    def note(self, about: About) -> None:
        """Note a copy that was made."""
        self.all()[about.key] = about
        self.problems.pop(place_of(self.path, about.key), None)

    def delete(self, key: SessionKey) -> bool:
        """Delete the copy of a session; return whether there was one. Raises OSError."""
        place = place_of(self.path, key)
        there = place.exists()
        copyfile.delete(place)
        self.problems.pop(place, None)
        self.all().pop(key, None)
        return there

    def leave_out(self, key: SessionKey) -> bool:
        """Take a sub-agent out of the copy of its session; return whether it was in it. Raises OSError.

        What is damaged may have it, and cannot be changed: it is deleted.
        """
        whole = key._replace(subagent="")
        place = place_of(self.path, whole)
        for path in found_aside(place):
            durable.remove(path, missing_ok=True)
        if not place.exists():
            return False
        try:
            about = read_about(place)
            changed = copyfile.leave_out(place, about, key)
        except RescueError:
            return self.delete(whole)
        if changed == about:
            return False
        self.note(changed)
        return True

    @property
    def last_day(self) -> tuple[int, str]:
        """The last day on which a copy was made, as katod counts days, and its date; 0 if there is none."""
        return max(((about.day, about.saved[:10]) for about in self.all().values()), default=(0, ""))

    def beyond_bounds(self, day: int, now: str) -> list[SessionKey]:
        """Return the copies that are too old on a day, and the oldest of those that are too much, oldest first.

        Days are those on which katod ran: a clock that is wrong makes nothing old. Nor does another machine, which
        counted other days for the copies that came from it: what was saved within a year is not too old.
        """
        oldest_first = sorted(self.all().values(), key=lambda about: (about.saved, about.day))
        beyond = [about.key for about in oldest_first if about.day <= day - KEPT_DAYS and not _is_young(about, now)]
        sizes = {about.key: self.size_of(about.key) for about in oldest_first if about.key not in beyond}
        total = sum(sizes.values())
        for key, size in sizes.items():
            if total <= MOST_BYTES:
                break
            beyond.append(key)
            total -= size
        return beyond

    def size_of(self, key: SessionKey) -> int:
        """Return how many bytes a copy takes with its transcript, 0 if it is gone."""
        size = 0
        for path in (place_of(self.path, key), transcript_of(self.path, key)):
            with suppress(OSError):
                size += path.stat().st_size
        return size

    def _places(self) -> Iterator[Path]:
        yield from sorted(self.path.glob(f"*/*{ARCHIVE}"))


def _is_young(about: About, now: str) -> bool:
    """Return whether a copy was saved within a year, by the clock; one that is of the future says nothing."""
    begin = datetime.fromisoformat(now).date() - timedelta(days=KEPT_DAYS)
    return begin.isoformat() < about.saved[:10] and about.saved <= now


def _is_whole(place: Path, key: SessionKey) -> bool:
    try:
        return read_about(place).key == key
    except RescueError:
        return False


def _words(error: Exception) -> str:
    """Return what is wrong with a copy, and what to do."""
    if isinstance(error, KatodError):
        return f"{error.what}; {error.hint}" if error.hint else error.what
    return str(error)

"""What `katod search` searches, and what is known of it."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.archive.parts import ArchivedSession
from katod.cli.context import Context
from katod.cli.selection import latest_transcript, outputs_of, recording_named, select_anywhere, shown_with
from katod.cli.shortids import short_ids
from katod.config import with_home
from katod.discover.found import FoundSession
from katod.errors import LedgerError
from katod.formats.redact.redactor import redact
from katod.formats.text.when import utc
from katod.model import SessionKey
from katod.record.ranges import head_metadata
from katod.record.reading import located
from katod.search.hits import TranscriptHead
from katod.search.query import Query
from katod.search.run import Match, Searched, ShownHit, Terms
from katod.search.transcriptfiles import TranscriptFile, existing, shared_file, transcripts_below
from katod.shell import pasted
from katod.store.rows import OutputRow, PersonalRow
from katod.text import slug

_PAGE: Final = ".html"
_NO_SESSION: Final = SessionKey("", "")
OWN: Final = "Title"  # the speaker of a hit in a person's own title or labels


class Described(NamedTuple):
    """What people see of a match; `path` is that of a transcript, `project` a path or the name of one.

    `machine` is another one, which shares it.
    """

    agent: str
    session: str
    title: str
    project: str
    open: str
    path: str = ""
    machine: str = ""


class SearchFilter(NamedTuple):
    """Which sessions are searched: of each kind, one of these; all if there are none."""

    agents: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()  # parts of their paths
    states: tuple[str, ...] = ()
    starred: bool = False
    labels: tuple[str, ...] = ()  # all of them

    def has(self, described: Described) -> bool:
        """Return whether a session is of an agent and a project that were chosen."""
        path = described.project.casefold()
        is_here = not self.projects or any(project.casefold() in path for project in self.projects)
        return is_here and described.agent in (self.agents or (described.agent,))


class SearchScope:
    """What is searched, and what is known of it: from the ledger, the output directory and the agents' directories."""

    def __init__(self, context: Context, chosen: SearchFilter) -> None:
        self._context = context
        self._chosen = chosen
        self._rows, self._said = _known(context)
        self._found: dict[SessionKey, FoundSession] = {}
        self._archived: dict[Path, ArchivedSession] = {}
        self._described: dict[SessionKey | Path, Described] = {}
        self._only: SessionKey | None = None  # the session that is searched alone

    def everything(self, *, sessions: bool) -> Iterator[Searched]:
        """Yield all transcripts, each once, those of other machines among them, and all sessions if they are wanted."""
        seen: set[str] = set()
        for transcript in (*existing(self._rows.values()), *transcripts_below(self._folder)):
            real = os.path.realpath(transcript.path)
            if real not in seen:
                seen.add(real)
                yield transcript
        self._found = self._context.found(with_words=True) if sessions else {}
        for found in self._found.values():
            if found.key.agent in (self._chosen.agents or (found.key.agent,)) and self._is_in_state(str(found.key)):
                yield found
        yield from self._shared(self._context.archived(self._found.keys(), others=not sessions))

    def within(self, what: str) -> Iterator[Searched]:
        """Yield the transcript of a recording, a file in the output directory, or a session with its transcripts.

        Raises SelectionError.
        """
        row = recording_named(self._context, what)
        if row is not None:
            self._only = head_metadata(row).key
            yield from existing([row])
            return
        files = transcripts_below(self._folder) if with_home(what).is_relative_to(self._folder) else ()
        if named := [one for one in files if one.path == with_home(what)]:
            self._only = _NO_SESSION
            yield from named
            return
        found = select_anywhere(self._context, what)
        self._only = found.key
        if isinstance(found, ArchivedSession):
            yield from self._shared([found])
            return
        self._found = {found.key: found}
        yield from existing(outputs_of(self._context, found.key))
        yield found

    @property
    def _folder(self) -> Path:
        return Path(self._context.settings.output.directory).expanduser()

    def _shared(self, archived: Iterable[ArchivedSession]) -> Iterator[TranscriptFile]:
        for found in archived:
            self._archived[found.path] = found
            yield shared_file(found)

    def wants(self, place: Searched, about: TranscriptHead) -> bool:
        """Return whether a place is of a session that was chosen."""
        if self._chosen == SearchFilter():
            return True
        described = self.describe(place, about)
        is_said = self._is_said(described.session)
        return is_said and self._chosen.has(described) and self._is_in_state(described.session)

    def named(self, query: Query, terms: Terms) -> list[Match]:
        """Return the sessions whose own title and labels have all words, as matches of these.

        One whose files the agent has deleted is found by its latest transcript.
        """
        said = [row for row in self._said.values() if query.matches(words_of(row)) and self._is_searched(row.session)]
        self._found = self._found or (self._context.found(with_words=True) if said else {})
        matches = [_named(row, *known) for row in said if (known := self._known(row.session)) and self.wants(*known)]
        return [match for match in matches if terms.oldest <= match.latest < terms.until]

    def _is_searched(self, key: SessionKey) -> bool:
        return self._only in (None, key)

    def _known(self, key: SessionKey) -> tuple[Searched, TranscriptHead] | None:
        """Return where a session is, and what its transcript says of itself; None if there is nothing of it."""
        if key in self._found:
            return self._found[key], TranscriptHead()
        row = latest_transcript(self._context, key)
        place = next(existing([row] if row else []), None)
        if row is None or place is None:
            return None
        return place, TranscriptHead(title=head_metadata(row).best_title).of_session(key)

    def _is_said(self, session: str) -> bool:
        row = self._said.get(session)
        if not self._chosen.starred and not self._chosen.labels:
            return True
        return row is not None and (row.starred or not self._chosen.starred) and row.has_labels(self._chosen.labels)

    def _is_in_state(self, session: str) -> bool:
        return not self._chosen.states or session in self._in_state

    @cached_property
    def _in_state(self) -> set[str]:
        """The sessions that are in one of the chosen states now."""
        from katod.cli.sessionrow import state_of  # noqa: PLC0415 - it loads the translation

        found = self._found or self._context.found()
        return {str(one.key) for one in found.values() if state_of(one).get("state") in self._chosen.states}

    def describe(self, place: Searched, about: TranscriptHead) -> Described:
        """Return the displayed form of a place: its title without secrets, as what is found there is shown."""
        name = place.key if isinstance(place, FoundSession) else place.path
        if name not in self._described:
            described = self._describe(place, about)
            self._described[name] = described._replace(title=redact(described.title))
        return self._described[name]

    def _describe(self, place: Searched, about: TranscriptHead) -> Described:
        if isinstance(place, FoundSession):
            return self._session(place)
        archived = self._archived.get(place.path)
        return self._transcript(place, about) if archived is None else _archived(archived, about)

    def _called(self, session: str, otherwise: str) -> str:
        """Return the title that the user gave a session, else another one."""
        said = self._said.get(session)
        return said.title if said and said.title else otherwise

    def _session(self, found: FoundSession) -> Described:
        short = short_ids(self._found)
        from katod.record.beginning import read_beginning  # noqa: PLC0415 - it loads the translation

        metadata, _ = read_beginning(found)
        key = found.key
        name = short[key.id] + (f"/{short[key.subagent]}" if key.subagent else "")
        title = self._called(str(key), metadata.list_title)
        return Described(key.agent, str(key), title, metadata.cwd, f"katod show {pasted(name)}")

    def _transcript(self, transcript: TranscriptFile, about: TranscriptHead) -> Described:
        path = transcript.path
        known = (spec.name for spec in AGENTS.values() if about.agent in (spec.name, spec.product, slug(spec.product)))
        agent = next(known, "")
        row = self._rows.get(path)
        number, cwd = (row.id, row.head["metadata"].get("cwd", "")) if row else (0, "")
        session = f"{agent}:{about.session}" if about.session else ""
        session += f"/{about.subagent}" if about.subagent else ""
        opens = "open" if path.suffix == _PAGE else "show"
        command = f"katod {opens} {number or pasted(str(path))}"
        title = self._called(session, about.title or path.stem)
        return Described(agent, session, title, cwd or about.project or path.parent.name, command, str(path))


def _archived(found: ArchivedSession, about: TranscriptHead) -> Described:
    """Return the displayed form of a session that another machine shares."""
    key, path, project = found.key, str(found.path), redact(found.cwd or about.project)
    title = about.title or _title_of(found) or found.path.stem
    return Described(key.agent, str(key), title, project, shown_with(found), path, found.machine)


def _title_of(found: ArchivedSession) -> str:
    """Return what a session is called by its first events, empty if it has none that can be read."""
    if not found.has_events:
        return ""
    from katod.archive.archived import title_of  # noqa: PLC0415 - it loads the formats

    return title_of(found)


def words_of(row: PersonalRow) -> str:
    """Return a person's own title of a session and its labels, as they are shown."""
    return " ".join(filter(None, (row.title, *(f"#{label}" for label in row.labels))))


def _named(row: PersonalRow, place: Searched, about: TranscriptHead) -> Match:
    """Return a match of a session's title and labels."""
    changed = place.changed_ns / 1e9
    return Match(place, about, (ShownHit(OWN, utc(changed), words_of(row)),), 1, changed, changed, 0.0)


def _known(context: Context) -> tuple[dict[Path, OutputRow], dict[str, PersonalRow]]:
    """Return the transcripts that the ledger knows, by their paths, and what people say of sessions, by these.

    Nothing if it cannot be read.
    """
    with suppress(LedgerError), context.reading() as ledger:
        if ledger is not None:
            said = {str(row.session): row for row in ledger.personal.all().values()}
            return {row.path: row for row in located(ledger.outputs()) if row.held is None}, said
    return {}, {}

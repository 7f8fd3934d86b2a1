"""What all commands share: settings, state directory, ledger, the meaning of SESSION."""

import os
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import click

from katod import config, durable
from katod.agents import AGENTS
from katod.agents.guard import failures
from katod.archive.parts import ArchivedSession, SharedFolders, shared_folders
from katod.config import Settings
from katod.discover.found import FoundSession, find_sessions, look_at_roots
from katod.discover.roots import Root, find_roots
from katod.errors import ConfigError, LedgerError
from katod.log import EventLog
from katod.model import SessionKey
from katod.record.untouched import UntouchedOutputs, untouched
from katod.store.collections import Tombstones
from katod.store.ledger import Ledger
from katod.store.rows import PersonalRow


def working_directory() -> Path | None:
    """Return the directory that one stands in, without links; None if it no longer exists, as a removed worktree."""
    try:
        return Path.cwd().resolve()
    except FileNotFoundError:
        return None


class Context:
    """What the commands need: settings, paths, the ledger, the sessions on disk."""

    def __init__(self, given: Path | None) -> None:
        self._given = given
        self.log = EventLog()
        self.problems: dict[str, str] = {}  # folders that could not be read

    @property
    def config_path(self) -> Path:
        """The path of the configuration file."""
        return config.config_path(self._given)

    @property
    def is_named(self) -> bool:
        """Whether the user named the configuration file: then it has to exist."""
        return self._given is not None or bool(os.environ.get("KATOD_CONFIG"))

    @cached_property
    def settings(self) -> Settings:
        """The settings, read once a command. Raises ConfigError, including when a named file does not exist."""
        return config.load(self.config_path, required=self.is_named)

    def forget_settings(self) -> None:
        """Read the settings again when they are needed next: a command that goes on shows those in effect."""
        self.__dict__.pop("settings", None)

    def usable_settings(self) -> Settings:
        """Return the settings; wrong ones are wrong usage, after which a service manager does not try again."""
        try:
            return self.settings
        except ConfigError as error:
            raise click.UsageError(f"{error}{f' ({error.hint})' if error.hint else ''}") from error

    @property
    def state(self) -> Path:
        """The state directory."""
        return config.state_path()

    def claim_state(self) -> None:
        """Before anything is written there, make an empty state directory private, if there is one and it is possible.

        Otherwise, whoever writes there says what is wrong with it.
        """
        with suppress(OSError):
            durable.claim_folder(self.state)

    def roots(self) -> list[Root]:
        """Return the agents' roots."""
        return find_roots(self.settings, AGENTS)

    def ledger(self) -> Ledger | None:
        """Return the ledger, opened for reading; None if katod never ran."""
        return Ledger.read(self.state)

    @contextmanager
    def reading(self) -> Iterator[Ledger | None]:
        """Open the ledger for reading within the block; None if katod never ran."""
        ledger = self.ledger()
        try:
            yield ledger
        finally:
            if ledger is not None:
                ledger.close()

    def found(
        self,
        *,
        with_words: bool = False,
        outputs: UntouchedOutputs = UntouchedOutputs(),  # noqa: B008 - never changed
    ) -> dict[SessionKey, FoundSession]:
        """Return every session on disk; `with_words`, also with what the user says of it; each with its outputs."""
        found = find_sessions(self._roots_to_read(), self.problems, self.said() if with_words else {})
        unread = {output.id for _, output in outputs.unknown}
        for key, output in outputs.all:
            if key in found:
                found[key].note(output, is_unread=output.id in unread)
        return found

    def outputs(self) -> UntouchedOutputs:
        """Return the recordings and copies that nobody has changed. Raises LedgerError.

        What a person took out of a transcript, or deleted as a whole, is for nobody else.
        """
        with self.reading() as ledger:
            return untouched(ledger) if ledger else UntouchedOutputs()

    def said(self) -> dict[SessionKey, PersonalRow]:
        """Return what people say of sessions, nothing if the ledger cannot be read."""
        with suppress(LedgerError), self.reading() as ledger:
            return ledger.personal.all() if ledger else {}
        return {}

    @cached_property
    def shared(self) -> SharedFolders:
        """The parts of shared folders, read once a command."""
        return shared_folders(self.settings.archive.folders, self.state)

    def archived(self, without: Container[SessionKey] = (), *, others: bool = False) -> list[ArchivedSession]:
        """Return the sessions of shared folders, or of `others` alone, `without` some and those that were forgotten."""
        if not self.shared.parts:
            return []
        try:
            with self.reading() as ledger:
                forgotten = ledger.tombstones if ledger and ledger.has_tombstones() else Tombstones(())
                return self.shared.sessions(without, others=others, is_forgotten=forgotten.covers)
        except LedgerError as error:
            what = f"{error.what}: what was forgotten is not known, so no session of another machine is shown"
            self.shared.problems[str(error.path)] = what
            return []

    def look(self) -> None:
        """Note the folders that cannot be read and those that are not understood; cheaper than `found`."""
        look_at_roots(self._roots_to_read(), self.problems)

    def _roots_to_read(self) -> list[Root]:
        """Return the roots; the problems are those of agents whose roots are not known, and of no folder yet."""
        roots = self.roots()
        self.problems = {name: what for name in AGENTS for what in failures(name).values()}
        return roots

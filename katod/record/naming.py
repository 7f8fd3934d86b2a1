"""Which output a command means: the session's own, a named one, a generated one; and how a new one is created."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.spec import SPAWNED
from katod.command.target import TargetScope, generated, numbered, resolve
from katod.errors import TargetRefused
from katod.events import Event
from katod.formats.redact.redactor import redact
from katod.formats.text.when import When
from katod.formatspec import FORMATS, split_name
from katod.metadata import LONGEST_TITLE, SessionMetadata, first_words, title_of
from katod.model import Options, SessionKey, Target, Word
from katod.paths import name_of
from katod.record.policy import Policy, refused_directory
from katod.store.ledger import Ledger
from katod.store.rows import UNMARKED, OutputRow, SessionRow
from katod.text import clean, slug
from katod.write.moved import find_moved
from katod.write.output import FileFingerprint, OutputPath
from katod.write.safe import examine

Switches = tuple[tuple[str, bool], ...]
_MOST_NUMBERS: Final = 1000
_AGENT: Final = "agent-"  # before the name of a sub-agent in the name of its file, once
_IN_HEAD: Final = frozenset(
    {"title", "cwd", "branch", "version", "model", "parent", "session", "draft", "time", "labels", "starred"}
)


class OutputNaming:
    """Finds and creates outputs in the ledger; writes no file."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        self._ledger = ledger
        self.policy = policy
        self._refused = policy.project.refused  # why the directory that the project chose is not used

    def in_project(self, cwd: str) -> "OutputNaming":
        """Return this as the allowed files of a project say, which are read now. Raises OSError as a policy does."""
        self._remember_worktree(cwd)
        policy = self.policy.in_project(cwd)
        return self if policy is self.policy else OutputNaming(self._ledger, policy)

    def scope(self, metadata: SessionMetadata) -> TargetScope:
        """Return where outputs of a session may be created."""
        output = self.policy.settings.output
        return TargetScope(
            output=self.policy.output_directory,
            project=Path(metadata.cwd) if metadata.cwd else None,
            project_folder=self._folder(metadata.cwd),
            allowed=tuple(Path(root).expanduser() for root in output.allowed_roots),
            protected=self.policy.protected,
            home=self.policy.home,
            format=output.format,
            chosen=self.policy.project.directory,
        )

    def named(self, name: str, metadata: SessionMetadata, word: Word = "start") -> Target:
        """Return the target of a name that was typed after a command. Raises TargetRefused."""
        target = resolve(name, self.scope(metadata))
        spec = FORMATS[target.format]
        if spec.has_end and word not in ("export", "keep"):
            raise TargetRefused(
                f"nothing can be appended to a `{spec.suffix}` file", path=target.path, hint="use it with ::export"
            )
        return target

    def generated(self, metadata: SessionMetadata, form: str = "", own: int = 0) -> Target:
        """Return the first free target of the template, for a format other than the configured one if it is given.

        That of the output with the id `own` is free for it.
        """
        template, scope = self.policy.settings.output.filename, self.scope(metadata)
        fields, scope = name_fields(metadata, self.policy.zone), replace(scope, format=form or scope.format)
        try:
            return self._free(generated(template, fields, scope), own)
        except TargetRefused as refusal:
            if scope.chosen is None:
                raise
            self._refused = refused_directory(refusal)
            return self._free(generated(template, fields, replace(scope, chosen=None)), own)

    def refused_for(self, target: Target) -> str:
        """Return why a target is in the output directory although the project chose another, empty if it did not."""
        return self._refused if target.root == self.policy.output_directory else ""

    def of_subagent(self, parent: OutputRow, subagent: str) -> Target:
        """Return where a sub-agent of a recorded session is recorded: beside its parent's output."""
        at = Target(parent.root, parent.parts, parent.format)
        return self._free(target_of_subagent(at, parent.options.subagents_folder, subagent))

    def titled_as(self, metadata: SessionMetadata, name: str) -> SessionMetadata:
        """Return the metadata of a new output whose title is its name as it was typed."""
        return _with_title(metadata, clean(redact(first_words(name, LONGEST_TITLE))))

    def titled(self, metadata: SessionMetadata, words: str) -> SessionMetadata | None:
        """Return the metadata with the title of a new output, which these words give it; None if they say nothing.

        They are typed inside of what is recorded: words from before a recording never name it.
        """
        title = clean(redact(title_of(words)))
        return _with_title(metadata, title) if title else None

    def titled_by_person(self, metadata: SessionMetadata) -> SessionMetadata | None:
        """Return the metadata with the title that the user gave the session, None if there is none."""
        title = self._ledger.personal.of(metadata.key).title
        return _with_title(metadata, title) if title else None

    def untitled(self, metadata: SessionMetadata, time: str) -> SessionMetadata:
        """Return the metadata of a new output that has no words: its title is the project and the time."""
        when = When(self.policy.zone).stamp(time or metadata.time, "")
        return _with_title(metadata, f"{name_of(metadata.cwd)} {when}".strip())

    def _free(self, first: Target, own: int = 0) -> Target:
        for number in range(1, _MOST_NUMBERS):
            target = first if number == 1 else numbered(first, number)
            there = self._ledger.output_at(target.path)
            if (there is None or there.id == own) and examine(target.root, target.parts) != "taken":
                return target
        raise TargetRefused("no unused file name found")

    def recorded(self, key: SessionKey) -> OutputRow | None:
        """Return the output that a session is being recorded to, None if it is not recorded."""
        session = self._ledger.find_session(key)
        rows = self._ledger.outputs(session.id) if session else []
        return next((row for row in rows if row.open), None)

    def claim(self, session: SessionRow, target: Target, *, fresh: bool) -> OutputRow | None:
        """Return the session's own output at a target, None if a new one may be created. Raises TargetRefused.

        `fresh` requires a new or empty file, even if the output is the session's own.
        """
        row = self._ledger.output_at(target.path)
        if row is not None and row.session != session.id:
            raise TargetRefused("the file belongs to another session", path=target.path)
        if row is not None and not fresh:
            return row
        if row is not None or examine(target.root, target.parts) == "taken":
            raise TargetRefused("the file already exists", path=target.path, hint="choose another name")
        return None

    def is_abandoned(self, row: OutputRow) -> bool:
        """Return whether an output is in a directory that no longer exists, and that the settings no longer name."""
        directory = self.policy.output_directory
        if not row.ino or row.root == directory or row.root.is_dir():
            return False  # one that was not created yet is only waiting
        place, known = OutputPath(row.root, row.parts), FileFingerprint(row.dev, row.ino, row.committed, row.tail)
        return find_moved(place, known, row.intent or b"", [OutputPath(directory, ())]) is None

    def make(
        self, session: SessionRow, target: Target, metadata: SessionMetadata, switches: Switches = ()
    ) -> OutputRow:
        """Store a new output with its options fixed, and the folder of its project permanently.

        The switches apply to all of it.
        """
        if metadata.cwd:
            self._remember(metadata.cwd)
        options = beside(target, self.policy.options(target.format).with_switches(dict(switches)))
        said = self._ledger.personal.of(metadata.key).metadata
        shown = {name: value for name, value in (said | metadata.state()).items() if name in _IN_HEAD}
        head = {"key": list(metadata.key), "metadata": shown}
        version = FORMATS[target.format].version
        return self._ledger.add_output(
            OutputRow(
                0, session.id, target.root, target.path, target.format, version, options, head,
                marker=self._marker(target.root),
            )
        )  # fmt: skip

    def rename(self, row: OutputRow, metadata: SessionMetadata) -> OutputRow:
        """Store an output of which nothing was written with a path and a title of its own. Raises TargetRefused."""
        target = self.generated(metadata, row.format, row.id)
        renamed = row._replace(
            root=target.root, path=target.path, marker=self._marker(target.root), options=beside(target, row.options),
            head=row.head | {"metadata": row.head["metadata"] | {"title": metadata.title}},
        )  # fmt: skip
        self._ledger.rename_output(renamed)
        return renamed

    def _marker(self, root: Path) -> str:
        """Return whether the root of a new output is to be marked, as its row says it."""
        return UNMARKED if root == self.policy.output_directory else ""

    def _folder(self, cwd: str) -> str:
        if not cwd:
            return "no-project"
        path = self.policy.repository(cwd) or cwd
        return self._ledger.projects.folder(slug(name_of(path)) or "project", path)

    def _remember(self, cwd: str) -> None:
        """Store the folder of a project permanently."""
        self._ledger.projects.add(self._folder(cwd), self.policy.repository(cwd) or cwd)

    def _remember_worktree(self, cwd: str) -> None:
        """Store to which repository a worktree belongs, also if it is excluded: it may be gone the next time."""
        repository = self.policy.repository(cwd)
        if repository and self._ledger.projects.worktrees.get(cwd) != repository:
            self._ledger.projects.add_worktree(cwd, repository)


def name_fields(metadata: SessionMetadata, zone: str) -> dict[str, str]:
    """Return what the template of file names may contain, except for the project."""
    day = When(zone).day(metadata.started) or "undated"
    key = metadata.key
    short = key.subagent or key.id
    return {
        "date": day, "title": slug(metadata.best_title.replace(day, "")) or "untitled", "session": slug(short, 200),
        "session8": slug(AGENTS[key.agent].short_id(short))[:8], "agent": key.agent,
    }  # fmt: skip


def words_that_name(event: Event, *, is_asked: bool) -> str:
    """Return the words of a typed message or a plan, empty for any other event; a question of any origin `is_asked`."""
    is_typed = event.kind == ev.USER_MESSAGE and (event.typed or is_asked)
    return event.payload["text"] if is_typed or ev.is_plan(event) else ""


def auto_target(key: SessionKey, metadata: SessionMetadata, naming: OutputNaming) -> Target | None:
    """Return where to auto-record a session, None if it is not to be. Raises TargetRefused.

    What an agent started follows its parent, as far as it names one.
    """
    policy, start = naming.policy, metadata.start
    spawned = key.subagent or (key.id if start.origin == SPAWNED else "")
    if policy.excludes(metadata.cwd) or (spawned and not policy.settings.recording.subagents):
        return None
    parent = key.id if key.subagent else start.parent
    if spawned and parent:
        output = naming.recorded(SessionKey(key.agent, parent))
        return None if output is None else naming.of_subagent(output, spawned)
    return _project_target(metadata, naming)


def _project_target(metadata: SessionMetadata, naming: OutputNaming) -> Target | None:
    if not metadata.cwd and (doubt := naming.policy.doubt_without_project()):
        raise TargetRefused(doubt)
    return naming.generated(metadata) if naming.policy.auto_records(metadata.cwd) else None


def target_of_subagent(parent: Target, folder: str, subagent: str) -> Target:
    """Return the target for a sub-agent, in a folder beside that of its parent."""
    name = f"{_AGENT}{slug(subagent.removeprefix(_AGENT), 100)}{FORMATS[parent.format].suffix}"
    return Target(parent.root, (*parent.parts[:-1], folder, name), parent.format)


def _with_title(metadata: SessionMetadata, title: str) -> SessionMetadata:
    return SessionMetadata(metadata.key, metadata.state() | {"title": title})


def beside(target: Target, options: Options) -> Options:
    """Return the options with the folders of an output, which are called like it."""
    stem, _ = split_name(target.parts[-1])
    return replace(options, assets=f"{stem}.assets", subagents_folder=f"{stem}.agents")

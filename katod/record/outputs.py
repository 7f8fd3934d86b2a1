"""Which output a command means: the session's own, a named one, a generated one; and how it is made."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from katod import __version__
from katod.agents import AGENTS
from katod.command.target import Places, generated, numbered, resolve
from katod.config import Settings, local_zone
from katod.errors import TargetRefused
from katod.formats import FORMATS
from katod.formats.redact import VERSION
from katod.formats.when import When
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey, Target
from katod.record.ledger import Ledger
from katod.record.rows import OutputRow, SessionRow
from katod.slug import slug
from katod.write.safe import examine

_MOST_NUMBERS: Final = 1000


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that decide where outputs go, made ready once."""

    settings: Settings
    agents: tuple[Path, ...]
    zone: str
    home: Path

    @classmethod
    def of(cls, settings: Settings, agents: tuple[Path, ...]) -> "Rules":
        """Make the rules of some settings; `agents` are the agents' own roots."""
        zone = settings.output.time_zone
        return cls(settings, agents, local_zone() if zone == "local" else zone, Path.home())

    def excludes(self, cwd: str) -> bool:
        """Say whether a project is never recorded."""
        return self._matches(self.settings.recording.exclude, cwd)

    def automatic(self, cwd: str) -> bool:
        """Say whether a project is recorded unasked."""
        auto = self.settings.recording.auto
        return auto if isinstance(auto, bool) else self._matches(auto, cwd)

    def _matches(self, globs: tuple[str, ...], cwd: str) -> bool:
        if not cwd:
            return False
        patterns = [str(Path(pattern).expanduser()).rstrip("/") for pattern in globs]
        return any(fnmatchcase(cwd, p) or fnmatchcase(cwd, f"{p}/*") for p in patterns)

    def options(self) -> Options:
        """Return the options that a new recording freezes."""
        content, recording = self.settings.content, self.settings.recording
        return Options(
            content.thinking, content.tools, content.attachments, content.redact, self.zone,
            recording.subagents, recorder=f"katod {__version__}", rules=VERSION,
        )  # fmt: skip


class Outputs:
    """Finds and makes outputs in the ledger; writes no file."""

    def __init__(self, ledger: Ledger, rules: Rules) -> None:
        self._ledger = ledger
        self.rules = rules

    def places(self, metadata: SessionMetadata) -> Places:
        """Return where outputs of a session may lie."""
        output = self.rules.settings.output
        return Places(
            output=Path(output.directory).expanduser(),
            project=Path(metadata.cwd) if metadata.cwd else None,
            project_folder=self._folder(metadata.cwd),
            allowed=tuple(Path(root).expanduser() for root in output.allowed_roots),
            agents=self.rules.agents,
            home=self.rules.home,
            format=output.format,
        )

    def named(self, name: str, metadata: SessionMetadata) -> Target:
        """Return the target of a typed name; raises TargetRefused."""
        return resolve(name, self.places(metadata))

    def generated(self, metadata: SessionMetadata) -> Target:
        """Return the first free target of the template."""
        fields = self._fields(metadata)
        return self._free(generated(self.rules.settings.output.filename, fields, self.places(metadata)))

    def _free(self, first: Target) -> Target:
        for number in range(1, _MOST_NUMBERS):
            target = first if number == 1 else numbered(first, number)
            if self._ledger.output_at(target.path) is None and examine(target.root, target.parts) != "taken":
                return target
        raise TargetRefused("all generated names are taken")

    def recorded(self, key: SessionKey) -> OutputRow | None:
        """Return the output that a session is recorded to now, None if it is not."""
        rows = self._ledger.outputs(self._ledger.session_of(key).id)
        return next((row for row in rows if row.open), None)

    def of_subagent(self, parent: OutputRow, subagent: str) -> Target:
        """Return where a sub-agent of a recorded session is recorded: beside its parent's output."""
        name = f"agent-{slug(subagent, 100)}{parent.path.suffix}"
        return self._free(Target(parent.root, (*parent.parts[:-1], parent.options.agents, name), parent.format))

    def claim(self, session: SessionRow, target: Target, *, fresh: bool) -> OutputRow | None:
        """Return the session's own output at a target, None where a new one may be made; raises TargetRefused.

        `fresh` asks for a new or empty file even where the output is the session's own.
        """
        row = self._ledger.output_at(target.path)
        if row is not None and row.session != session.id:
            raise TargetRefused("the file belongs to another session", path=target.path)
        if row is not None and not fresh:
            return row
        if row is not None or examine(target.root, target.parts) == "taken":
            raise TargetRefused("the file exists already", path=target.path, hint="name a new one")
        return None

    def make(self, session: SessionRow, target: Target, metadata: SessionMetadata) -> OutputRow:
        """Remember a new output with its options and its head frozen."""
        stem = target.parts[-1].rpartition(".")[0]
        options = replace(self.rules.options(), assets=f"{stem}.assets", agents=f"{stem}.agents")
        shown = ("title", "cwd", "branch", "version", "model", "parent")
        head = {"key": list(metadata.key), "metadata": {k: v for k, v in metadata.state().items() if k in shown}}
        version = FORMATS[target.format].version
        return self._ledger.add_output(
            OutputRow(0, session.id, target.root, target.parts, target.format, version, options, head)
        )

    def _folder(self, cwd: str) -> str:
        if not cwd:
            return "no-project"
        return self._ledger.project_name(slug(Path(cwd).name) or "project", cwd)

    def _fields(self, metadata: SessionMetadata) -> dict[str, str]:
        zone = When(self.rules.zone)
        day = zone.day(metadata.started) or "undated"
        key = metadata.key
        short = key.subagent or key.id
        return {
            "date": day, "title": slug(metadata.title) or "untitled", "session": slug(short, 200),
            "session8": slug(AGENTS[key.agent].short_id(short))[:8], "agent": key.agent,
        }  # fmt: skip

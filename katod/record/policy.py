"""What the settings decide about recordings: which sessions, with which options, in which time zone."""

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from katod import __version__
from katod.config import Settings, local_zone
from katod.formats.versions import RULES_VERSION
from katod.model import Options, Tools


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that decide what is recorded and where, resolved once."""

    settings: Settings
    protected: tuple[Path, ...]  # the agents' roots and katod's state directory: never written to
    zone: str
    home: Path
    paused: str = ""  # since when nothing is recorded at all

    @classmethod
    def of(cls, settings: Settings, protected: tuple[Path, ...], paused: str = "") -> "Policy":
        """Return the policy of these settings."""
        zone = settings.output.time_zone
        return cls(settings, protected, local_zone() if zone == "local" else zone, Path.home(), paused)

    @property
    def output_directory(self) -> Path:
        """The output directory."""
        return Path(self.settings.output.directory).expanduser()

    def ends(self, cwd: str) -> bool:
        """Return whether a recording of a project has to end."""
        return bool(self.paused) or self.excludes(cwd)

    def excludes(self, cwd: str) -> bool:
        """Return whether a project is never recorded."""
        return self._matches(self.settings.recording.exclude, cwd)

    def auto_records(self, cwd: str) -> bool:
        """Return whether the sessions of a project are auto-recorded."""
        auto = self.settings.recording.auto
        return auto if isinstance(auto, bool) else self._matches(auto, cwd)

    def may_auto_record(self) -> bool:
        """Return whether any session may be auto-recorded."""
        recording = self.settings.recording
        return not self.paused and bool(recording.auto or recording.subagents)

    def _matches(self, globs: tuple[str, ...], cwd: str) -> bool:
        if not cwd:
            return False
        patterns = [str(Path(pattern).expanduser()).rstrip("/") for pattern in globs]
        return any(fnmatchcase(cwd, p) or fnmatchcase(cwd, f"{p}/*") for p in patterns)

    def options(self) -> Options:
        """Return the options for a new recording, which keeps them."""
        content, recording = self.settings.content, self.settings.recording
        return Options(
            content.thinking, content.tools, content.attachments, content.redact, self.zone,
            recording.subagents, recorder=f"katod {__version__}", max_result=content.max_result,
            usage=content.usage, subagent_reports=content.subagent_reports, rules=RULES_VERSION,
        )  # fmt: skip

    def export_options(self, *, thinking: bool, tools: Tools | None, redact: bool) -> Options:
        """Return the options of an export: the configured ones, unless others are given."""
        base = self.options()
        return replace(
            base,
            thinking=thinking or base.thinking,
            tools=tools or base.tools,
            redact=redact and base.redact,
        )

"""The configuration: reads TOML into frozen, typed settings. An unknown key is an error with a suggestion."""

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from types import MappingProxyType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import platformdirs

from katod.agents import AGENTS
from katod.destinations import DeliverySettings, MatrixSettings, OtlpSettings, is_absolute
from katod.errors import ConfigError, KatodError
from katod.formatspec import MARKDOWN, FormatName, format_of, recorded_formats
from katod.localzone import is_zone, machine_zone
from katod.log import LEVELS
from katod.model import Attachments, ToolsSetting
from katod.smallfile import read_small
from katod.text import is_plain_name

CONFIG_NAME: Final = "katod.toml"
SEAL_KEY_NAME: Final = "seal-key.pem"
LARGEST: Final = 1024 * 1024  # bytes of a configuration file
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_ORIGIN: Final = re.compile(  # as browsers write it; without TLS only from this machine, for a port that is forwarded
    r"https://[a-z0-9.-]+(?::(?!443$)[0-9]{1,5})?|http://(?:localhost|127\.0\.0\.1|\[::1\]):[0-9]{1,5}"
)
_LAST_PORT: Final = 65535
_LARGEST_NUMBER: Final = 1_000_000_000
TEMPLATE_FIELDS: Final = ("project", "date", "title", "session8", "session", "agent")


class OutputSettings(NamedTuple):
    """`[output]`: where transcripts are written."""

    directory: str = "~/katod"
    filename: str = "{project}/{date}-{title}-{session8}"
    format: FormatName = MARKDOWN
    allowed_roots: tuple[str, ...] = ()
    time_zone: str = "local"


class RecordingSettings(NamedTuple):
    """`[recording]`: what is recorded automatically, and what never is."""

    auto: bool | tuple[str, ...] = False
    exclude: tuple[str, ...] = ()
    subagents: bool = False
    notify: Literal["auto"] | bool = "auto"
    rescue: bool = False
    rescue_redact: bool = True


class ContentSettings(NamedTuple):
    """`[content]`: what a transcript shows."""

    thinking: bool = False
    tools: ToolsSetting = "auto"
    attachments: Attachments = "save"
    max_result: int = 200
    usage: bool = False
    subagent_reports: bool = False
    redact: bool = True


class WatchSettings(NamedTuple):
    """`[watch]`: how changes are detected."""

    use_events: bool = True


class AgentSettings(NamedTuple):
    """`[agents.<name>]`: one agent; empty `roots` mean its environment variable or its default."""

    enabled: bool = True
    roots: tuple[str, ...] = ()


class LogSettings(NamedTuple):
    """`[log]`: how much is logged."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class ServeSettings(NamedTuple):
    """`[serve]`: what `katod serve` serves, and where."""

    host: str = "127.0.0.1"
    port: int = 3100
    token_file: str = ""
    origins: tuple[str, ...] = ()
    sessions: Literal["auto", "recorded", "all"] = "auto"
    bridge_open: bool = False


class ArchiveSettings(NamedTuple):
    """`[archive]`: folders that several machines share."""

    machine: str = ""
    folders: tuple[str, ...] = ()


class PricesSettings(NamedTuple):
    """`[prices]`: where prices come from, for costs that no agent recorded."""

    source: str = "auto"  # or "none", or a file


_ALL_AGENTS: Final = MappingProxyType({name: AgentSettings() for name in AGENTS})


class Settings(NamedTuple):
    """All settings; every key is optional."""

    output: OutputSettings = OutputSettings()
    recording: RecordingSettings = RecordingSettings()
    content: ContentSettings = ContentSettings()
    watch: WatchSettings = WatchSettings()
    agents: Mapping[str, AgentSettings] = _ALL_AGENTS
    matrix: MatrixSettings = MatrixSettings()
    otlp: OtlpSettings = OtlpSettings()
    serve: ServeSettings = ServeSettings()
    archive: ArchiveSettings = ArchiveSettings()
    prices: PricesSettings = PricesSettings()
    log: LogSettings = LogSettings()

    @property
    def deliveries(self) -> dict[str, DeliverySettings]:
        """Where recordings are delivered to, if they are, by the name of the section."""
        return {"matrix": self.matrix, "otlp": self.otlp}

    @property
    def delivers(self) -> bool:
        """Whether recordings are delivered anywhere: this takes connections."""
        return any(found.is_on for found in self.deliveries.values())


def config_path(given: Path | None = None) -> Path:
    """Return the path of the configuration: `--config`, `$KATOD_CONFIG`, or in the user's configuration directory."""
    if given is not None:
        return with_home(given)
    if named := os.environ.get("KATOD_CONFIG"):
        return with_home(named)
    return platformdirs.user_config_path("katod") / CONFIG_NAME


def with_home(path: str | Path) -> Path:
    """Return a path with the home directory that it begins with, `~` or `~name`. Raises KatodError if there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise KatodError("begins with a home directory that cannot be found", path=path) from None


def seal_key_path() -> Path:
    """Return the path of the key that signs: in the user's configuration directory, whichever configuration is used."""
    return platformdirs.user_config_path("katod") / SEAL_KEY_NAME


def state_path() -> Path:
    """Return the state directory: `$KATOD_STATE_DIR`, or the platform's default."""
    return _named_directory("KATOD_STATE_DIR") or platformdirs.user_state_path("katod")


def data_path() -> Path:
    """Return the directory of what katod keeps for the user: `$KATOD_DATA_DIR`, or the platform's default."""
    return _named_directory("KATOD_DATA_DIR") or platformdirs.user_data_path("katod")


def _named_directory(variable: str) -> Path | None:
    """Return the directory that a variable names, None if it names none. Raises KatodError.

    A relative path would be another directory for the service, and for each command elsewhere.
    """
    named = os.environ.get(variable)
    if not named:
        return None
    path = with_home(named)
    if not path.is_absolute():
        raise ConfigError(f"`{variable}` must be an absolute path, or start with ~/", path=named)
    return path


def rescue_path() -> Path:
    """Return the directory of sessions that were saved from deletion."""
    return data_path() / "rescued"


def load(path: Path, *, required: bool = False) -> Settings:
    """Read the settings; without a file, return the defaults. Raises ConfigError."""
    try:
        data = read_small(path, LARGEST)
    except FileNotFoundError:
        if required:
            raise ConfigError("no such file", path=path, hint="run `katod config init` to write one") from None
        return Settings()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", path=path) from error
    return parse_settings(data, path)


def parse_settings(data: bytes, path: Path) -> Settings:
    """Parse TOML into settings. Raises ConfigError, naming file, line, key and the nearest valid name."""
    reader, tree = open_toml(data, path)
    settings = cast("Settings", reader.table(Settings, tree, ()))
    reader.check(settings)
    return settings


def open_toml(data: bytes, path: Path) -> tuple["SettingsReader", dict[str, Any]]:
    """Parse TOML; return it with the reader that checks it. Raises ConfigError."""
    import tomllib  # noqa: PLC0415 - most have no configuration

    try:
        text = data.decode("utf-8-sig")  # some editors begin a file with a byte order mark
        return SettingsReader(path, text), tomllib.loads(text)
    except ValueError as error:  # not UTF-8, not TOML, or a number with thousands of digits
        raise ConfigError(f"not valid TOML: {error}", path=path) from error
    except RecursionError:
        raise ConfigError("nested too deeply", path=path) from None


def is_key(where: tuple[str, ...]) -> bool:
    """Return whether this is a key or a table of the configuration."""
    table: Any = Settings
    for name in where:
        if not _is_table(table) or name not in _hints(table):
            return False
        table = _hints(table)[name]
    return True


def local_zone() -> str:
    """Return the IANA name of the machine's time zone, `UTC` if it has none, or one that is not known."""
    return machine_zone() or "UTC"


def shown_zone(output: OutputSettings) -> str:
    """Return the IANA name of the time zone of transcripts, and of searches in them."""
    return local_zone() if output.time_zone == "local" else output.time_zone


def written_directories(settings: Settings, state: Path) -> list[str]:
    """Return the directories that katod writes to whatever is recorded; a session's project may be another."""
    saved = [str(rescue_path())] if settings.recording.rescue else []
    directories = [settings.output.directory, *settings.output.allowed_roots, str(state), *saved]
    return [os.path.abspath(os.path.expanduser(path)) for path in directories]


def _is_table(hint: Any) -> bool:
    """Return whether a type is that of a table of the configuration: a named tuple, which Python makes the fastest."""
    return isinstance(hint, type) and hasattr(hint, "_fields")


@cache
def _hints(table: type) -> dict[str, Any]:
    """Return the keys of a table and the type of each, in their order."""
    return get_type_hints(table)


class SettingsReader:
    """Checks a TOML tree against the types of the settings and reports where it is wrong."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def table(self, cls: type, tree: dict[str, Any], where: tuple[str, ...]) -> Any:
        """Return a table as an instance of its class. Raises ConfigError."""
        hints = _hints(cls)
        values: dict[str, Any] = {}
        for key, value in tree.items():
            if key not in hints:
                raise self.unknown((*where, key), list(hints))
            values[key] = self.value(hints[key], value, (*where, key))
        return cls(**values)

    def value(self, hint: Any, value: Any, where: tuple[str, ...]) -> Any:
        """Return the value of a key as its type. Raises ConfigError."""
        if _is_table(hint):
            return self.table(hint, self._dict(value, where), where)
        if where == ("agents",):
            return self._agents(self._dict(value, where))
        if hint is FormatName:
            return self._choice(recorded_formats(), value, where)
        if get_origin(hint) is Literal:
            return self._choice(get_args(hint), value, where)
        return self._typed(get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,), value, where)

    def _choice(self, choices: Sequence[str], value: Any, where: tuple[str, ...]) -> str:
        if value not in choices:
            raise self.wrong(where, f"must be one of {', '.join(choices)}")
        return str(value)

    def _typed(self, kinds: tuple[Any, ...], value: Any, where: tuple[str, ...]) -> Any:
        self._check_bounds(value, where)
        if tuple[str, ...] in kinds and isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        if any(value in get_args(kind) for kind in kinds if get_origin(kind) is Literal):
            return value
        if type(value) not in kinds or (isinstance(value, int) and value < 0):
            raise self.wrong(where, f"must be {' or '.join(map(_name_of, kinds))}")
        return value

    def _check_bounds(self, value: Any, where: tuple[str, ...]) -> None:
        """Check that the system can do anything with a value at all."""
        texts = [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
        if any("\0" in text for text in texts):
            raise self.wrong(where, "must not contain the control character NUL")
        if isinstance(value, int) and value > _LARGEST_NUMBER:
            raise self.wrong(where, f"must be at most {_LARGEST_NUMBER}")

    def _agents(self, tree: dict[str, Any]) -> dict[str, AgentSettings]:
        agents = {name: AgentSettings() for name in AGENTS}
        for name, value in tree.items():
            if name not in AGENTS:
                raise self.unknown(("agents", name), sorted(AGENTS))
            agents[name] = self.table(AgentSettings, self._dict(value, ("agents", name)), ("agents", name))
        return agents

    def _dict(self, value: Any, where: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(where, "must be a table")
        return value

    def check(self, settings: Settings) -> None:
        """Check what types cannot express."""
        zone = settings.output.time_zone
        if zone != "local" and not is_zone(zone):
            raise self.wrong(("output", "time_zone"), "must be `local` or an IANA name like Europe/Berlin")
        if not is_absolute(settings.output.directory):
            raise self.wrong(("output", "directory"), "must be an absolute path, or start with ~/")
        self._check_paths(("output", "allowed_roots"), settings.output.allowed_roots)
        self._check_globs(("recording", "exclude"), settings.recording.exclude)
        self._check_globs(("recording", "auto"), settings.recording.auto)
        for name, agent in settings.agents.items():
            self._check_paths(("agents", name, "roots"), agent.roots)
        self._check_filename(settings)
        self._check_deliveries(settings)
        self._check_serve(settings.serve)
        self._check_archive(settings.archive)
        self._check_prices(settings.prices.source)

    def _check_archive(self, archive: ArchiveSettings) -> None:
        if archive.machine and not is_plain_name(archive.machine):
            raise self.wrong(("archive", "machine"), "must be a short name in lower case, without spaces: laptop")
        self._check_paths(("archive", "folders"), archive.folders)

    def _check_prices(self, source: str) -> None:
        if source not in ("auto", "none") and not is_absolute(source):
            raise self.wrong(("prices", "source"), "must be auto, none, or a file: an absolute path, or one with ~/")

    def _check_paths(self, where: tuple[str, ...], paths: tuple[str, ...]) -> None:
        if not all(map(is_absolute, paths)):
            raise self.wrong(where, "must contain absolute paths, or paths that start with ~/")

    def _check_globs(self, where: tuple[str, ...], globs: bool | tuple[str, ...]) -> None:
        """Check that each glob can match a path: a bare name would protect nothing."""
        if not isinstance(globs, bool) and not all(is_absolute(glob) or glob[:1] in ("*", "?", "[") for glob in globs):
            raise self.wrong(where, "must contain globs of whole paths, such as ~/work/* or */secret")

    def _check_deliveries(self, settings: Settings) -> None:
        for section, delivery in settings.deliveries.items():
            for key, problem in delivery.problems():
                raise self.wrong((section, key), problem)

    def _check_serve(self, serve: ServeSettings) -> None:
        if serve.port > _LAST_PORT:
            raise self.wrong(("serve", "port"), f"must be at most {_LAST_PORT}")
        if _HOST.fullmatch(serve.host) is None:
            raise self.wrong(("serve", "host"), "must be an address of this machine, or a name of it")
        if not all(map(_ORIGIN.fullmatch, serve.origins)):
            raise self.wrong(("serve", "origins"), "must contain addresses like https://laptop.example.net")
        if serve.token_file and not is_absolute(serve.token_file):
            raise self.wrong(("serve", "token_file"), "must be an absolute path, or start with ~/")

    def _check_filename(self, settings: Settings) -> None:
        where, parts = ("output", "filename"), settings.output.filename.split("/")
        if any(not part or part.startswith(".") for part in parts):
            raise self.wrong(where, "must be a relative path without empty or hidden components")
        if format_of(settings.output.filename) is not None:
            raise self.wrong(where, "must not include a file extension: `output.format` chooses it")
        self._check_template(where, settings.output.filename)

    def _check_template(self, where: tuple[str, ...], template: str) -> None:
        try:
            fields_used = [part for part in Formatter().parse(template) if part[1] is not None]
        except ValueError as error:
            raise self.wrong(where, f"is not a valid template: {error}") from error
        for _, name, specification, conversion in fields_used:
            if not name:
                raise self.wrong(where, "is not a valid template: {} needs a field name")
            if specification or conversion:
                raise self.wrong(where, f"gives {{{name}}} a format or a conversion, which it cannot have")
            if name not in TEMPLATE_FIELDS:
                raise self.wrong(where, f"uses {{{name}}}, which is not one of {', '.join(TEMPLATE_FIELDS)}")

    def unknown(self, where: tuple[str, ...], names: list[str]) -> ConfigError:
        """Return the error for a key that there is not, with the nearest of these names."""
        import difflib  # noqa: PLC0415 - for a mistake

        near = difflib.get_close_matches(where[-1], names, n=1, cutoff=0.5)
        hint = f"did you mean `{near[0]}`?" if near else f"expected one of: {', '.join(names)}"
        return ConfigError(f"{self._at(where)}unknown key `{'.'.join(where)}`", path=self._path, hint=hint)

    def wrong(self, where: tuple[str, ...], problem: str) -> ConfigError:
        """Return the error for the value of a key."""
        return ConfigError(f"{self._at(where)}`{'.'.join(where)}` {problem}", path=self._path)

    def _at(self, wanted: tuple[str, ...]) -> str:
        """Return `line N: ` for a key, or an empty string if the text does not show it plainly."""
        table: tuple[str, ...] = ()
        for number, line in enumerate(self._lines, 1):
            if match := re.match(r"\s*\[([^\]]+)\]", line):
                table = tuple(part.strip(" \"'") for part in match[1].split("."))
                found = table == wanted
            else:
                found = wanted[: len(table)] == table and _sets(line, wanted[len(table) :])
            if found:
                return f"line {number}: "
        return ""


def _sets(line: str, key: tuple[str, ...]) -> bool:
    """Return whether a line sets this key, plain or dotted."""
    dotted = r"\s*\.\s*".join(rf"""["']?{re.escape(part)}["']?""" for part in key)
    return re.match(rf"\s*{dotted}\s*[=.]", line) is not None


_TYPE_NAMES: Final[dict[Any, str]] = {
    bool: "true or false",
    str: "a string",
    int: "a number, 0 or more",
    tuple[str, ...]: "a list of strings",
}


def _name_of(kind: Any) -> str:
    """Return the name of a type of value, for an error."""
    return _TYPE_NAMES.get(kind) or " or ".join(f'"{word}"' for word in get_args(kind))


assert set(get_args(get_type_hints(LogSettings)["level"])) == set(LEVELS)

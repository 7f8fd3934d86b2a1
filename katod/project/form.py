"""A project's file, and which of its settings take effect: it may place a transcript there, and show less. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from katod.command.target import folder_parts
from katod.config import Settings, SettingsReader, is_key, open_toml
from katod.errors import ConfigError, TargetRefused
from katod.formatspec import FormatName
from katod.model import Tools, ToolsSetting

NAME: Final = ".katod.toml"
LARGEST: Final = 64 * 1024  # bytes
Where = tuple[str, ...]
# What it may set, under the names of the configuration, and the type of each.
_FORM: Final[dict[str, dict[str, Any]]] = {
    "output": {"format": FormatName, "directory": str},
    "recording": {"exclude": bool},
    "content": {"thinking": bool, "tools": Tools},
}
_LEAST_FIRST: Final[tuple[ToolsSetting, ...]] = ("none", "summary", "auto", "full")
_MOST_REFUSED: Final = 20  # that are listed
_LONGEST_REFUSAL: Final = 300
_MOST_DOTS: Final = 32  # in a line: the time to parse a key grows with the square of its parts
_NOT_HERE: Final = "can only be set in your own configuration"


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A project's file: what counts of it, and what is refused with the reason."""

    path: Path
    format: FormatName | None = None
    directory: tuple[str, ...] = ()  # the components of a path below the folder of the file; none: not chosen
    exclude: bool = False
    hides_thinking: bool = False
    tools: Tools | None = None
    refused: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder that it is in: the project."""
        return self.path.parent

    def reduced(self, settings: Settings) -> Settings:
        """Return settings as they are in this project: never with more content."""
        content, output = settings.content, settings.output
        wanted: ToolsSetting = self.tools or content.tools
        tools = min(content.tools, wanted, key=_LEAST_FIRST.index)
        thinking = content.thinking and not self.hides_thinking
        return settings._replace(
            content=content._replace(thinking=thinking, tools=tools),
            output=output._replace(format=self.format or output.format),
        )

    def changes(self) -> list[str]:
        """Say what it changes, in words."""
        said = {
            "nothing is recorded, not even on command": self.exclude,
            f"transcripts are written to {'/'.join(self.directory)}/, inside the project": bool(self.directory),
            "transcripts are Markdown": self.format == "markdown",
            "transcripts are JSONL, with all thinking and all that tools returned": self.format == "jsonl",
            "Markdown shows no thinking": self.hides_thinking,
            "Markdown shows no tool calls": self.tools == "none",
            "Markdown shows tool calls in one line each, at most": self.tools == "summary",
        }
        return [text for text, applies in said.items() if applies] or ["nothing changes"]


def parse_project(data: bytes, path: Path) -> ProjectFile:
    """Parse a project's file: what it may not say is refused, and the rest counts. Raises ConfigError."""
    if any(line.count(b".") > _MOST_DOTS and not line.lstrip().startswith(b"#") for line in data.splitlines()):
        raise ConfigError("nested too deeply", path=path)
    reader, tree = open_toml(data, path)
    values: dict[str, Any] = {}
    refused: list[str] = []
    unlisted = 0
    for where, value in _leaves(tree):
        if len(refused) >= _MOST_REFUSED and not _may_be_set(where):
            unlisted += 1
            continue
        try:
            values["_".join(where)] = _accepted(reader, where, value)
        except ConfigError as error:
            refused.append(_reason(error))
    if unlisted:
        refused.append(f"{unlisted} more")
    return _made(path, values, tuple(refused))


def _made(path: Path, values: dict[str, Any], refused: tuple[str, ...]) -> ProjectFile:
    return ProjectFile(
        path,
        values.get("output_format"),
        values.get("output_directory", ()),
        values.get("recording_exclude", False),
        not values.get("content_thinking", True),
        values.get("content_tools"),
        refused,
    )


def _leaves(tree: dict[str, Any]) -> Iterator[tuple[Where, Any]]:
    """Yield each key of the tables that it may have, and everything else as a whole."""
    for table, keys in tree.items():
        if table in _FORM and isinstance(keys, dict):
            yield from (((table, key), value) for key, value in keys.items())
        else:
            yield (table,), keys


def _may_be_set(where: Where) -> bool:
    return len(where) > 1 and where[1] in _FORM[where[0]]


def _accepted(reader: SettingsReader, where: Where, value: Any) -> Any:
    """Return the value of one key as it counts. Raises ConfigError."""
    if not _may_be_set(where):
        raise _misplaced(reader, where)
    found = reader.value(_FORM[where[0]][where[1]], value, where)
    match where[1], found:
        case "directory", _:
            return _directory(reader, where, found)
        case "exclude", False:
            raise reader.wrong(where, "cannot be false: a project may only exclude itself")
        case "thinking", True:
            raise reader.wrong(where, "cannot be true: a project may only leave thinking out")
        case "tools", "full":
            raise reader.wrong(where, 'cannot be "full": a project may only show less')
    return found


def _misplaced(reader: SettingsReader, where: Where) -> ConfigError:
    if where[0] in _FORM and len(where) == 1:
        return reader.wrong(where, "must be a table")
    if is_key(where):
        return reader.wrong(where, _NOT_HERE)
    return reader.unknown(where, list(_FORM[where[0]] if len(where) > 1 else _FORM))


def _directory(reader: SettingsReader, where: Where, value: str) -> tuple[str, ...]:
    try:
        return folder_parts(value)
    except TargetRefused as error:
        raise reader.wrong(where, f"is refused: {error.what}") from error


def _reason(error: ConfigError) -> str:
    text = f"{error.what} ({error.hint})" if error.hint else error.what
    return text if len(text) <= _LONGEST_REFUSAL else f"{text[:_LONGEST_REFUSAL]}…"

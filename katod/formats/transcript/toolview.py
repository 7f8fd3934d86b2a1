"""What a tool call is about, in one line or in full. Pure."""

import re
import shlex
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final, Literal

import orjson

from katod.agents.fields import dict_of
from katod.agents.toolcalls import first_text
from katod.agents.tooltable import UNKNOWN, ToolEntry, tool
from katod.formats.transcript.calls import diff, patched_files, shown_size
from katod.formats.transcript.content import Code, Inline, Line
from katod.paths import below, is_windows
from katod.text import clean

LONGEST: Final = 160  # characters of one span
_LONGEST_START: Final = 2000  # characters that are searched for secrets: far more than a line shows
_HEAD: Final = 90  # of these before a cut in the middle
# Lines that only prepare what a script does.
_PREPARING: Final = re.compile(
    r"\s*+(?:|#.*|set [-+]\S+(?: \S+)?|(?:export )?[A-Za-z_]\w*+=(?:\"[^\"]*\"|'[^']*'|[^\s;&|(]*)\s*)"
)
_MOST_SCALARS: Final = 3
_MOST_FILES: Final = 4
_PROSE: Final = ("agent", "think")
_COMMANDS: Final = ("command", "cmd", "chars", "CommandLine", "commands", "input")  # arguments that are a command
_SHELL: Final = re.compile(r"(?:/(?:usr/)?bin/)?(?:ba|z|da)?sh\s+-l?c\s+(?=['\"])")
_HOME: Final = re.compile(
    r"/(?:home|Users)/[^/]+(?=/|\Z)|/root(?=/|\Z)|[A-Za-z]:[\\/](?i:Users)[\\/][^\\/]+(?=[\\/]|\Z)"
)
Clean = Callable[[str], str]
Kind = Literal["code", "note", "text"]


class View:
    """How the calls of a session are shown: redacted, with paths relative to the project and the home."""

    def __init__(self, redact: Clean, cwd: str) -> None:
        self._redact = redact
        self._cwd = cwd
        home = _HOME.match(cwd)
        self._home = home[0] if home else ""
        self._in_home = "~\\" if is_windows(cwd) else "~/"

    def path(self, path: str) -> str:
        """Return a path relative to the project, or with `~` for the home."""
        for folder, itself, sign in ((self._cwd, ".", ""), (self._home, "~", self._in_home)):
            rest = below(path, folder)
            if rest is not None:
                return sign + rest if rest else itself
        return path

    def about(self, payload: dict[str, Any], added: int = 0, removed: int = 0) -> Line:
        """Return what a call is about: commands, paths and patterns as code, its own description as a note.

        What an edit adds and removes, in lines, follows.
        """
        given, known = payload.get("input"), tool(payload["name"])
        spans = self._spans(payload["family"], given, known)
        return (*spans, Inline("text", size)) if (size := shown_size(added, removed)) else spans

    def _spans(self, family: str, given: Any, known: ToolEntry) -> Line:
        arguments = dict_of(given)
        if patch := known.patch_in(given) if family == "edit" else "":
            return self._files(patch)
        if family == "execute":
            return self._command(command_of(given), arguments.get("description", arguments.get("toolSummary")))
        if family == "search" and known.within:
            return self._search(arguments, known)
        about = given if isinstance(given, str) else first_text(arguments, (*known.about, *UNKNOWN.about))
        if family in _PROSE:
            return self._first_line("note", about)
        if not about and known is UNKNOWN:
            return self._named(arguments)
        return (*self._first_line("code", self.path(about)), *_part_read(arguments, family))

    def _named(self, arguments: Mapping[str, Any]) -> Line:
        """Return the first arguments of a tool that is not known, each with its name; a single one needs none."""
        given = {name: _scalar(value) for name, value in arguments.items()}
        shown = [(name, value) for name, value in given.items() if value][:_MOST_SCALARS]
        spans: list[Inline] = []
        for name, value in shown:
            spans += [Inline("text", f"{cut(clean(self._redact(name)))}:")] if len(shown) > 1 else []
            spans += self._first_line("code", value)
        return tuple(spans)

    def _command(self, command: str, description: Any) -> Line:
        spans = self._command_line(unwrapped(command))
        description = _subject(command) or description
        if isinstance(description, str) and description.strip():
            said = self._first_line("note", description)
            return (*spans, Inline("text", "·"), *said) if spans else said
        return spans

    def _command_line(self, command: str) -> Line:
        """Return the first line of a script that does something, and how many lines there are beside it."""
        rows = _shell_lines(self._start(command))
        line, size = next((row for row in rows if not _PREPARING.fullmatch(row[0])), rows[0])
        return _shown("code", line, command.count("\n") + 1 - size, whole=len(command) <= _LONGEST_START)

    def _search(self, arguments: Mapping[str, Any], known: ToolEntry) -> Line:
        what, where = first_text(arguments, known.about), self.path(first_text(arguments, known.within))
        spans = self._first_line("code", what)
        if where and where != ".":
            spans = (*spans, *((Inline("text", "in"),) if spans else ()), *self._first_line("code", where))
        return spans

    def files(self, payload: dict[str, Any]) -> list[str]:
        """Return the files that an edit changes; one without a name counts as one."""
        given, known = payload.get("input"), tool(payload["name"])
        if patch := known.patch_in(given):
            return self._patched(patch) or [""]
        return [self.path(self._redact(first_text(dict_of(given), known.about)))]

    def edits(self, payload: dict[str, Any], added: int, removed: int) -> tuple[tuple[str, int, int], ...]:
        """Return the edits that a call is going to make."""
        if not (added or removed):
            return ()
        first, *others = self.files(payload)
        return ((first, added, removed), *((path, 0, 0) for path in others))

    def _patched(self, patch: str) -> list[str]:
        return [self.path(self._redact(name)) for name in dict.fromkeys(patched_files(patch))]

    def _files(self, patch: str) -> Line:
        names = self._patched(patch)
        shown = tuple(Inline("code", cut(name, middle=True)) for name in names[:_MOST_FILES])
        more = len(names) - _MOST_FILES
        return (*shown, Inline("text", f"and {more} more")) if more > 0 else shown

    def _first_line(self, kind: Kind, text: str) -> Line:
        """Return the first line of a text, and how many lines follow it."""
        text = text.strip()
        first = self._start(text).partition("\n")[0]
        return _shown(kind, first, text.count("\n"), whole=len(text) <= _LONGEST_START)

    def _start(self, text: str) -> str:
        return clean(self._redact(text[:_LONGEST_START])).strip()

    def body(self, payload: dict[str, Any]) -> Code:
        """Return all that a call was given."""
        given, family = payload.get("input"), payload["family"]
        if family == "edit" and (lines := diff(payload, self._redact)):
            return Code(self._redact("\n".join(lines)), "diff")
        if family == "execute" and (command := unwrapped(command_of(given))):
            return Code(self._redact(command), "bash")
        if isinstance(given, str):
            return Code(self._redact(given), "text")
        return Code(self._redact(_pretty(given)), "json")


def _part_read(arguments: Mapping[str, Any], family: str) -> Line:
    """Return which lines of a file are read, if not all of them."""
    first, count = arguments.get("offset"), arguments.get("limit")
    if family != "read" or not isinstance(count, int) or not isinstance(first, int | None):
        return ()
    begin = max(first or 1, 1)
    return (Inline("text", f"lines {begin}–{begin + count - 1}"),)  # noqa: RUF001 - a dash


def _subject(command: str) -> str:
    """Return the first line of a commit's message that a shell reads from the lines below the command."""
    if "git commit" not in command:
        return ""
    lines = command[:_LONGEST_START].split("\n")
    below = (after for line, after in pairwise(lines) if "<<" in line.partition("git commit")[2])
    return next(below, "").strip()


def _scalar(value: Any) -> str:
    """Return a text or a number as the call has it, empty for anything else."""
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, str | int | float) else ""


def command_of(given: Any) -> str:
    """Return the command of a call, several of them as lines of one; empty if it has none."""
    if isinstance(given, str):
        return given
    row = dict_of(given)
    value = next((row[key] for key in _COMMANDS if key in row), None)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value) if "commands" in row else _joined(value)
    return value if isinstance(value, str) else ""


def _joined(words: list[str]) -> str:
    return words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else shlex.join(words)


def unwrapped(command: str) -> str:
    """Return `make test` of `bash -lc "make test"`, any other command unchanged."""
    command = command.strip()
    wrapper = _SHELL.match(command)
    if wrapper is None:
        return command
    try:
        words = shlex.split(command[wrapper.end() :])
    except ValueError:
        return command
    return words[0] if len(words) == 1 else command


def cut(text: str, *, middle: bool = False) -> str:
    """Return one line, cut at its end if it is too long, or in the `middle`: the end of a path says most."""
    if len(text) <= LONGEST:
        return text
    return f"{text[:_HEAD]}…{text[_HEAD + 1 - LONGEST :]}" if middle else f"{text[: LONGEST - 1].rstrip()}…"


def _shell_lines(script: str) -> list[tuple[str, int]]:
    """Return the lines as the shell reads them: one that ends with a backslash goes on; and in how many each stands."""
    found: list[tuple[str, int]] = []
    begun, size = "", 0
    for line in script.split("\n"):
        begun, size = f"{begun} {line.strip()}" if size else line, size + 1
        if line.endswith("\\"):
            begun = begun[:-1].rstrip()
        else:
            found.append((begun, size))
            begun, size = "", 0
    return [*found, (begun, size)] if size else found


def _shown(kind: Kind, line: str, more: int, *, whole: bool) -> Line:
    """Return a line and how many more there are; if it may have been cut before, half a secret may end it."""
    if not line:
        return ()
    span = Inline(kind, cut(line.rstrip(), middle=whole and kind == "code"))
    return (span, Inline("text", f"… +{more} line{'s' if more > 1 else ''}")) if more > 0 else (span,)


def _pretty(given: Any) -> str:
    try:
        return orjson.dumps(given, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return "nested too deep to be shown"

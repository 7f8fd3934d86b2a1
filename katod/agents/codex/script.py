"""Codex code mode: which functions a script calls, and with what.

Since 0.144 the model may call tools from JavaScript, as the input of a custom tool called `exec`:
`const r = await tools.exec_command({cmd:"make","workdir":"/home/me/shop"}); text(r.output);`
Nothing is evaluated. Only arguments that are written out are read: literals, and names of constants that are strings.
"""

import re
from typing import Any, Final, NamedTuple

CODE_MODE: Final = "exec"
MOST_CALLS: Final = 100
_DEEPEST: Final = 8
_MOST_VALUES: Final = 1000  # in the arguments of one call
_NAME: Final = r"[A-Za-z_$][\w$]{0,199}"
# Where the text stops being ordinary code: a string, a comment, a call, a constant.
_STOP: Final = re.compile(
    rf"""(?P<quote>["'`])|(?P<line>//)|(?P<block>/\*)"""
    rf"""|\btools\s*\.\s*(?P<call>{_NAME})\s*\(|\bconst\s+(?P<const>{_NAME})\s*=\s*|\b(?P<other>tools)\b"""
)
# Possessive, so that a string without an end is scanned once.
_STRING: Final = {
    '"': re.compile(r'"((?:[^"\\\n]|\\.)*+)"', re.DOTALL),
    "'": re.compile(r"'((?:[^'\\\n]|\\.)*+)'", re.DOTALL),
    "`": re.compile(r"`((?:[^`\\$]|\\.|\$(?!\{))*+)`", re.DOTALL),
}
_TEMPLATE: Final = re.compile(r"`(?:[^`\\]|\\.)*+`", re.DOTALL)  # with `${…}` in it: skipped, not read
_ESCAPE: Final = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r\n|.))", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_BLANK: Final = re.compile(r"\s*")
_ATOM: Final = re.compile(rf"(-?[0-9]{{1,18}}(?:\.[0-9]{{1,18}})?)(?![\w.])|({_NAME})")
_LITERALS: Final = {"true": True, "false": False, "null": None, "undefined": None}
_CONTINUES: Final = frozenset("+.([?`*/-")  # what follows makes a string a part of something else


class ScriptCall(NamedTuple):
    """A function that a script calls. `plain` is false if its argument is not written out."""

    name: str
    input: Any
    plain: bool


class _NotPlainError(ValueError):
    """The argument is not written out."""


def calls_in(script: str) -> list[ScriptCall]:
    """Return the first 100 calls of `tools.<name>(…)` in a script, in the order of its text. Takes linear time."""
    calls: list[ScriptCall] = []
    constants: dict[str, str] = {}
    at = 0
    while (stop := _STOP.search(script, at)) and len(calls) < MOST_CALLS:
        if name := stop["call"]:
            calls.append(_call(name, script, stop.end(), constants))
            at = stop.end()
        elif name := stop["other"]:  # called in a way that is not written out
            calls.append(ScriptCall(name, None, plain=False))
            at = stop.end()
        elif name := stop["const"]:
            at = _keep_constant(name, script, stop.end(), constants)
        else:
            at = _after(script, stop)
    return calls


def _call(name: str, script: str, at: int, constants: dict[str, str]) -> ScriptCall:
    reader = _Reader(script, constants)
    try:
        value, end = ({}, at) if reader.char(at) == ")" else reader.value(at)
        reader.past(reader.past(end, ",", optional=True), ")")
    except _NotPlainError:
        return ScriptCall(name, None, plain=False)
    return ScriptCall(name, value, plain=True)


def _keep_constant(name: str, script: str, at: int, constants: dict[str, str]) -> int:
    """Remember a constant that is a string; return where to continue."""
    reader = _Reader(script, constants)
    constants.pop(name, None)
    if script[at : at + 1] in _STRING:
        try:
            value, end = reader.string(at)
        except _NotPlainError:
            return at
        if reader.char(end) not in _CONTINUES:
            constants[name] = value
        return end
    return at


def _after(script: str, stop: re.Match[str]) -> int:
    """Return where the string or comment ends that begins here; the end of the script if it has no end."""
    if stop["line"]:
        end = script.find("\n", stop.end())
    elif stop["block"]:
        end = script.find("*/", stop.end())
    else:
        skipped = _TEMPLATE if stop["quote"] == "`" else _STRING[stop["quote"]]
        found = skipped.match(script, stop.start())
        end = found.end() if found else -1
    return len(script) if end < 0 else end


class _Reader:
    """Reads literals from a place in a script; each method returns what it read and where that ends."""

    def __init__(self, script: str, constants: dict[str, str]) -> None:
        self._script = script
        self._constants = constants
        self._left = _MOST_VALUES

    def char(self, at: int) -> str:
        """Return the next character that is not blank, empty at the end."""
        at = self._skip(at)
        return self._script[at : at + 1]

    def past(self, at: int, mark: str, *, optional: bool = False) -> int:
        """Return where the text after a mark begins."""
        at = self._skip(at)
        if self._script.startswith(mark, at):
            return at + len(mark)
        if optional:
            return at
        raise _NotPlainError

    def value(self, at: int, depth: int = 0) -> tuple[Any, int]:
        """Read one value."""
        at = self._skip(at)
        first = self._script[at : at + 1]
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise _NotPlainError
        if first in _STRING:
            return self.string(at)
        if first == "{":
            return self._object(at + 1, depth)
        if first == "[":
            return self._array(at + 1, depth)
        return self._atom(at)

    def string(self, at: int) -> tuple[str, int]:
        """Read a string in quotes, or a template without expressions."""
        found = _STRING[self._script[at]].match(self._script, at)
        if found is None:
            raise _NotPlainError
        return _unescaped(found[1]), found.end()

    def _skip(self, at: int) -> int:
        found = _BLANK.match(self._script, at)
        return found.end() if found else at

    def _atom(self, at: int) -> tuple[Any, int]:
        found = _ATOM.match(self._script, at)
        if found is None:
            raise _NotPlainError
        number, name = found.groups()
        if number:
            return (float(number) if "." in number else int(number)), found.end()
        if name in self._constants:
            return self._constants[name], found.end()
        if name not in _LITERALS:
            raise _NotPlainError
        return _LITERALS[name], found.end()

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        while self.char(at) != "]":
            item, at = self.value(at, depth + 1)
            items.append(item)
            at = self._next(at, "]")
        return items, self.past(at, "]")

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        row: dict[str, Any] = {}
        while self.char(at) != "}":
            key, at = self._key(at)
            if self.char(at) == ":":
                row[key], at = self.value(self.past(at, ":"), depth + 1)
            elif key in self._constants:  # `{cmd}`
                row[key] = self._constants[key]
            else:
                raise _NotPlainError
            at = self._next(at, "}")
        return row, self.past(at, "}")

    def _key(self, at: int) -> tuple[str, int]:
        at = self._skip(at)
        if self._script[at : at + 1] in ('"', "'"):
            return self.string(at)
        found = _ATOM.match(self._script, at)
        if found is None:
            raise _NotPlainError
        return found[0], found.end()

    def _next(self, at: int, end: str) -> int:
        """Return where the next item begins, or the mark that ends the list."""
        return at if self.char(at) == end else self.past(at, ",")


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs are escaped one by one


def _character(escape: re.Match[str]) -> str:
    braced, four, two, other = escape.groups()
    if other is not None:
        return _ESCAPED.get(other, other)
    code = int(braced or four or two, 16)
    return chr(code) if code < 0x110000 else "\ufffd"

"""An agent's JSON settings, with a hook and a status line, and without them again. Pure.

The settings are parsed and printed again, in their own order and with their own indentation.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import orjson

from katod.errors import SetupError

_STATUS_LINE: Final = "statusLine"
_HOOKS: Final = "hooks"
_EVENT: Final = "UserPromptSubmit"
_SECONDS: Final = 5  # after which the agent ends the hook
_INDENT: Final = re.compile(rb"[\[{]\r?\n([ \t]+)")
_TAIL: Final = re.compile(r"\s*\Z")
Tree = dict[str, Any]


class Commands(NamedTuple):
    """What the agent is to run: lines for `sh`."""

    hook: str
    status_line: str


class Added(NamedTuple):
    """Settings with the commands, and what has to be said about them."""

    data: bytes
    own_status_line: bool = False  # there is another one, which stays
    disabled: bool = False  # the agent runs none of them


def added(data: bytes | None, commands: Commands) -> Added:
    """Return settings with the commands; None is a file that does not exist. Raises SetupError."""
    mark, said = _without_mark(data or b"")
    before = said if said.strip() else b"{}\n"
    tree = _parsed(before)
    changed = _add_hook(tree, commands.hook)
    own = _STATUS_LINE in tree and not _is_ours(tree[_STATUS_LINE], commands.status_line)
    if _STATUS_LINE not in tree:
        tree[_STATUS_LINE] = {"type": "command", "command": commands.status_line}
        changed = True
    like = before if said.strip() else b"{\n  \n}\n"
    return Added(mark + _printed(tree, like) if changed else mark + before, own, tree.get("disableAllHooks") is True)


def removed(data: bytes, backups: Sequence[bytes], commands: Commands) -> bytes | None:
    """Return settings without the commands; None if setup created the file, and nothing else is in it.

    If nothing else changed since, they are what they were, byte for byte: one of the backups. Raises SetupError.
    """
    for backup in backups:
        if _makes(backup, data, commands):
            return backup
    if _makes(None, data, commands):
        return None
    if not _mentions(data, commands):
        return data
    mark, said = _without_mark(data)
    tree = _parsed(said)
    before = _hooks_before(backups[-1]) if backups else {}
    taken = _take_hook(tree, commands.hook, before)
    if _is_ours(tree.get(_STATUS_LINE), commands.status_line):
        del tree[_STATUS_LINE]
        taken = True
    return mark + _printed(tree, said) if taken else data


def _mentions(data: bytes, commands: Commands) -> bool:
    """Return whether settings, which may be nothing that can be parsed, have one of the commands somewhere."""
    spelled = (json.dumps(command, ensure_ascii=plain)[1:-1] for command in commands for plain in (True, False))
    return any(command.encode() in data for command in spelled)


def _without_mark(data: bytes) -> tuple[bytes, bytes]:
    """Return the byte order mark that an editor put before a text, if there is one, and the text."""
    return (BOM_UTF8, data[len(BOM_UTF8) :]) if data.startswith(BOM_UTF8) else (b"", data)


def _makes(backup: bytes | None, data: bytes, commands: Commands) -> bool:
    """Return whether adding the commands to a backup gives these settings."""
    if backup == data:
        return False
    try:
        return added(backup, commands).data == data
    except SetupError:
        return False


# -- the tree --------------------------------------------------------------------------------------


def _add_hook(tree: Tree, command: str) -> bool:
    """Add the hook after those that are there; return False if it is one of them. Raises SetupError."""
    hooks = tree.get(_HOOKS, {})
    groups = hooks.get(_EVENT, []) if isinstance(hooks, dict) else None
    if not isinstance(groups, list):
        raise SetupError(f"`{_HOOKS}` is not what the agent expects there", hint="correct it first")
    if any(_is_ours(hook, command) for group in groups for hook in _hooks_of(group)):
        return False
    groups.append({_HOOKS: [{"type": "command", "command": command, "timeout": _SECONDS}]})
    hooks[_EVENT] = groups
    tree[_HOOKS] = hooks
    return True


def _take_hook(tree: Tree, command: str, before: Tree) -> bool:
    """Take the hook out, and what is empty without it, unless it was there `before`; return whether it was found."""
    hooks = tree.get(_HOOKS)
    groups = hooks.get(_EVENT) if isinstance(hooks, dict) else None
    if not isinstance(hooks, dict) or not isinstance(groups, list):
        return False
    kept = [_without(group, command) for group in groups if not _is_emptied(group, command)]
    if kept == groups:
        return False
    hooks[_EVENT] = kept
    if not kept and _EVENT not in before.get(_HOOKS, {}):
        del hooks[_EVENT]
    if not hooks and _HOOKS not in before:
        del tree[_HOOKS]
    return True


def _without(group: Any, command: str) -> Any:
    """Return a group of hooks without the command."""
    kept = [hook for hook in _hooks_of(group) if not _is_ours(hook, command)]
    return group | {_HOOKS: kept} if kept else group


def _is_emptied(group: Any, command: str) -> bool:
    hooks = _hooks_of(group)
    return bool(hooks) and all(_is_ours(hook, command) for hook in hooks)


def _hooks_of(group: Any) -> Iterable[Any]:
    hooks = group.get(_HOOKS) if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(row: Any, command: str) -> bool:
    return isinstance(row, dict) and row.get("command") == command


def _hooks_before(backup: bytes) -> Tree:
    """Return a backup, as far as it says which containers were there."""
    try:
        tree = _parsed(_without_mark(backup)[1])
    except SetupError:
        return {}
    return tree if isinstance(tree.get(_HOOKS, {}), dict) else {}


# -- JSON ------------------------------------------------------------------------------------------


def _parsed(data: bytes) -> Tree:
    """Return the settings. Raises SetupError for what is not JSON, and for what would not survive being printed."""
    try:
        orjson.loads(data)  # strict: neither comments nor NaN, and only text in UTF-8
        # This parser keeps large numbers, and shows keys that are there twice: one of them would be lost.
        tree = json.loads(data, object_pairs_hook=_unique)
    except orjson.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SetupError(f"it is not valid JSON ({where})", hint="remove comments and trailing commas") from error
    except RecursionError as error:
        raise SetupError("it is nested too deeply") from error
    if not isinstance(tree, dict):
        raise SetupError("it is not a JSON object")
    return tree


def _unique(pairs: list[tuple[str, Any]]) -> Tree:
    tree = dict(pairs)
    if len(tree) != len(pairs):
        twice = next(key for n, (key, _) in enumerate(pairs) if key in dict(pairs[:n]))
        raise SetupError(f"it has the key {json.dumps(twice)} twice", hint="remove one of them")
    return tree


def _printed(tree: Tree, like: bytes) -> bytes:
    """Return the settings as text, in the style of another one. Raises SetupError."""
    try:
        text = json.dumps(tree, ensure_ascii=like.isascii() and rb"\u" in like, allow_nan=False, **_style(like))
    except RecursionError as error:
        raise SetupError("it is nested too deeply") from error
    except ValueError as error:
        raise SetupError("it has a number that is too large") from error
    tail = _TAIL.search(like.decode())
    lines = text.replace("\n", "\r\n") if b"\r\n" in like else text
    return (lines + (tail[0] if tail else "")).encode()


def _style(like: bytes) -> dict[str, Any]:
    """Return how a text is indented, and whether it has blanks after commas and colons."""
    if indent := _INDENT.search(like):
        return {"indent": indent[1].decode()}
    return {} if b'": ' in like else {"separators": (",", ":")}

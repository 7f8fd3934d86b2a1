"""VS Code: the texts in the parts of an answer, and in the results of calls. Pure."""

from typing import Any, Final

from katod.agents.fields import dict_of, dicts_of, text_of
from katod.tail.decode import loads

# Parts of an answer that are no text: calls and edits are in the rounds, and others are the editor's own.
_SILENT: Final = frozenset({
    "codeblockUri", "mcpServersStarting", "prepareToolInvocation", "questionCarousel", "textEditGroup", "thinking",
    "toolInvocationSerialized", "undoStop",
})  # fmt: skip
_REFERENCE: Final = "inlineReference"
_DEEPEST: Final = 200
Value = dict[str, Any]


def shown(response: Any) -> str:
    """Return the Markdown of an answer, with the names of files in it."""
    return "".join(map(_text, dicts_of(response)))


def strange(response: Any) -> list[Value]:
    """Return the parts of a kind that is not known."""
    kinds = [(row, row.get("kind")) for row in dicts_of(response)]
    known = {_REFERENCE, *_SILENT}
    return [row for row, kind in kinds if kind is not None and not (isinstance(kind, str) and kind in known)]


def thoughts(response: Any) -> list[str]:
    """Return the thinking in an answer."""
    rows = [row.get("value") for row in dicts_of(response) if row.get("kind") == "thinking"]
    texts = ["\n".join(map(text_of, row)) if isinstance(row, list) else text_of(row) for row in rows]
    return [text for text in texts if text.strip()]


def _text(part: Value) -> str:
    if "kind" not in part:
        return text_of(part.get("value"))
    if part["kind"] != _REFERENCE:
        return ""
    reference = dict_of(part.get(_REFERENCE))
    place = dict_of(reference.get("location")).get("uri") or reference
    named = text_of(part.get("name")) or text_of(reference.get("name"))
    return f"`{named or text_of(dict_of(place).get('path')).rpartition('/')[2]}`"


def call_id(value: Any) -> str:
    """Return the id of a call as the agent gave it: the client adds the time of its start."""
    return text_of(value).partition("__vscode-")[0]


def arguments(value: Any) -> Any:
    """Return the arguments of a call, which are JSON text."""
    try:
        return loads(value) if isinstance(value, str) and value else value or {}
    except ValueError:
        return value


def result_text(result: Any) -> str:
    """Return the words of a result: text, or the texts of a tree, some of which begin a line."""
    return "\n".join(map(_words, dicts_of(dict_of(result).get("content"))))


def _words(content: Value) -> str:
    value = content.get("value")
    return value if isinstance(value, str) else _tree(dict_of(dict_of(value).get("node"))).removeprefix("\n")


def _tree(node: Value, depth: int = 0) -> str:
    own = ("\n" if node.get("lineBreakBefore") else "") + text_of(node.get("text"))
    rows = dicts_of(node.get("children")) if depth < _DEEPEST else []
    return own + "".join(_tree(row, depth + 1) for row in rows)

"""The oracle for Pi: reads one session file into four multisets."""

from pathlib import Path

from tests.oracle.common import Record, Sets, as_dict, as_text, joined_texts, records, shell_text

# Entries and messages that are not part of the conversation.
BOOKKEEPING = frozenset(("context_edit", "custom", "label", "message/system"))


def read(path: Path) -> Sets:
    """Read every entry of the file, on whichever branch, into one of the four multisets, or count it in `other`."""
    sets = Sets()
    for _, _, row in records(path, sets.other):
        message = as_dict(row.get("message"))
        kind = as_text(row.get("type")) or "untyped"
        kind = f"message/{message.get('role')}" if kind == "message" else kind
        _entry(sets, kind, as_text(row.get("id")), message)
        if counts := as_dict(message.get("usage")) or as_dict(row.get("usage")):
            sets.usage(as_text(row.get("id")), counts, ("input", "output"))
    return sets


def _entry(sets: Sets, kind: str, native: str, message: Record) -> None:
    if kind == "message/user":
        sets.user(native, _text(message))
    elif kind == "message/assistant":
        for block in map(as_dict, message.get("content") or []):
            _block(sets, native, block)
    elif kind == "message/toolResult":
        sets.result(as_text(message.get("toolCallId")), _text(message))
    elif kind == "message/bashExecution":
        sets.user(native, shell_text(as_text(message.get("command"))))
    elif kind != "usage":
        sets.other[kind if kind in BOOKKEEPING else f"other:{kind}"] += 1


def _text(message: Record) -> str:
    content = message.get("content")
    blocks = content if isinstance(content, str) else [b for b in content or [] if as_dict(b).get("type") == "text"]
    return joined_texts(blocks)


def _block(sets: Sets, native: str, block: Record) -> None:
    kind, text = as_text(block.get("type")), as_text(block.get("text"))
    if kind == "text" and text.strip():
        sets.assistant(native, text)
    elif kind == "toolCall":
        sets.call(as_text(block.get("id")), as_text(block.get("name")), block.get("arguments") or {})
    elif kind == "thinking" and as_text(block.get("thinking")).strip():
        sets.other["other:assistant/thinking"] += 1
    else:
        sets.other[f"assistant/empty-{kind}" if kind in ("text", "thinking") else f"other:assistant/{kind}"] += 1

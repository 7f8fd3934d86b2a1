"""Claude Code: the blocks of an assistant message."""

from typing import Any, Final

from katod import events as ev
from katod.agents.claude import system
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.claude.tools import Tools
from katod.agents.fields import dict_of, list_of, text_of
from katod.events import Event
from katod.model import Record

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")


class AssistantRecords:
    """Translates what the assistant said and did, and what the client said in its place."""

    def __init__(self, new: ClaudeBuilder, tools: Tools) -> None:
        self._new = new
        self._tools = tools

    def translate(self, record: Record, message: dict[str, Any], model: str, *, synthetic: bool) -> list[Event]:
        """Translate one record: a message or a block of one."""
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        out: list[Event] = []
        for n, block in enumerate(list_of(content)):
            if not isinstance(block, dict):
                out.append(self._new.raw(record, "assistant/block", block, n))
            elif block.get("type") == "text":
                out += self._text(record, text_of(block.get("text")), n, model, synthetic=synthetic)
            else:
                out += self._block(record, block, n, model)
        return out

    def _text(self, record: Record, text: str, n: int, model: str, *, synthetic: bool) -> list[Event]:
        if not text.strip() or text == "(no content)":
            return []
        if synthetic:
            return [system.synthetic(self._new, record, text, n)]
        stop = dict_of(record.value.get("message")).get("stop_reason")
        payload = {"text": text, "stopReason": stop} if isinstance(stop, str) else {"text": text}
        return [self._new.event(ev.ASSISTANT_MESSAGE, payload, record, n, model=model)]

    def _block(self, record: Record, block: dict[str, Any], n: int, model: str) -> list[Event]:
        kind = block.get("type")
        if kind in _CALLS:
            return self._tools.call(record, block, n, model)
        if kind == "thinking":
            text = text_of(block.get("thinking"))
            if text.strip():
                return [self._thinking(record, {"text": text}, n, model)]
            # The signature of a thought without text is the thought, encrypted.
            return self._sealed(record, block["signature"], n, model) if block.get("signature") else []
        if kind == "redacted_thinking":
            return self._sealed(record, block.get("data"), n, model)
        if isinstance(kind, str) and kind.endswith("_tool_result"):
            return self._tools.results(record, block, n)
        if kind == "fallback":
            before, after = (text_of(dict_of(block.get(side)).get("model")) for side in ("from", "to"))
            return [self._new.event(ev.CONFIG_CHANGE, {"what": "model", "before": before, "after": after}, record, n)]
        return [self._new.raw(record, f"assistant/{kind}", block, n)]

    def _sealed(self, record: Record, sealed: Any, n: int, model: str) -> list[Event]:
        return [self._thinking(record, {"text": "", "encrypted": text_of(sealed) or True}, n, model)]

    def _thinking(self, record: Record, payload: dict[str, Any], n: int, model: str) -> Event:
        return self._new.event(ev.ASSISTANT_THINKING, payload, record, n, model=model)

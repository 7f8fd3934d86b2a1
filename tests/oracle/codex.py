"""The oracle for Codex: reads one rollout file into four multisets."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, begin, joined_texts, records

CALLS = frozenset(
    (
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "tool_search_call",
        "image_generation_call",
    )
)
UNNAMED = CALLS - {"function_call", "custom_tool_call"}
SERVER_SIDE = frozenset(("web_search_call", "image_generation_call"))
# Records of patches; one that a script computed is a call of its own.
EXECUTIONS = frozenset(("patch_apply_end", "FileChange"))
# Records that only repeat another form, or the details of a call.
REPEATED = frozenset(
    (
        "user_message",
        "agent_message",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "exec_command_end",
        "patch_apply_end",
        "mcp_tool_call_end",
        "web_search_end",
        "image_generation_end",
        "view_image_tool_call",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
    )
)
REPEATED_ITEMS = frozenset(
    (
        "UserMessage",
        "AgentMessage",
        "Reasoning",
        "CommandExecution",
        "FileChange",
        "McpToolCall",
        "DynamicToolCall",
        "WebSearch",
        "ImageView",
        "ImageGeneration",
        "FunctionCallOutput",
        "Extension",
    )
)
BOOKKEEPING = frozenset(
    (
        "world_state",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "retained_context",
        "security_risk_score",
        "realtime_item",
        "dynamic_tools_updated",
    )
)
# The first block of a script's output, and the heading of its error, which katod keeps as status and duration.
_SCRIPT_HEAD = re.compile(r"\AScript \w+[^\n]*\nWall time [\d.]+ seconds\nOutput:\n\n?(?:Script error:\n)?")
# What the model does or what ends its turn, in lower case.
SPOKEN = frozenset(
    (
        "agent_message", "agentmessage", "agent_reasoning", "reasoning", "function_call", "custom_tool_call",
        "local_shell_call", "web_search_call", "task_complete", "turn_complete", "turn_aborted", "commandexecution",
    )
)  # fmt: skip
FLAT_ITEMS = frozenset(("message", "reasoning", "function_call", "function_call_output"))
_INPUT = re.compile(r"<codex_delegation>.*?<input>(.*)</input>.*", re.DOTALL)
_REQUEST = re.compile(r"^## My request(?: for Codex)?:", re.MULTILINE)
_CONTEXT = re.compile(
    r"\s*(?:# (?:Context from my IDE setup|Files (?:mentioned|pasted) by the user|Chrome tabs|Response annotations"
    r"|Browser comments|In app browser)|## Referenced chats with Codex):"
)


def _shown(text: str) -> str:
    """Return what the client shows of an answer: the model may have appended where it remembers it from."""
    said, tag, _ = text.partition("\n<oai-mem-citation>")
    return said.rstrip() if tag else text


def read(path: Path) -> Sets:
    """Read every record of the file into one of the four multisets, or count it in `other`."""
    sets = Sets()
    rows = list(records(path, sets.other))
    first = next((row for _, _, row in rows if row.get("type") == "session_meta"), {})
    paginated = as_dict(first.get("payload")).get("history_mode") == "paginated"
    flat = bool(rows) and "instructions" in rows[0][2] and "type" not in rows[0][2]
    said, earlier = _said_by_events(rows), list[Record]()
    for offset, _, row in rows:
        begin(sets.other, offset)
        if flat and "payload" not in row:
            _flat(sets, row, str(offset))
            continue
        kind, payload = as_text(row.get("type")), row.get("payload")
        if not isinstance(payload, dict):
            sets.other[f"other:{kind or 'untyped'}"] += 1
        elif kind == "response_item" and (alone := _alone(payload, said)):
            _user(sets, alone, str(offset), "response_item/message/user")
        elif kind == "response_item":
            if payload.get("role") == "user" and _waits(payload, earlier):
                sets.held()
            _response_item(sets, payload, str(offset), paginated=paginated)
        elif kind == "event_msg":
            _event(sets, payload, str(offset), paginated=paginated)
        else:
            sets.other[kind if kind in BOOKKEEPING else f"other:{kind}"] += 1
        earlier.append(as_dict(payload))
    return sets


def _waits(payload: Record, earlier: list[Record]) -> bool:
    """Return whether a prompt as an item comes before the event that says it: none did since the model last spoke."""
    if not _is_prompt(joined_texts(payload.get("content"))):
        return False
    for row in reversed(earlier):
        kind = as_text(as_dict(row.get("item")).get("type")) or as_text(row.get("type"))
        if kind in ("user_message", "UserMessage"):
            return False
        if kind.lower() in SPOKEN or row.get("role") == "assistant":
            return True
    return True


def _said_by_events(rows: list[Any]) -> set[str]:
    """Return the texts of all events of the person."""
    payloads = [as_dict(row.get("payload")) for _, _, row in rows if row.get("type") == "event_msg"]
    texts = [as_text(payload.get("message")) for payload in payloads if payload.get("type") == "user_message"]
    items = [as_dict(payload.get("item")) for payload in payloads]
    return {*texts, *(joined_texts(item.get("content")) for item in items if item.get("type") == "UserMessage")}


def _alone(payload: Record, said: set[str]) -> str:
    """Return the text of a prompt that no event says, empty for any other item and for the client's own texts."""
    if payload.get("type") != "message" or payload.get("role") != "user":
        return ""
    text = joined_texts(payload.get("content"))
    return text if _is_prompt(text) and text not in said else ""


def _is_prompt(text: str) -> bool:
    """Return whether a text is not one of the client's own."""
    if text.lstrip().startswith("<codex_delegation>"):
        return True
    clients = ("<", "# AGENTS.md instructions", "The following is the Codex agent history")
    return bool(text.strip()) and not text.lstrip().startswith(clients)


def _flat(sets: Sets, row: Record, native: str) -> None:
    """Read a record of a flat rollout: the payload of a `response_item` without its envelope."""
    if row.get("type") == "message" and row.get("role") == "user":
        _user(sets, joined_texts(row.get("content")), native, "message/user")
    elif "type" in row and row["type"] in FLAT_ITEMS:
        _response_item(sets, row, native, paginated=False)
    else:
        sets.other["record_state" if "record_type" in row else f"other:{row.get('type', 'head')}"] += 1


def _event(sets: Sets, payload: Record, native: str, *, paginated: bool) -> None:
    """Read an event; a person's text is the event in legacy files and the completed item in paginated ones."""
    kind = as_text(payload.get("type"))
    if kind == "item_completed":
        _item(sets, as_dict(payload.get("item")), native, paginated=paginated)
    elif kind == "user_message" and payload.get("kind") in ("environment_context", "user_instructions"):
        sets.other[f"other:event_msg/user_message/{payload['kind']}"] += 1
    elif kind == "user_message" and not paginated:
        _user(sets, as_text(payload.get("message")), native, "event_msg/user_message")
    else:
        sets.other[f"event_msg/{kind}" if kind in REPEATED else f"other:event_msg/{kind}"] += 1


def _item(sets: Sets, item: Record, native: str, *, paginated: bool) -> None:
    kind = as_text(item.get("type"))
    label = f"event_msg/item_completed/{kind}"
    text = joined_texts(item.get("content"))
    if paginated and kind == "UserMessage":
        _user(sets, text, native, label)
    elif paginated and kind == "AgentMessage" and text.strip():
        sets.assistant(native, _shown(text))
    elif paginated and kind == "Reasoning" and (item.get("summary_text") or item.get("raw_content")):
        sets.other[f"other:{label}"] += 1
    else:
        sets.other[label if kind in REPEATED_ITEMS else f"other:{label}"] += 1


def _user(sets: Sets, text: str, native: str, label: str) -> None:
    """Count a text in the user's name; if an editor wrapped it, only the part after the last request heading.

    What another thread's agent delegates is one text, the input in its envelope.
    """
    *before, said = _REQUEST.split(text) if _CONTEXT.match(text) else [_INPUT.sub(r"\1", text)]
    if before and before[0].strip():
        sets.other["other:ide-context"] += 1
    if said.strip():
        sets.user(native, said)
    else:
        sets.other[f"{label}/empty-text"] += 1


def _response_item(sets: Sets, payload: Record, native: str, *, paginated: bool) -> None:
    kind = as_text(payload.get("type"))
    label = f"response_item/{kind}"
    if kind == "message":
        label += f"/{payload.get('role')}"
        text = joined_texts(payload.get("content"))
        if payload.get("role") == "assistant" and not paginated and text.strip():
            sets.assistant(native, _shown(text))
        else:
            sets.other[label] += 1
    elif kind == "reasoning":
        told = payload.get("summary") and not paginated
        sets.other[f"other:{label}" if told else label] += 1
    elif kind in CALLS:
        sets.call(*call_key(kind, payload, as_text(payload.get("name")), given_input(kind, payload)))
    elif kind.endswith("_output"):
        sets.result(as_text(payload.get("call_id")), result_text(kind, payload.get("output")))
    else:
        sets.other[label if kind == "ghost_snapshot" else f"other:{label}"] += 1


def call_key(kind: str, payload: Record, name: str, value: Any) -> tuple[str, str, Any]:
    """Return the key of a call; server-side calls have no call id, and most built-in ones no comparable name."""
    call_id = "" if kind in SERVER_SIDE else as_text(payload.get("call_id"))
    return call_id, "" if kind in UNNAMED else name, comparable(kind, value)


def given_input(kind: str, payload: Record) -> Any:
    """Return the input of the tool, wherever this kind of call keeps it."""
    if kind in ("local_shell_call", "web_search_call"):
        return payload.get("action")
    return payload.get("input") if kind == "custom_tool_call" else payload.get("arguments")


def comparable(kind: str, value: Any) -> Any:
    """Return arguments as parsed JSON, and free text without an object around it."""
    if kind == "image_generation_call":
        return {}
    if isinstance(value, str):
        try:
            parsed = json.loads(value)
        except ValueError:
            parsed = None
        value = parsed if isinstance(parsed, dict) else value
    if kind == "custom_tool_call" and isinstance(value, dict) and len(value) == 1:
        (inner,) = value.values()
        return comparable(kind, inner) if isinstance(inner, str) else value
    return value or {}


def result_text(kind: str, output: Any) -> str:
    """Return a result's string or the texts of its blocks; the content of a tool list is not compared."""
    if kind == "tool_search_output":
        return ""
    if isinstance(output, dict):
        output = output.get("text", output.get("content"))
    return _SCRIPT_HEAD.sub("", unwrapped(joined_texts(output)))


def unwrapped(text: str) -> str:
    """Return only the output if it is wrapped in JSON with an exit code, as in some versions."""
    if not text.startswith("{"):
        return text
    try:
        value = as_dict(json.loads(text))
    except ValueError:
        return text
    return value["output"] if "metadata" in value and isinstance(value.get("output"), str) else text

"""Codex: tool calls and their outputs."""

import re
from typing import Any, Final

from katod.agents.base import EventBuilder
from katod.agents.codex.edits import files_of
from katod.agents.codex.script import CODE_MODE, ScriptCall, calls_in
from katod.agents.codex.shell import PATCH_TOOL, patch_by_shell
from katod.agents.codex.text import images, joined
from katod.agents.fields import dict_of, dicts_of, int_or_none, list_of, milliseconds, text_of
from katod.agents.toolcalls import call_of, describe, family, one_line
from katod.tail.decode import loads

CALLS: Final = frozenset({
    "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call",
    "image_generation_call",
})  # fmt: skip
OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
QUESTION_TOOL: Final = "request_user_input"
_EXIT: Final = re.compile(r"(?:Process exited with code|Exit code:) (-?[0-9]{1,15})(?![0-9])")
_WALL: Final = re.compile(r"Wall time:? ([0-9]{1,15}(?:\.[0-9]{0,15})?) seconds")
# The first block of the output of a script. Its exit codes are not recorded, unless it prints the whole result.
_SCRIPT: Final = re.compile(
    r"Script ([a-z]{1,20})[^\n]{0,200}\nWall time ([0-9]{1,15}(?:\.[0-9]{0,15})?) seconds\nOutput:\n?"
)
_SCRIPT_ERROR: Final = "Script error:\n"
_PRINTED: Final = re.compile(
    r'\{"chunk_id":"[^"]{0,80}","wall_time_seconds":[0-9.e+-]{1,30},"exit_code":(-?[0-9]{1,10}),'
)
_HEAD: Final = 400
_LONGEST_STATUS: Final = 100
_MCP: Final = "mcp__"
_FAILED: Final = ("failed", "terminated")
# What the client itself answers for a call that it did not run. Only the first is in real sessions known to katod.
_NOT_RUN: Final = re.compile(
    r"(?P<failed>apply_patch verification failed: |patch rejected: )|"
    r"(?:(?P<denied>(?:exec command|patch) rejected by user)|aborted(?: by user after [0-9.]{1,20}s)?)\s*\Z"
)


def call_payload(payload: dict[str, Any], cwd: str) -> dict[str, Any]:
    """Translate a call. The arguments of function calls are a JSON string."""
    kind = text_of(payload.get("type"))
    name = text_of(payload.get("name")) or kind.removesuffix("_call")
    given = _arguments(payload, kind)
    if name == CODE_MODE and kind == "custom_tool_call" and isinstance(given, str):
        return {"toolCallId": call_id(payload)} | _script(given, cwd)
    if patch := patch_by_shell(name, given):
        return call_of(call_id(payload), PATCH_TOOL, patch, cwd) | {"native": {"name": name, "input": given}}
    space = text_of(payload.get("namespace"))
    row = call_of(call_id(payload), name, given, cwd, server_of(space))
    return row if not space or space.startswith(_MCP) else row | {"family": family(name)}


def call_id(payload: dict[str, Any]) -> str:
    """Return the id shared by a call and its output, empty if Codex wrote none."""
    return text_of(payload.get("call_id")) or text_of(payload.get("id"))


def output_payload(payload: dict[str, Any], new: EventBuilder) -> dict[str, Any]:
    """Translate an output; the builder keeps the data of its images."""
    text, shown = _output(payload, new)
    row: dict[str, Any] = {"toolCallId": text_of(payload.get("call_id")), "text": text}
    head = text[:_HEAD]
    if script := _SCRIPT.match(head):
        return row | _script_outcome(script, text) | ({"attachments": shown} if shown else {})
    if match := _EXIT.search(head):
        row["exitCode"] = int(match[1])
    if match := _WALL.search(head):
        row["durationMs"] = round(float(match[1]) * 1000)
    if head.startswith('{"output"'):
        row |= _old_metadata(text)
    if refused := _NOT_RUN.match(head):
        row |= _not_run(refused)
    return row | ({"attachments": shown} if shown else {})


def _not_run(match: re.Match[str]) -> dict[str, Any]:
    """Return the outcome of a call that was not run: refused by the client or by the user, or interrupted."""
    if match["failed"]:
        return {"isError": True}
    return {"isError": True, "denied": True} if match["denied"] else {"status": "interrupted"}


def finding(item: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the record of an execution adds to the result of its call."""
    row: dict[str, Any] = {}
    if (code := int_or_none(item.get("exit_code"))) is not None:
        row["exitCode"] = code
    duration = item.get("duration")
    if isinstance(duration, dict) and (passed := milliseconds(int_or_none(duration.get("secs")))) is not None:
        row["durationMs"] = passed + (int_or_none(duration.get("nanos")) or 0) // 1_000_000
    if isinstance(status := item.get("status"), str):
        row["status"] = status[:_LONGEST_STATUS]  # cut, because it is remembered until the result arrives
    result = dict_of(item.get("result"))
    if "Err" in result or result.get("isError") is True or item.get("success") is False:
        row["isError"] = True
    if files := files_of(item.get("changes")):
        row["structured"] = {"files": files}
    return row


def judged(row: dict[str, Any]) -> dict[str, Any]:
    """Mark a result as failed if its exit code or status says so."""
    if row.get("exitCode") or row.get("status") in _FAILED:
        row["isError"] = True
    if row.get("status") == "completed":
        del row["status"]
    return row


def prompts(call: str, arguments: Any) -> list[dict[str, Any]]:
    """Translate the questions of a `request_user_input` call."""
    return [_question(call, i, q) for i, q in enumerate(dicts_of(dict_of(arguments).get("questions")))]


def responses(call: str, output: str, labels: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Translate the answers: `{"answers": {id: {"answers": […]}}}` as a JSON string."""
    try:
        answers = dict_of(dict_of(loads(output)).get("answers"))
    except ValueError:
        return []
    out: list[dict[str, Any]] = []
    for key, row in answers.items():
        said = [str(answer) for answer in list_of(dict_of(row).get("answers"))]
        known = frozenset(labels.get(f"{call}:{key}") or said)
        words = ", ".join(answer for answer in said if answer not in known)
        chosen = [answer for answer in said if answer in known]
        out.append({"decisionId": f"{call}:{key}", "selections": chosen} | ({"freeText": words} if words else {}))
    return out


def server_of(name: str) -> str:
    """Return the server of a namespace, or of a whole name of a tool: `github` of `mcp__github__issues`."""
    return name.removeprefix(_MCP).partition("__")[0] if name.startswith(_MCP) else name


def _script(script: str, cwd: str) -> dict[str, Any]:
    """Translate a script of code mode: one written-out call as if it were made directly, others with the script."""
    calls = calls_in(script)
    if len(calls) == 1 and calls[0].plain:
        return _called(calls[0], cwd) | {"script": script}
    families = {family(call.name) for call in calls}
    row = {"name": CODE_MODE, "family": families.pop() if len(families) == 1 else family(CODE_MODE)}
    about = _about(calls, cwd) or describe(CODE_MODE, script)
    return row | ({"description": about} if about else {}) | {"input": script}


def _about(calls: list[ScriptCall], cwd: str) -> str:
    """Return what each call is about, on one line; nothing if one of them is not written out."""
    if not all(call.plain for call in calls):
        return ""
    return one_line("; ".join(_called(call, cwd).get("description") or call.name for call in calls))


def _called(call: ScriptCall, cwd: str) -> dict[str, Any]:
    row: dict[str, Any] = {"name": call.name, "family": family(call.name)}
    if call.name.startswith(_MCP):
        row["server"] = server_of(call.name)
    given = call.input if isinstance(call.input, dict | str) else {}
    if description := describe(call.name, given, cwd) or one_line(_first_text(call.input)):
        row["description"] = description
    return row | {"input": call.input}


def _first_text(value: Any) -> str:
    """Return the first text in an argument, such as the query in `{search_query: [{q: "…"}]}`."""
    if isinstance(value, str):
        return value
    parts = list(value.values()) if isinstance(value, dict) else list_of(value)
    return next(filter(None, map(_first_text, parts)), "")


def _script_outcome(head: re.Match[str], text: str) -> dict[str, Any]:
    """Translate the output of a script: what it printed, after the client's own first block."""
    said = text[head.end() :].removeprefix("\n")
    row: dict[str, Any] = {"durationMs": round(float(head[2]) * 1000)}
    if head[1] != "completed":
        row["status"] = head[1]
        said = said.removeprefix(_SCRIPT_ERROR)
    if found := _PRINTED.match(said):
        row["exitCode"] = int(found[1])
    return {"text": said} | row


def _question(call: str, index: int, question: dict[str, Any]) -> dict[str, Any]:
    key = text_of(question.get("id")) or str(index)
    options = [
        {k: o[k] for k in ("label", "description") if isinstance(o.get(k), str)}
        for o in dicts_of(question.get("options"))
    ]
    return {
        "decisionId": f"{call}:{key}",
        "decisionKey": text_of(question.get("header")) or key,
        "prompt": text_of(question.get("question")),
        "options": options,
    }


def _arguments(payload: dict[str, Any], kind: str) -> Any:
    if kind in {"local_shell_call", "web_search_call"}:
        return payload.get("action")
    if kind == "image_generation_call":
        return {"prompt": text_of(payload.get("revised_prompt"))}
    given = payload.get("arguments", payload.get("input"))
    if kind != "function_call" or not isinstance(given, str):
        return given
    try:
        return loads(given)
    except ValueError:
        return given


def _output(payload: dict[str, Any], new: EventBuilder) -> tuple[str, list[dict[str, Any]]]:
    output = payload.get("output")
    if isinstance(output, str):
        return output, []
    if output is None and "tools" in payload:
        names = [text_of(dict_of(tool).get("name")) for tool in list_of(payload.get("tools"))]
        return "\n".join(names), []
    blocks = [output] if isinstance(output, dict) else output
    return joined(blocks), [describe_image(kind, where, new) for kind, where in images(blocks)]


def describe_image(kind: str, where: str, new: EventBuilder, name: str = "") -> dict[str, Any]:
    """Describe an image by its data (a data URL), which the builder keeps, or by its name."""
    if where.startswith("data:"):
        head, _, data = where.partition(",")
        return new.attachment("image", head.removeprefix("data:").partition(";")[0], data, name)
    return {"type": "image" if "image" in kind else kind} | ({"name": where} if where else {})


def _old_metadata(text: str) -> dict[str, Any]:
    """Return the exit code and duration in the format of 2025: `{"output": …, "metadata": {"exit_code": 0, …}}`."""
    try:
        row = dict_of(dict_of(loads(text)).get("metadata"))
    except ValueError:
        return {}
    found = {"exitCode": code} if (code := int_or_none(row.get("exit_code"))) is not None else {}
    duration = milliseconds(row.get("duration_seconds"))
    return found | ({} if duration is None else {"durationMs": duration})

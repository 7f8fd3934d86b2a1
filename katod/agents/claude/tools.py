"""Claude Code: tool calls and results, spilled ones included, and the questions and answers among them."""

import os
import re
import stat
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from katod import events as ev
from katod.agents.protocol import dict_of, list_of, spelled, text_of
from katod.agents.tools import describe, family, words_of_refusal
from katod.events import Event
from katod.model import Record

if TYPE_CHECKING:
    from katod.agents.claude.adapter import Claude

SPILLED: Final = "<persisted-output>"
SPILL_CAP: Final = 4 * 1024 * 1024
_SPILL_PATH: Final = re.compile(r"saved to: (\S+)")
_EXIT: Final = re.compile(r"Exit code ([0-9]{1,15})\b")
_REJECTED: Final = "The user doesn't want to proceed with this tool use"
_DURATIONS: Final = ("durationMs", "totalDurationMs")
_MOST_REMEMBERED: Final = 16_384  # characters of the questions of one call, until they are answered
_MOST_OPTIONS: Final = 64  # far beyond what a person is shown
_ASKING: Final = ("ExitPlanMode", "AskUserQuestion")


def call(
    claude: "Claude", value: dict[str, Any], record: Record, block: dict[str, Any], n: int, model: str
) -> list[Event]:
    """Translate one tool call and the questions it asks."""
    name, call_id, given = text_of(block.get("name")), text_of(block.get("id")), block.get("input")
    arguments = given if isinstance(given, dict) else {}
    payload: dict[str, Any] = {"toolCallId": call_id, "name": name, "family": family(name)}
    if name.startswith("mcp__"):
        payload["server"] = name.split("__")[1]
    if description := describe(name, arguments, claude.now.get("cwd", "")):
        payload["description"] = description
    payload["input"] = given
    out = [claude.event(ev.TOOL_CALL, payload, value, record, n, model=model)]
    if call_id:
        remembered = claude.open_call(call_id, text_of(dict_of(value.get("message")).get("id")))
        if name in _ASKING:
            prompts = _prompts(claude, value, record, payload, n, remembered)
            out += [prompt._replace(model=model) for prompt in prompts]
    return out


def results(claude: "Claude", value: dict[str, Any], record: Record, block: dict[str, Any], n: int) -> list[Event]:
    """Translate one tool result, the answers it carries and the end of a sub-agent."""
    call_id = text_of(block.get("tool_use_id"))
    extra = value.get("toolUseResult")
    text, images = _text(claude, block.get("content"))
    if text.startswith(SPILLED):
        text = _unspill(claude, text, extra) or text
    payload = _outcome(block, text, extra, {"toolCallId": call_id, "text": text})
    if images:
        payload["attachments"] = images
    result = claude.event(ev.TOOL_RESULT, payload, value, record, n)
    out = [result._replace(blobs=claude.take_blobs()) if images else result]
    call = claude.close_call(call_id)
    if "plan" in call or isinstance(extra, dict):
        out += _answers(claude, value, record, call, payload, n)
        out += _agent(claude, value, record, dict_of(extra), n)
    return out


def _prompts(
    claude: "Claude", value: dict[str, Any], record: Record, call: dict[str, Any], n: int, open_call: dict[str, Any]
) -> list[Event]:
    """Translate the questions of a call (its payload); `open_call` remembers what its result will answer."""
    name, call_id, arguments = call["name"], call["toolCallId"], dict_of(call["input"])
    if name == "ExitPlanMode":
        open_call["plan"] = True
        plan = text_of(arguments.get("plan")) or "Ready to start with this plan?"
        payload: dict[str, Any] = {
            "decisionId": f"{call_id}:plan", "decisionKey": "plan", "prompt": plan, "options": []
        }  # fmt: skip
        return [claude.event(ev.DECISION_PROMPT, payload, value, record, f"{n}q0")]
    questions = [q for q in list_of(arguments.get("questions")) if isinstance(q, dict)]
    asked = [text_of(q.get("question")) for q in questions]
    labels = [[o["label"] for o in _options(q)] for q in questions]
    if len(spelled([asked, labels])) <= _MOST_REMEMBERED:
        open_call["questions"], open_call["labels"] = asked, labels
    return [
        claude.event(ev.DECISION_PROMPT, _question(q, f"{call_id}:{i}"), value, record, f"{n}q{i}")
        for i, q in enumerate(questions)
    ]


def _question(question: dict[str, Any], decision_id: str) -> dict[str, Any]:
    prompt = text_of(question.get("question"))
    key = text_of(question.get("header")) or prompt
    row = {"decisionId": decision_id, "decisionKey": key, "prompt": prompt, "options": _options(question)}
    return row | ({"multiSelect": True} if question.get("multiSelect") else {})


def _options(question: dict[str, Any]) -> list[dict[str, str]]:
    rows = [o for o in list_of(question.get("options")) if isinstance(o, dict)]
    names = ("label", "description")
    return [{k: o[k] for k in names if isinstance(o.get(k), str)} for o in rows if isinstance(o.get("label"), str)]


def _text(claude: "Claude", content: Any) -> tuple[str, list[dict[str, Any]]]:
    if isinstance(content, str):
        return content, []
    if isinstance(content, dict):
        content = [content]
    texts: list[str] = []
    images: list[dict[str, Any]] = []
    for block in list_of(content):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            texts.append(text_of(block.get("text")))
        elif kind in ("image", "document"):
            images.append(claude.image(block))
        elif kind == "tool_reference":
            texts.append(text_of(block.get("tool_name")))
        elif kind == "web_search_result":
            texts.append(f"{text_of(block.get('title'))} {text_of(block.get('url'))}".strip())
    return "\n".join(texts), images


def _outcome(block: dict[str, Any], text: str, extra: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Add to a result's payload how the call went."""
    if block.get("is_error") is True:
        row["isError"] = True
        if match := _EXIT.match(text):
            row["exitCode"] = int(match[1])
        if text.startswith(_REJECTED) or extra == "User rejected tool use":
            row["denied"] = True
    if isinstance(extra, dict):
        for key in _DURATIONS:
            if isinstance(duration := extra.get(key), int):
                row["durationMs"] = duration
                break
        if extra.get("interrupted") is True:
            row["status"] = "interrupted"
    return row


def _unspill(claude: "Claude", text: str, extra: Any) -> str:
    """Read a result that was too long for the session file; empty when its file is gone."""
    match = _SPILL_PATH.search(text)
    named = text_of(dict_of(extra).get("persistedOutputPath")) or (match[1] if match else "")
    name = PurePosixPath(named.replace("\\", "/")).name
    if not name or name.startswith("."):
        return ""
    here = claude.origin.path
    base = here.parent.parent if claude.origin.identity.key.subagent else here.parent / here.stem
    try:
        fd = os.open(base / "tool-results" / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        return os.pread(fd, SPILL_CAP, 0).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)


def _answers(
    claude: "Claude", value: dict[str, Any], record: Record, call: dict[str, Any], result: dict[str, Any], n: int
) -> list[Event]:
    call_id = result["toolCallId"]
    if call.get("plan"):
        chosen = "rejected" if result.get("isError") else "approved"
        payload = {"decisionId": f"{call_id}:plan", "selections": [chosen]}
        if said := words_of_refusal(result["text"]):
            payload["freeText"] = said
        return [claude.event(ev.DECISION_RESPONSE, payload, value, record, f"{n}a0")]
    extra = dict_of(value.get("toolUseResult"))
    answers = extra.get("answers")
    if not isinstance(answers, dict):
        return []
    asked = call.get("questions") or [
        text_of(q.get("question")) for q in list_of(extra.get("questions")) if isinstance(q, dict)
    ]
    numbers = {question: n for n, question in reversed(list(enumerate(asked)))}
    out: list[Event] = []
    for question, answer in answers.items():
        index = numbers.get(question, len(out))
        labels = call["labels"][index] if index < len(call.get("labels", [])) else None
        payload = {"decisionId": f"{call_id}:{index}"} | _selections(answer, labels)
        out.append(claude.event(ev.DECISION_RESPONSE, payload, value, record, f"{n}a{index}"))
    return out


def _selections(answer: Any, labels: list[str] | None) -> dict[str, Any]:
    """Read an answer: the labels that were chosen, or the person's own words."""
    if isinstance(answer, list):
        return {"selections": [str(part) for part in answer]}
    text = str(answer)
    if labels is None or text in labels:
        return {"selections": [text]}
    chosen: list[str] = []
    longest_first = sorted(labels, key=len, reverse=True) if len(labels) <= _MOST_OPTIONS else []
    at = 0
    while len(chosen) < _MOST_OPTIONS and (
        label := next((name for name in longest_first if text.startswith(name, at)), "")
    ):
        chosen.append(label)
        at += len(label)
        at += 2 * text.startswith(", ", at)
    return {"selections": chosen} if chosen and at == len(text) else {"selections": [], "freeText": text}


def _agent(claude: "Claude", value: dict[str, Any], record: Record, extra: dict[str, Any], n: int) -> list[Event]:
    subagent, status = text_of(extra.get("agentId")), text_of(extra.get("status"))
    if not subagent or not status:
        return []
    if status == "async_launched":
        payload = {"subagent": subagent} | ({"task": extra["description"]} if extra.get("description") else {})
        return [claude.event(ev.AGENT_START, payload, value, record, f"{n}s")]
    return [claude.event(ev.AGENT_END, {"subagent": subagent, "status": status}, value, record, f"{n}s")]

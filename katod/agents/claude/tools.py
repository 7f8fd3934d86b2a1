"""Claude Code: tool calls and results, including spilled ones, and questions and answers."""

import os
import re
import stat
from pathlib import PurePosixPath
from typing import Any, Final

from katod import events as ev
from katod.agents.base import Origin
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.claude.edits import git_operation, structured
from katod.agents.claude.places import SPILLED
from katod.agents.claude.tasks import LAUNCHED
from katod.agents.fields import dict_of, dicts_of, int_or_none, milliseconds, safe_repr, text_of, texts_in
from katod.agents.toolcalls import OpenCalls, describe, family, words_of_refusal
from katod.events import Event
from katod.model import LONGEST_NAME, Record

SPILL_CAP: Final = 4 * 1024 * 1024
_SPILL_PATH: Final = re.compile(r"saved to: (\S+)")
_EXIT: Final = re.compile(r"Exit code ([0-9]{1,15})\b")
_REJECTED: Final = "The user doesn't want to proceed with this tool use"
# What the calls beside a refused one get: nobody was asked about them, or the user left the client before.
_LEFT: Final = "The user doesn't want to take this action"
_BY_PERSON: Final = (
    "user-rejected"  # the kind of a denial, from 2.1.3xx on; others are those of rules and of the client
)
_INTERRUPTED: Final = "interrupted"
_DURATIONS: Final = (
    ("durationMs", int_or_none), ("totalDurationMs", int_or_none), ("durationSeconds", milliseconds),
)  # fmt: skip
_MOST_REMEMBERED: Final = 16_384  # characters of the questions of one call, until they are answered
_MOST_OPTIONS: Final = 64  # far more than a person is ever shown
_ASKING: Final = ("ExitPlanMode", "AskUserQuestion")


class Tools:
    """Translates calls and results; what a result needs to know about its call is remembered until it arrives."""

    def __init__(self, new: ClaudeBuilder, calls: OpenCalls[dict[str, Any]], origin: Origin) -> None:
        self._new = new
        self._calls = calls
        self._origin = origin

    def call(self, record: Record, block: dict[str, Any], n: int, model: str) -> list[Event]:
        """Translate one tool call and the questions it asks."""
        name, call_id, given = text_of(block.get("name")), text_of(block.get("id")), block.get("input")
        payload: dict[str, Any] = {"toolCallId": call_id, "name": name, "family": family(name)}
        if name.startswith("mcp__"):
            payload["server"] = name.split("__")[1]
        if description := describe(name, dict_of(given), self._new.now.get("cwd", "")):
            payload["description"] = description
        payload["input"] = given
        out = [self._new.event(ev.TOOL_CALL, payload, record, n, model=model)]
        if call_id:
            message = text_of(dict_of(record.value.get("message")).get("id"))
            known: dict[str, Any] = {"message": message[:LONGEST_NAME]}
            self._calls.replace(call_id, known)
            if name in _ASKING:
                prompts = _prompts(payload, known)
                out += [self._new.event(ev.DECISION_PROMPT, q, record, f"{n}{i}", model=model) for i, q in prompts]
        return out

    def results(self, record: Record, block: dict[str, Any], n: int) -> list[Event]:
        """Translate one tool result, with the answers in it and the end of a sub-agent."""
        call_id = text_of(block.get("tool_use_id"))
        extra = record.value.get("toolUseResult")
        text, images = self._content(block.get("content"))
        if text.startswith(SPILLED):
            text = _unspill(self._origin, text, extra) or text
        payload = _outcome(block, text, extra, {"toolCallId": call_id, "text": text})
        if payload.get("isError"):
            payload = _refused(payload, record.value)
        if images:
            payload["attachments"] = images
        out = [self._new.event(ev.TOOL_RESULT, payload, record, n)]
        call = self._calls.close(call_id) or {}
        if isinstance(extra, dict) or "plan" in call:
            row = dict_of(extra)
            for i, answer in _answers(call, payload, row):
                out.append(self._new.event(ev.DECISION_RESPONSE, answer, record, f"{n}a{i}"))
            out += self._agent(record, row, n)
        return out

    def _content(self, content: Any) -> tuple[str, list[dict[str, Any]]]:
        if isinstance(content, str):
            return content, []
        texts: list[str] = []
        images: list[dict[str, Any]] = []
        for block in dicts_of([content] if isinstance(content, dict) else content):
            if block.get("type") in ("image", "document"):
                images.append(self._new.image(block))
            elif (text := _text(block)) is not None:
                texts.append(text)
        return "\n".join(texts), images

    def _agent(self, record: Record, extra: dict[str, Any], n: int) -> list[Event]:
        subagent, status = text_of(extra.get("agentId")), text_of(extra.get("status"))
        if not subagent or not status:
            return []
        if status == LAUNCHED:
            about = texts_in({"task": extra.get("description"), "model": extra.get("resolvedModel")})
            payload = {"subagent": subagent} | about
            return [self._new.event(ev.AGENT_START, payload, record, f"{n}s")]
        return [self._new.event(ev.AGENT_END, {"subagent": subagent, "status": status}, record, f"{n}s")]


def _prompts(call: dict[str, Any], known: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the parts and payloads of a call's questions; what its result will answer is added to `known`."""
    name, call_id, arguments = call["name"], call["toolCallId"], dict_of(call["input"])
    if name == "ExitPlanMode":
        known["plan"] = True
        plan = text_of(arguments.get("plan")) or "Ready to start with this plan?"
        return [("q0", {"decisionId": f"{call_id}:plan", "decisionKey": "plan", "prompt": plan, "options": []})]
    questions = dicts_of(arguments.get("questions"))
    asked = [text_of(q.get("question")) for q in questions]
    labels = [[o["label"] for o in _options(q)] for q in questions]
    if len(safe_repr([asked, labels])) <= _MOST_REMEMBERED:
        known["questions"], known["labels"] = asked, labels
    return [(f"q{i}", _question(q, f"{call_id}:{i}")) for i, q in enumerate(questions)]


def _question(question: dict[str, Any], decision_id: str) -> dict[str, Any]:
    prompt = text_of(question.get("question"))
    key = text_of(question.get("header")) or prompt
    row = {"decisionId": decision_id, "decisionKey": key, "prompt": prompt, "options": _options(question)}
    return row | ({"multiSelect": True} if question.get("multiSelect") else {})


def _options(question: dict[str, Any]) -> list[dict[str, str]]:
    rows = [o for o in dicts_of(question.get("options")) if isinstance(o.get("label"), str)]
    return [{k: o[k] for k in ("label", "description") if isinstance(o.get(k), str)} for o in rows]


def _text(block: dict[str, Any]) -> str | None:
    """Return the text of a block of a result, None if it has none."""
    kind = block.get("type")
    if kind == "text":
        return text_of(block.get("text"))
    if kind == "tool_reference":
        return text_of(block.get("tool_name"))
    if kind == "web_search_result":
        return f"{text_of(block.get('title'))} {text_of(block.get('url'))}".strip()
    return None


def _outcome(block: dict[str, Any], text: str, extra: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Add the outcome of the call to the payload of its result."""
    if block.get("is_error") is True:
        row["isError"] = True
        if match := _EXIT.match(text):
            row["exitCode"] = int(match[1])
    if isinstance(extra, dict):
        _measured(extra, row)
        if extra.get("interrupted") is True:
            row["status"] = "interrupted"
        elif extra.get("status") == LAUNCHED:
            row["status"] = "launched"
        elif int_or_none(extra.get("timedOutAfterMs")) is not None:
            row["status"] = "timeout"
    return row


def _refused(payload: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Return a failed result as one that the user declined, or whose call they left, if it is one of these."""
    kind, text = text_of(fields.get("toolDenialKind")), payload["text"]
    if kind == _INTERRUPTED or (not kind and text.startswith(_LEFT)):
        return {name: value for name, value in payload.items() if name != "isError"} | {"status": "interrupted"}
    if _is_declined(kind, text, fields):
        return payload | {"denied": True}
    return payload | ({"code": kind[:LONGEST_NAME]} if kind else {})  # which rule denied it, or why nobody decided


def _is_declined(kind: str, text: str, fields: dict[str, Any]) -> bool:
    """Return whether the user declined a call: the client's own mark decides, before there was one its words."""
    if kind:
        return kind == _BY_PERSON and fields.get("toolDenialFromHost") is not True
    return text.startswith(_REJECTED) or fields.get("toolUseResult") == "User rejected tool use"


def _measured(extra: dict[str, Any], row: dict[str, Any]) -> None:
    """Add how long a call took, its exit code, and what it changed, as far as they are recorded."""
    for key, in_milliseconds in _DURATIONS:
        if key in extra and (duration := in_milliseconds(extra[key])) is not None:
            row["durationMs"] = duration
            break
    if "exitCode" in extra and (code := int_or_none(extra["exitCode"])) is not None:
        row["exitCode"] = code
    known = structured(extra) if "structuredPatch" in extra else {}
    if "gitOperation" in extra and (done := git_operation(extra)):
        known["git"] = done
    if known:
        row["structured"] = known


def _unspill(origin: Origin, text: str, extra: Any) -> str:
    """Return a result too long for the session file, from the main session's folder; empty if it no longer exists."""
    match = _SPILL_PATH.search(text)
    named = text_of(dict_of(extra).get("persistedOutputPath")) or (match[1] if match else "")
    name = PurePosixPath(named.replace("\\", "/")).name
    if not name or name.startswith("."):
        return ""
    here = origin.path
    base = here.parent.parent if origin.identity.key.subagent else here.parent / here.stem
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


def _answers(call: dict[str, Any], result: dict[str, Any], extra: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the answers in a result, each with the number of its question."""
    call_id = result["toolCallId"]
    if call.get("plan"):
        return _verdict(call_id, result)
    answers = extra.get("answers")
    if not isinstance(answers, dict):
        return []
    asked = call.get("questions") or [text_of(q.get("question")) for q in dicts_of(extra.get("questions"))]
    numbers = {question: n for n, question in reversed(list(enumerate(asked)))}
    out: list[tuple[int, dict[str, Any]]] = []
    for question, answer in answers.items():
        index = numbers.get(question, len(out))
        labels = call["labels"][index] if index < len(call.get("labels", [])) else None
        out.append((index, {"decisionId": f"{call_id}:{index}"} | _selections(answer, labels)))
    return out


def _verdict(call_id: str, result: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Return the answer to a plan, none if its call failed or the user left it."""
    if not (result.get("denied") or ev.went_well(result)):
        return []
    payload = {"decisionId": f"{call_id}:plan", "selections": ["rejected" if result.get("denied") else "approved"]}
    said = words_of_refusal(result["text"])
    return [(0, payload | ({"freeText": said} if said else {}))]


def _selections(answer: Any, labels: list[str] | None) -> dict[str, Any]:
    """Return an answer as selected labels, or as the user's own text."""
    if isinstance(answer, list):
        return {"selections": [str(part) for part in answer]}
    text = str(answer)
    if labels is None or text in labels:
        return {"selections": [text]}
    chosen, at = _labels_in(text, labels)
    return {"selections": chosen} if chosen and at == len(text) else {"selections": [], "freeText": text}


def _labels_in(text: str, labels: list[str]) -> tuple[list[str], int]:
    """Return the labels that a text begins with, joined by commas, and where they end."""
    chosen: list[str] = []
    longest_first = sorted(labels, key=len, reverse=True) if len(labels) <= _MOST_OPTIONS else []
    at = 0
    while len(chosen) < _MOST_OPTIONS and (
        label := next((name for name in longest_first if text.startswith(name, at)), "")
    ):
        chosen.append(label)
        at += len(label)
        at += 2 * text.startswith(", ", at)
    return chosen, at

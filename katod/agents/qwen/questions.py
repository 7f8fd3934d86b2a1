"""Qwen Code: what `ask_user_question` and `exit_plan_mode` ask, and the answers. Pure."""

from typing import Any, Final

from katod import events as ev
from katod.agents.fields import dicts_of, list_of, safe_repr, text_of
from katod.agents.toolcalls import answer_of, question_of

_QUESTIONS: Final = "ask_user_question"
_PLAN: Final = "exit_plan_mode"
_MOST_REMEMBERED: Final = 16_384  # characters of the questions of one call, until it is answered
Value = dict[str, Any]


def asked_by(name: str, call: str, given: Value) -> list[Value]:
    """Return the questions of a call, empty if its tool asks none."""
    if name == _PLAN:
        return [question_of(f"{call}:plan", "plan", text_of(given.get("plan")), [], several=False)]
    rows = dicts_of(given.get("questions")) if name == _QUESTIONS else []
    return [_question(row, f"{call}:{i}") for i, row in enumerate(rows)]


def _question(row: Value, decision: str) -> Value:
    header, prompt = text_of(row.get("header")), text_of(row.get("question"))
    return question_of(decision, header, prompt, row.get("options"), several=row.get("multiSelect") is True)


def remembered(call: Value, asked: list[Value]) -> Value:
    """Return what the result of a call needs to know of its questions, nothing if that is very long."""
    names = ("decisionId", "prompt", "options")
    rows = [{name: question[name] for name in names} for question in asked]
    if call["name"] == _PLAN:
        rows = [row | {"prompt": ""} for row in rows]
    return {"asked": rows} if rows and len(safe_repr(rows)) <= _MOST_REMEMBERED else {}


def answers_in(asked: list[Value], result: Value, display: Value) -> list[Value]:
    """Return the answers to the questions of a call, none if the person left them unanswered."""
    if asked and asked[0]["decisionId"].endswith(":plan"):
        return _verdict(asked[0], result)
    answers = {text_of(row.get("question")): row.get("answer") for row in dicts_of(display.get("answers"))}
    return [answer_of(row, _chosen(row, answers[row["prompt"]])) for row in asked if row["prompt"] in answers]


def _verdict(question: Value, result: Value) -> list[Value]:
    if not (result.get("denied") or ev.went_well(result)):
        return []
    chosen = "rejected" if result.get("denied") else "approved"
    return [{"decisionId": question["decisionId"], "selections": [chosen]}]


def _chosen(question: Value, answer: Any) -> list[str]:
    """Return the parts of an answer: labels, joined by commas if there are several, or the person's own words."""
    if isinstance(answer, list):
        return [str(part) for part in list_of(answer)]
    text, labels = str(answer), {option["label"] for option in question["options"]}
    parts = text.split(", ")
    return parts if labels.issuperset(parts) else [text]

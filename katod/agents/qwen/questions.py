"""Qwen Code: what `ask_user_question` and `exit_plan_mode` ask, and the answers. Pure."""

from typing import Any, Final

from katod.agents.fields import dicts_of, text_of
from katod.agents.toolcalls import answer_of, question_of, questions_of, verdict_of

_QUESTIONS: Final = "ask_user_question"
_PLAN: Final = "exit_plan_mode"
Value = dict[str, Any]


def asked_by(name: str, call: str, given: Value) -> list[Value]:
    """Return the questions of a call, empty if its tool asks none."""
    if name == _PLAN:
        return [question_of(f"{call}:plan", "plan", text_of(given.get("plan")), [], several=False)]
    return questions_of(call, given) if name == _QUESTIONS else []


def answers_in(asked: list[Value], result: Value, display: Value) -> list[Value]:
    """Return the answers to the questions of a call, none if the user left them unanswered."""
    if asked and asked[0]["decisionId"].endswith(":plan"):
        return verdict_of(asked[0], result)
    answers = {text_of(row.get("question")): row.get("answer") for row in dicts_of(display.get("answers"))}
    return [answer_of(row, _chosen(row, answers[row["prompt"]])) for row in asked if row["prompt"] in answers]


def _chosen(question: Value, answer: Any) -> list[str]:
    """Return the parts of an answer: labels, joined by commas if there are several, or the user's own words."""
    if isinstance(answer, list):
        return [str(part) for part in answer]
    text, labels = str(answer), {option["label"] for option in question["options"]}
    parts = text.split(", ")
    return parts if labels.issuperset(parts) else [text]

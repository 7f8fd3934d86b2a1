"""What Copilot CLI's `ask_user` and `exit_plan_mode` ask, and the answers. Pure."""

import re
from typing import Any, Final

from katod.agents.fields import dict_of, dicts_of, list_of, safe_repr, text_of
from katod.agents.toolcalls import answer_of, question_of
from katod.model import LONGEST_NAME

_QUESTION: Final = "ask_user"
_PLAN: Final = "exit_plan_mode"
# How an answer begins in the result of a question, in all versions.
_ANSWERED: Final = re.compile(r"User (?:selected|responded): ?")
# The result of a plan that was not approved; without words of the user, the client has these.
_REFUSED: Final = re.compile(r"Plan not approved\. User feedback:\n\n(.*?)\n\nPlease update the plan", re.DOTALL)
_NO_WORDS: Final = "User requested changes but did not provide specific feedback."
_MOST_REMEMBERED: Final = 16_384  # characters of the answers that one call offers, until it is answered


def asked_by(name: str, call: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions of a call, empty if its tool asks none."""
    if name == _PLAN:
        plan = text_of(given.get("summary")) or "Ready to start with this plan?"
        return [question_of(f"{call}:plan", "plan", plan, [], several=False)]
    return _questions(call, given) if name == _QUESTION else []


def chosen(call: str, response: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the answers in what a person responded, by their questions. Why a plan was refused, its result says."""
    if response.get("responseKind") != _PLAN:
        values = dict_of(response.get("content"))
        return {f"{call}:{name}": {"chosen": _texts(value)} for name, value in values.items()}
    action = text_of(response.get("selectedAction"))
    words = ["approved", *([action] if action else [])] if response.get("approved") is True else []
    return {f"{call}:plan": {"chosen": words}}


def response_to(question: dict[str, Any], given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the answer to a question, none to a plan that was not approved."""
    decision, words = question["decisionId"], given["chosen"]
    if decision.endswith(":plan"):
        return [{"decisionId": decision, "selections": words}] if words else []
    return [answer_of(question, words)]


def answer_in(asked: list[dict[str, Any]], result: str) -> list[dict[str, Any]]:
    """Return the answer that the result of a call has to its first question, none if there is no such answer."""
    if asked and (refused := _REFUSED.match(result)):
        words = {"freeText": refused[1].strip()} if refused[1].strip() not in ("", _NO_WORDS) else {}
        return [{"decisionId": asked[0]["decisionId"], "selections": ["rejected"]} | words]
    answer = _ANSWERED.match(result) if asked else None
    return [answer_of(asked[0], [result[answer.end() :]])] if answer else []


def _questions(call: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the questions of a call: one for each field of a form, or a single one, with or without choices."""
    text = text_of(given.get("message")) or text_of(given.get("question"))
    fields = dict_of(dict_of(given.get("requestedSchema")).get("properties"))
    if not fields:
        options = [{"label": choice} for choice in list_of(given.get("choices"))]
        return [question_of(f"{call}:0", "", text, options, several=False)]
    return [_field(call, name, dict_of(field), text, alone=len(fields) == 1) for name, field in fields.items()]


def _field(call: str, name: str, field: dict[str, Any], text: str, *, alone: bool) -> dict[str, Any]:
    """Return the question that a field of a form asks, as JSON Schema describes it."""
    key = text_of(field.get("title")) or name
    items = dict_of(field.get("items")) or field
    titled = [{"label": row.get("title") or row.get("const")} for row in dicts_of(items.get("oneOf"))]
    options = titled or [{"label": value} for value in list_of(items.get("enum"))]
    prompt = text if alone else f"{text}\n\n{text_of(field.get('description')) or key}"
    return question_of(f"{call}:{name}", key, prompt, options, several=field.get("type") == "array")


def remembered(asked: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what answers need to know of their questions, without the options if there are very many."""
    rows = [{"decisionId": question["decisionId"], "options": question["options"]} for question in asked]
    if len(safe_repr(rows)) > _MOST_REMEMBERED:
        rows = [row | {"options": []} for row in rows[:1] if len(row["decisionId"]) <= LONGEST_NAME]
    return {"asked": rows} if rows else {}


def _texts(value: Any) -> list[str]:
    """Return the values that were chosen in one field of a form."""
    return [str(part) for part in value] if isinstance(value, list) else [str(value)]

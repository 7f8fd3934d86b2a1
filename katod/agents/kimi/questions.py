"""Kimi Code: what `AskUserQuestion` and `ExitPlanMode` ask, and the answers. Pure."""

from typing import Any, Final

from katod.agents.fields import dict_of, list_of, text_of
from katod.agents.toolcalls import answer_of, question_of, questions_of, verdict_of
from katod.tail.decode import loads

_QUESTIONS: Final = "AskUserQuestion"
_PLAN: Final = "ExitPlanMode"
Value = dict[str, Any]


def asked_by(event: Value, call: str) -> list[Value]:
    """Return the questions of a call, empty if its tool asks none. A plan is beside the arguments, or one of them."""
    name, given = event.get("name"), dict_of(event.get("args"))
    if name == _QUESTIONS:
        return questions_of(call, given, several="multi_select")
    plan = text_of(dict_of(event.get("display")).get("plan")) or text_of(given.get("plan")) if name == _PLAN else ""
    return [question_of(f"{call}:plan", "plan", plan, [], several=False)] if plan else []


def answers_in(asked: list[Value], result: Value) -> list[Value]:
    """Return the answers in the result of a question, `{"answers": {question: answer}}`, or what became of a plan."""
    if not asked:
        return []
    if asked[0]["decisionId"].endswith(":plan"):
        return verdict_of(asked[0], result)
    try:
        answers = dict_of(dict_of(loads(result["text"])).get("answers"))
    except ValueError:
        return []
    given = [(row, answers[row["prompt"]]) for row in asked if row["prompt"] in answers]
    return [answer_of(row, [str(part) for part in list_of(chosen) or [chosen]]) for row, chosen in given]

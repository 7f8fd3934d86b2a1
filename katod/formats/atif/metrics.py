"""ATIF: the tokens and costs of answers, and their sums. Pure."""

from typing import Any, Final

from katod.agents.answers import Answers
from katod.formats.usage import completion_tokens, cost, count, prompt_tokens

# The names of the counts in a step, and of their sums in the document.
_TOTALS: Final = {name: f"total_{name}" for name in ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")}
_PLACES: Final = 10  # decimals of a sum of costs: more are traces of binary arithmetic
Metrics = dict[str, Any]


def metrics_of(payload: dict[str, Any], answers: Answers) -> Metrics:
    """Return the metrics of a usage, without what is not recorded.

    In ATIF, prompt tokens include those read from and written to the cache, and completion tokens the reasoning.
    """
    row: dict[str, float | None] = {
        "prompt_tokens": prompt_tokens(payload, answers),
        "completion_tokens": completion_tokens(payload, answers),
        "cached_tokens": count(payload, "cacheRead"),
        "cost_usd": cost(payload),
    }
    kept: Metrics = {name: value for name, value in row.items() if value is not None}
    return kept | ({"extra": more} if (more := _more(payload)) else {})


def _more(payload: dict[str, Any]) -> Metrics:
    """Return the counts that ATIF has no field for; the first two under the names that its readers look for."""
    own = {name: count(payload, name) for name in ("total", "contextLimit")}
    row = {
        "reasoning_tokens": count(payload, "reasoning"),
        "cache_creation_input_tokens": count(payload, "cacheWrite"),
        "katod": {name: value for name, value in own.items() if value is not None},
    }
    return {name: value for name, value in row.items() if value is not None and value != {}}


def added(one: Metrics, other: Metrics) -> Metrics:
    """Return the sum of two metrics; what only one of them has is kept."""
    both = {name: _sum(one.get(name), other.get(name)) for name in (*_TOTALS, "extra")}
    return {name: value for name, value in both.items() if value is not None}


def _sum(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    if not isinstance(one, dict):
        return round(one + other, _PLACES) if isinstance(one + other, float) else one + other
    counts = {name: _sum(one.get(name), other.get(name)) for name in {**one, **other} if name != "katod"}
    return counts | ({"katod": other["katod"]} if "katod" in other else {})


def _larger(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _larger(used, other.get(name)) for name, used in one.items()}
    return max(one, other) if isinstance(one, int) and isinstance(other, int) else one


class Totals:
    """What a trajectory used: as its agent says of all of it so far, and the sum over answers, or turns, since then."""

    def __init__(self) -> None:
        self._by_scope: dict[str, Metrics] = {}
        self._answers: Metrics = {}

    def add(self, scope: str, metrics: Metrics) -> None:
        """Count the metrics of an answer (`message`) or a turn; those of the `session` replace all before.

        Unless they are less than those of the answers: what a client used that was killed is in no sum.
        """
        if scope == "session":
            self._by_scope = {scope: {name: _larger(used, self._answers.get(name)) for name, used in metrics.items()}}
            return
        self._by_scope[scope] = added(self._by_scope.get(scope, {}), metrics)
        if scope == "message":
            self._answers = added(self._answers, metrics)

    def row(self, steps: int) -> Metrics:
        """Return the final metrics."""
        known = self._by_scope
        later = known.get("message") or known.get("turn") or {}
        metrics = added(known["session"], later) if "session" in known else later
        row = {_TOTALS[name]: value for name, value in metrics.items() if name in _TOTALS} | {"total_steps": steps}
        extra = {name: value for name, value in metrics.get("extra", {}).items() if name != "katod"}
        return row | ({"extra": {f"total_{name}": value for name, value in extra.items()}} if extra else {})

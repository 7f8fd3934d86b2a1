"""The tokens and costs of a session: each event's own, and their sums. Pure."""

from typing import Any, Final

from katod.agents.answers import Answers
from katod.formats.matrix.values import Content, integer, money
from katod.formats.usage import completion_tokens, count

Counts = dict[str, Any]
_NAMES: Final = (
    ("input", "input_tokens"), ("output", "output_tokens"), ("cacheRead", "cache_read_input_tokens"),
    ("cacheWrite", "cache_creation_input_tokens"),
)  # fmt: skip
_CUMULATIVE: Final = (
    ("input_tokens", "cumulative_input_tokens"), ("output_tokens", "cumulative_output_tokens"),
    ("cache_read_input_tokens", "cumulative_cache_read_tokens"),
)  # fmt: skip
_TOTAL: Final = (("input_tokens", "total_input_tokens"), ("output_tokens", "total_output_tokens"))
CURRENCY: Final = "USD"


def counts_of(payload: Content, answers: Answers) -> Counts:
    """Return the counts of a usage as Claude counts: input without the cache, output with the thinking."""
    given = {name: known for name, _ in _NAMES if (known := count(payload, name)) is not None}
    if answers.input_has_cached and "input" in given:
        given["input"] = max(0, given["input"] - given.get("cacheRead", 0) - given.get("cacheWrite", 0))
    if (output := completion_tokens(payload, answers)) is not None:
        given["output"] = output
    return {key: given[name] for name, key in _NAMES if integer(given.get(name)) is not None}


class Sums:
    """What a session used: what its agent says of all of it, else the sum over messages, else over turns."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._by_scope: dict[str, Counts] = state.get("scopes", {})
        self._index: int = state.get("index", 0)
        self._grown: bool = state.get("grown", False)

    def state(self) -> dict[str, Any]:
        """Return the sums as JSON."""
        row = {"scopes": self._by_scope, "index": self._index, "grown": self._grown}
        return {name: value for name, value in row.items() if value}

    def add(self, payload: Content, answers: Answers) -> None:
        """Count a usage; that of the whole session replaces the ones before."""
        scope, new = str(payload.get("scope")), counts_of(payload, answers)
        if money(payload.get("costUsd")):
            new["cost"] = payload["costUsd"]
        before = {} if scope == "session" else self._by_scope.get(scope, {})
        self._by_scope[scope] = before | {name: before.get(name, 0) + used for name, used in new.items()}
        self._grown = self._grown or bool(new)

    def checkpoint(self) -> Content:
        """Return the sums so far with the number of the checkpoint, empty if nothing was used since the last one."""
        if not self._grown:
            return {}
        self._grown, self._index = False, self._index + 1
        return {"checkpoint_index": self._index} | self._named(_CUMULATIVE, "cumulativeCost")

    def totals(self) -> Content:
        """Return the sums for the end of the session."""
        return self._named(_TOTAL, "totalCost")

    def _named(self, names: tuple[tuple[str, str], ...], cost: str) -> Content:
        known = self._by_scope
        best = known.get("session") or known.get("message") or known.get("turn") or {}
        row: Content = {key: used for name, key in names if (used := integer(best.get(name))) is not None}
        amount = money((known.get("session") or {}).get("cost", best.get("cost")))
        return row | ({cost: amount, "currency": CURRENCY} if amount else {})

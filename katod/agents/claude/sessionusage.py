"""Claude Code: what a session used, as its processes say (`cost-state`, since 2.1.330; measured at 2.1.332).

A process writes a sum over all models when it leaves the session, and may write it again. One that goes on with the
session counts on from the last sum in the file, and keeps its `startTime`. If there is none, because the last process
was killed or still runs, it counts from 0, from a start of its own: the session used the sum of both.
"""

from typing import Any, Final

from katod.agents.fields import cost_or_none, dict_of, int_or_none, text_of, texts_in
from katod.model import Record

_COUNTS: Final = (
    ("input", "inputTokens"),
    ("output", "outputTokens"),
    ("cacheRead", "cacheReadInputTokens"),
    ("cacheWrite", "cacheCreationInputTokens"),
    ("cacheWrite1h", "cacheCreationEphemeral1hInputTokens"),
    ("reasoning", "thinkingTokens"),
)
_USED: Final = tuple(name for name, _ in _COUNTS[:4])  # no token is in two of these
_OLDEST: Final = "oldest"  # instead of a start: the sum of all earlier ones
_MOST: Final = 16  # starts with a sum of their own

Usage = dict[str, Any]


class SessionUsage:
    """The sums of a session by the start that they were counted from, the latest one last."""

    __slots__ = ("_new", "_sums")

    def __init__(self, kept: dict[str, Any] | None = None) -> None:
        """Start with nothing, or go on from `state()`."""
        kept = kept or {}
        self._sums: dict[str, Usage] = dict(kept.get("sums", {}))
        self._new: list[Any] = kept.get("new", [])  # where the record is that said something new, and its time

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON: times, numbers and names of models; empty at the beginning."""
        row = {"sums": dict(self._sums)} if self._sums else {}
        return row | ({"new": self._new} if self._new else {})

    def take(self, record: Record) -> None:
        """Take a sum; one that is less than an earlier one from the same start is that of a process beside it."""
        start, new = str(int_or_none(record.value.get("startTime"))), _usage(record.value)
        known = self._sums.get(start)
        if not new or new == known or (known is not None and _total(new) < _total(known)):
            return
        self._new = [record.offset, text_of(record.value.get("timestamp"))]
        self._sums.pop(start, None)
        self._sums[start] = new
        if len(self._sums) > _MOST:
            first, second = (self._sums.pop(name) for name in [*self._sums][:2])
            self._sums = {_OLDEST: _plus(first, second), **self._sums}

    def give(self) -> tuple[Record, Usage] | None:
        """Return the payload for the whole session so far, once, and a record to name it after; None without news."""
        if not self._new:
            return None
        (at, time), self._new = self._new, []
        whole: Usage = {}
        for one in self._sums.values():
            whole = _plus(whole, one) if whole else one
        return Record(at, {"type": "cost-state"} | texts_in({"timestamp": time})), {"scope": "session"} | whole


def _total(usage: Usage) -> int:
    return sum(usage.get(name, 0) for name in _USED)


def _usage(fields: dict[str, Any]) -> Usage:
    """Return a sum over all models, empty if there is none."""
    models = {name: row for name, row in dict_of(fields.get("modelUsage")).items() if isinstance(row, dict)}
    return _counts(list(models.values())) | _costs(fields, models) if models else {}


def _counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    counts = {name: [n for row in rows if (n := int_or_none(row.get(key))) is not None] for name, key in _COUNTS}
    return _within({name: sum(found) for name, found in counts.items() if found})


def _within(sums: dict[str, int]) -> dict[str, int]:
    """Return the sums that JSON can hold; few sessions have one of what is cached for an hour."""
    known = {name: count for name, count in sums.items() if int_or_none(count) is not None}
    return {name: count for name, count in known.items() if count or name != "cacheWrite1h"}


def _costs(fields: dict[str, Any], models: dict[str, dict[str, Any]]) -> Usage:
    """Return the cost, and that of each model; nothing if it is incomplete."""
    cost = cost_or_none(fields.get("totalCostUSD"))
    if cost is None or fields.get("hasUnknownModelCost"):
        return {}
    costs = {name: own for name, row in models.items() if (own := cost_or_none(row.get("costUSD"))) is not None}
    return {"costUsd": cost} | ({"costs": costs} if costs else {})


def _plus(one: Usage, other: Usage) -> Usage:
    """Return the sum of both; its cost is known only if both costs are, and by model only if both are."""
    names = [name for name, _ in _COUNTS if name in one or name in other]
    sums: Usage = {**_within({name: one.get(name, 0) + other.get(name, 0) for name in names})}
    if "costUsd" in one and "costUsd" in other:
        sums["costUsd"] = one["costUsd"] + other["costUsd"]
        if "costs" in one and "costs" in other:
            costs = {**one["costs"], **other["costs"]}
            sums["costs"] = {name: one["costs"].get(name, 0.0) + other["costs"].get(name, 0.0) for name in costs}
    return sums

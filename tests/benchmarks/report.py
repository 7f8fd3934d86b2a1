"""The printed report: one line per figure, with its bar, and a list of missed bars."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """The limit of a figure: at most, or with `least` at least, `limit`."""

    limit: float
    unit: str = ""
    least: bool = False

    def missed(self, value: float) -> bool:
        """Return whether a value misses the bar; no value (NaN) misses every bar."""
        return not (value >= self.limit if self.least else value <= self.limit)

    def __str__(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.limit:g}{self.unit}"


class Report:
    """Prints the table line by line and counts the bars."""

    def __init__(self) -> None:
        self.bars = 0
        self.misses: list[str] = []
        self._part = ""

    def part(self, title: str, note: str = "") -> None:
        """Start a part of the table."""
        self._part = title
        print(f"\n{title}" + (f"  ({note})" if note else ""), flush=True)

    def line(self, what: str, figure: str, *bars: tuple[float, Bar]) -> None:
        """Print one line; each bar comes with the value to compare with it."""
        missed = [bar.missed(value) for value, bar in bars]
        shown = ", ".join(f"{bar}{'  MISSED' if miss else ''}" for (_, bar), miss in zip(bars, missed, strict=True))
        print(f"  {what:<40} {figure:<44} {f'bar {shown}' if bars else ''}".rstrip(), flush=True)
        self.bars += len(bars)
        if any(missed):
            self.misses.append(f"{self._part}: {what}: {figure}")

    def note(self, text: str) -> None:
        """Print a remark."""
        print(f"  {text}", flush=True)

    def end(self) -> None:
        """Print how many bars were missed, and which."""
        print(f"\n{self.bars} bars, {len(self.misses)} lines miss theirs", flush=True)
        for miss in self.misses:
            print(f"  MISSED  {miss}")


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed, NaN if there are none."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * share))] if ranked else float("nan")


def median(values: Sequence[float]) -> float:
    """Return the median, NaN if there are no values."""
    return statistics.median(values) if values else float("nan")

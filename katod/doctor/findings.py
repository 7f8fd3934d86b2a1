"""What the doctor says: findings, each with what to do about it. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, Literal

Level = Literal["ok", "warning", "problem"]
Marks = dict[str, str]
MARKS: Final[Marks] = {"ok": "✓", "warning": "!", "problem": "✗", "advice": "→"}
AREAS: Final = (
    "configuration", "daemon", "agents", "retention", "output", "watching", "clock", "ledger", "archives", "matrix",
    "otlp", "errors",
)  # fmt: skip
ASCII_MARKS: Final[Marks] = {"ok": "+", "warning": "!", "problem": "x", "advice": "->"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `check` names it and never changes, `text` and `advice` are for people."""

    check: str  # `area.what`
    level: Level
    text: str
    advice: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def area(self) -> str:
        """The part of katod or the machine that it is about."""
        return self.check.partition(".")[0]

    def row(self) -> dict[str, Any]:
        """Return it as plain data."""
        said = {"area": self.area, "check": self.check, "level": self.level, "text": _printable(self.text)}
        data = {name: _printable(value) for name, value in self.data.items() if value is not None}
        return said | ({"advice": _printable(self.advice)} if self.advice else {}) | data


def _printable(value: Any) -> Any:
    """Return a value without what is not text, such as the bytes of a path that are no UTF-8."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def ok(check: str, text: str, advice: str = "", **data: Any) -> Finding:
    """Return a finding about what is as it should be."""
    return Finding(check, "ok", text, advice, data)


def warning(check: str, text: str, advice: str, **data: Any) -> Finding:
    """Return a finding about what works, but may not be wanted."""
    return Finding(check, "warning", text, advice, data)


def problem(check: str, text: str, advice: str, **data: Any) -> Finding:
    """Return a finding about what does not work until the user does something."""
    return Finding(check, "problem", text, advice, data)


def lines(findings: Iterable[Finding], marks: Marks) -> Iterator[str]:
    """Yield what is printed: a heading for each area, a line with a mark for each finding, and what to do."""
    for area, found in groupby(findings, lambda finding: finding.area):
        yield f"{area}:"
        for finding in found:
            yield f"  {marks[finding.level]} {one_line(finding.text)}"
            if finding.advice:
                yield f"      {marks['advice']} {one_line(finding.advice)}"


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings area by area, as they are printed."""
    return sorted(findings, key=lambda finding: AREAS.index(finding.area))


def summary(findings: list[Finding]) -> str:
    """Return how many problems and warnings there are."""
    levels = [finding.level for finding in findings]
    return f"{count(levels.count('problem'), 'problem')}, {count(levels.count('warning'), 'warning')}"


def one_line(text: str) -> str:
    """Return a text on one line: a path may contain line breaks."""
    return " ".join(text.splitlines())


def count(number: int, what: str) -> str:
    """Return a number with its noun: `1 session`, `2 sessions`, `2 directories`."""
    many = f"{what[:-1]}ies" if what.endswith("ry") else f"{what}s"
    return f"{number} {what if number == 1 else many}"

"""How many examples a property test takes, and how many cases of a table: a few by default, all with `-m slow`.

The profile is chosen before any test is imported. By default a test takes `FEW` or `MANY` examples; one whose
examples are more expensive sets its own numbers: `@examples(3, 200)`. As others are taken in each run, one with
`-m slow` takes a part of the many; KATOD_WHOLE takes all, and KATOD_EXAMPLES replaces all numbers of many.
"""

import os
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any, Final, TypeVar
from zlib import crc32

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

Case = TypeVar("Case")
FEW: Final = 3
MANY: Final = 400
PART: Final = 0.3  # of many examples, in a run in haste
LEAST: Final = 20  # of them
CASES: Final = 1  # of a parametrized test in the default run
QUICK, THOROUGH, UNSHRUNK = "quick", "thorough", "unshrunk"

_COMMON: Final = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


def register() -> None:
    """Register the profiles with hypothesis."""
    # The same examples for everyone: an unrelated change must not make a test fail that passed before.
    settings.register_profile(QUICK, _COMMON, max_examples=FEW, derandomize=True)
    # Others each time, also where hypothesis would take the same, as it does in continuous integration.
    settings.register_profile(THOROUGH, _COMMON, max_examples=_wanted(MANY), derandomize=False)
    # For runs that are expected to fail: always in the same way, without time spent on shrinking.
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile(UNSHRUNK, _COMMON, max_examples=MANY, derandomize=True, phases=phases)


def _wanted(many: int) -> int:
    in_haste = many if os.environ.get("KATOD_WHOLE") else part_of(many)
    return int(os.environ.get("KATOD_EXAMPLES", in_haste))


def part_of(many: int) -> int:
    """Return how many examples of so many a run in haste takes."""
    return min(many, max(LEAST, round(many * PART)))


def some(cases: Sequence[Case], most: int) -> list[Case]:
    """Return so many of the cases at most, spread over all of them; all with KATOD_WHOLE, for a run without haste."""
    if len(cases) <= most or os.environ.get("KATOD_WHOLE"):
        return list(cases)
    return [cases[number * len(cases) // most] for number in range(most)]


def number(few: int, many: int) -> int:
    """Return one of two numbers of examples, depending on the profile of this run; all that are needed to fail."""
    profile = settings.get_current_profile_name()
    return few if profile == QUICK else many if profile == UNSHRUNK else _wanted(many)


def examples(few: int, many: int, **more: Any) -> Callable[[Any], Any]:
    """Return a decorator that sets the numbers of examples of a property test or of a state machine's test case."""

    def decorate(test: Any) -> Any:
        wanted = settings(max_examples=number(few, many), **more)
        if isinstance(test, type):
            test.settings = wanted  # type: ignore[attr-defined]
        else:
            test = wanted(test)
        return pytest.mark.examples(few, many)(test)

    return decorate


def mostly(often: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """Return the cases for `pytest.mark.parametrize`; those not in `often` are marked slow."""
    return [case if case in often else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def beyond(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the cases that the default run leaves out of tests with more than `CASES`.

    Which ones stay depends on the test's name: each agent and each format is in the default run of some tests.
    All stay of one that is marked as `whole`.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("slow") and not item.get_closest_marker("whole"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [item for name, all_cases in cases.items() for item in all_cases if item not in _spread(name, all_cases)]


def _spread(name: str, cases: list[pytest.Item]) -> list[pytest.Item]:
    start = crc32(name.encode())
    return [cases[(start + place * len(cases) // CASES) % len(cases)] for place in range(CASES)]


def _character(number: int) -> str:
    """Return the character with this number, counted without the surrogates."""
    return chr(number if number < _SURROGATES.start else number + len(_SURROGATES))


_SURROGATES: Final = range(0xD800, 0xE000)
# No `st.characters()`: for it, the first test in a fresh clone tries to encode every character, which takes seconds.
_CHARACTERS: Final = (
    st.integers(32, 126).map(chr) | st.integers(0, 0xFF).map(chr) | st.integers(0, 0x10F7FF).map(_character)
)


def texts(min_size: int = 0, max_size: int | None = None) -> st.SearchStrategy[str]:
    """Return a strategy for any text that UTF-8 can encode, half of it ASCII."""
    return st.text(_CHARACTERS, min_size=min_size, max_size=max_size)


def is_property(item: pytest.Item) -> bool:
    """Return whether a test is a property test."""
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False) or bool(item.get_closest_marker("examples"))


def most_of(item: pytest.Item) -> int:
    """Return how many examples a test takes with `-m slow`; 1 for a test without examples."""
    mark = item.get_closest_marker("examples")
    return part_of(int(mark.args[1])) if mark else part_of(MANY) if is_property(item) else 1

"""How many examples a property test takes: a few in the default run, thousands with `-m slow`.

The profile is chosen before any test is imported. A test says nothing and takes `FEW` or `MANY`; one whose examples
cost more than others says so: `@examples(5, 400)`. KATOD_EXAMPLES asks for another number of many.
"""

import os
from collections.abc import Callable, Container, Iterable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings

FEW: Final = 15
MANY: Final = 2_000
QUICK, THOROUGH, UNSHRUNK = "quick", "thorough", "unshrunk"

_COMMON: Final = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


def register() -> None:
    """Make the profiles known to hypothesis."""
    # The same examples for everyone: whoever changes something else sees no test fail that did not fail before.
    settings.register_profile(QUICK, _COMMON, max_examples=FEW, derandomize=True)
    settings.register_profile(THOROUGH, _COMMON, max_examples=_wanted(MANY))
    # For runs that have to fail, each time in the same way, and need not say how simply.
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile(UNSHRUNK, _COMMON, max_examples=MANY, derandomize=True, phases=phases)


def _wanted(many: int) -> int:
    return int(os.environ.get("KATOD_EXAMPLES", many))


def number(few: int, many: int) -> int:
    """Return one of two numbers of examples, the one that the profile of this run asks for."""
    return few if settings.get_current_profile_name() == QUICK else _wanted(many)


def examples(few: int, many: int, **more: Any) -> Callable[[Any], Any]:
    """Return a decorator for a property test, or for the test case of a state machine, with these numbers of examples."""

    def decorate(test: Any) -> Any:
        wanted = settings(max_examples=number(few, many), **more)
        if isinstance(test, type):
            test.settings = wanted  # type: ignore[attr-defined]
        else:
            test = wanted(test)
        return pytest.mark.examples(few, many)(test)

    return decorate


def mostly(often: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """Return the cases for `pytest.mark.parametrize`: the default run takes those of `often`, the others are slow."""
    return [case if case in often else pytest.param(case, marks=pytest.mark.slow) for case in cases]


def is_property(item: pytest.Item) -> bool:
    """Return whether a test takes examples."""
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False) or bool(item.get_closest_marker("examples"))


def most_of(item: pytest.Item) -> int:
    """Return how many examples a test takes with `-m slow`; 1 for a test that takes none."""
    mark = item.get_closest_marker("examples")
    return int(mark.args[1]) if mark else MANY if is_property(item) else 1

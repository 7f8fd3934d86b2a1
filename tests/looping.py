"""`@each`: parametrize within one test, for cases that repeat one rule; the failed cases are listed together."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

SHOWN = 5  # failed cases that are shown in full; the others by name only


def each(names: str | tuple[str, ...], cases: Iterable[Any], *, ids: Any = None) -> Callable[[Any], Any]:
    """Return a decorator that runs a test with each case in turn, and fails with the list of those that fail.

    The arguments are those of `pytest.mark.parametrize`. It is not suitable if each case needs fixtures of its own.
    `cases_of` counts the cases.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    sets = [ParameterSet.extract_from(case, force_tuple=len(keys) == 1) for case in cases]
    rows = [row.values for row in sets]
    ids = ids if ids is None or callable(ids) else list(ids)
    shown = [row.id or _name(ids, number, row.values) for number, row in enumerate(sets)]

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def loop(*arguments: Any, **named: Any) -> None:
            failed: dict[str, BaseException] = {}
            for name, row in zip(shown, rows, strict=True):
                try:
                    test(*arguments, **named, **dict(zip(keys, row, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001
                    failed[name] = error
            if failed:
                told = [f"{name}: {type(error).__name__}: {error}" for name, error in list(failed.items())[:SHOWN]]
                text = "\n\n".join([f"{len(failed)} of {len(rows)} cases fail", *told, *list(failed)[SHOWN:]])
                raise AssertionError(text) from next(iter(failed.values()))

        parameters = [p for p in inspect.signature(test).parameters.values() if p.name not in keys]
        loop.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        loop.cases = len(rows) * getattr(test, "cases", 1)  # type: ignore[attr-defined]
        return loop

    return decorate


def _name(ids: Any, number: int, row: tuple[Any, ...]) -> str:
    if callable(ids):
        return "-".join(str(ids(value)) for value in row)
    return str(ids[number]) if ids is not None else "-".join(repr(value)[:80] for value in row)


def cases_of(item: pytest.Item) -> int:
    """Return how many cases a collected test runs through."""
    return int(getattr(getattr(item, "obj", None), "cases", 1))

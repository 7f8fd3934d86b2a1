"""The guard around the code of all agents: any error in it affects the session it was called for, and nothing else.

Agents change weekly, and what their files hold is beyond katod's control. So nothing outside this package calls a
function of an agent directly: the registry has each agent `guarded`, and `Adapter` guards its subclasses. Any error
that is not one of katod's own becomes `AgentFailed`. A function that only adds something to what a session's files say
raises nothing: it adds nothing, and `failures` has the reason.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from katod.errors import AgentFailed, KatodError, failure_of
from katod.model import Record

if TYPE_CHECKING:
    from katod.tail.reader import SourceFile

P = ParamSpec("P")
T = TypeVar("T")
_MOST: Final = 256  # failures that are remembered
_PASSED: Final = (KatodError, BrokenPipeError)  # katod's own, and a problem of who reads what is printed
Place = tuple[str, str]  # a function, and what it was called for
_failures: dict[Place, str] = {}
_taken: set[Place] = set()  # those of them that were taken


def failures(below: str) -> dict[str, str]:
    """Return the failures that did not stop this process: paths below a directory, or an agent, and reasons."""
    return {place: what for (_, place), what in _failures.items() if place.startswith(below)}


def take_failures() -> dict[str, str]:
    """Return those that were not returned before; one that happens again after a success is new."""
    new = _failures.keys() - _taken
    _taken.update(new)
    return {path: _failures[function, path] for function, path in new}


def guarded(function: Callable[P, T]) -> Callable[P, T]:
    """Return the same function, which raises AgentFailed in place of any error that is not katod's own."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except (*_PASSED, MemoryError):  # a record is not skipped for a problem of the machine
            raise
        except Exception as error:
            raise _failed(args, error) from error

    return call


def or_else(otherwise: Callable[P, T], function: Callable[P, T], agent: str) -> Callable[P, T]:
    """Return the same function, which notes any error that is not katod's own, and does something else.

    The error is noted for the path that the function was called with, or for all of the agent if there is none.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            found = function(*args, **kwargs)
        except _PASSED:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is named, and the session goes on
            if len(_failures) < _MOST:
                _failures[place(args)] = failure_of(error)
            return otherwise(*args, **kwargs)
        if _failures:
            _forget(place(args))
        return found

    def place(args: tuple[Any, ...]) -> Place:
        return function.__qualname__, _path_in(args) or agent

    return call


@lru_cache  # agents with the same way to open their files have it in common
def opened(
    opener: "Callable[[str], AbstractContextManager[SourceFile]]",
) -> "Callable[[str], AbstractContextManager[SourceFile]]":
    """Return the same way to open a session; what is done with it while it is open is guarded, too."""

    @contextmanager
    def open_guarded(path: str) -> "Iterator[SourceFile]":
        try:
            with opener(path) as file:
                yield file
        except _PASSED:
            raise
        except Exception as error:
            raise _failed((path,), error) from error

    return open_guarded


def guarded_iterator(function: Callable[[str], Iterator[T]]) -> Callable[[str], Iterator[T]]:
    """Return the same generator, guarded until its end."""

    @wraps(function)
    def items(path: str) -> Iterator[T]:
        try:
            yield from function(path)
        except _PASSED:
            raise
        except Exception as error:
            raise _failed((path,), error) from error

    return items


def _failed(args: tuple[Any, ...], error: Exception) -> AgentFailed:
    """Return what to say about an error; its message may quote the session, so only the kind of error is named."""
    return AgentFailed(failure_of(error), path=_path_in(args))


def _path_in(args: tuple[Any, ...]) -> str | None:
    """Return the path that a function was called for: never what a record says."""
    paths = (getattr(one, "path", one) for one in args if not isinstance(one, Record))
    return next((str(one) for one in paths if isinstance(one, str | Path) and "/" in str(one)), None)


def _forget(place: Place) -> None:
    _failures.pop(place, None)
    _taken.discard(place)

"""The type of a protection, and helpers that replace a function."""

from types import FunctionType
from typing import NamedTuple

from .hook import Without


class Protection(NamedTuple):
    """A function without which tests fail.

    `function` is `module:function` or `module:Class.method`. `without` receives it and returns its unprotected
    replacement, a function with the same signature.
    """

    name: str
    function: str
    without: Without
    tests: tuple[str, ...]


def returning(value):
    """Return a `without` whose replacement does nothing and returns this value."""
    return lambda original: lambda *arguments, **named: value


def given(**names):
    """Return a `without` that keeps the function but replaces global names of its module in it."""

    def without(original):
        unknown = names.keys() - original.__globals__.keys()
        assert not unknown, f"{original.__qualname__} does not know {unknown}"
        code, closure = original.__code__, original.__closure__
        found = FunctionType(code, original.__globals__ | names, original.__name__, original.__defaults__, closure)
        found.__kwdefaults__ = original.__kwdefaults__
        return found

    return without

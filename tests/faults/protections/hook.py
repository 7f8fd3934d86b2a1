"""An import hook that replaces one function of katod, in this process and in its child processes.

The function is replaced right after its module was executed, before another module can import it by name, so the hook
must be installed before katod is imported. Child processes run `startup/sitecustomize.py` before anything else.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import FileLoader, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

Without = Callable[[Any], Any]  # takes a function, returns its replacement
VARIABLE: Final = "KATOD_WITHOUT"  # the name of the protection that the process lacks
_STARTUP: Final = Path(__file__).with_name("startup")
_ROOT: Final = Path(__file__).parents[3]


def install(function: str, without: Without) -> None:
    """Replace `module:function` or `module:Class.method` when its module is imported."""
    module, _, name = function.partition(":")
    assert module not in sys.modules, f"{module} is imported already"
    sys.meta_path.insert(0, _Finder(module, name, without))


def replace(module: ModuleType, name: str, without: Without) -> None:
    """Replace a function of a module or class."""
    holder, last = holder_of(module, name)
    setattr(holder, last, replacement(vars(holder)[last], without))


def replacement(found: Any, without: Without) -> Any:
    """Return the replacement of a function; a class method stays a class method."""
    if isinstance(found, classmethod):
        return classmethod(without(found.__func__))
    return without(found)


def holder_of(module: ModuleType, name: str) -> tuple[Any, str]:
    """Return the module or class that defines a function, and the function's name there. Raises KeyError."""
    *outer, last = name.split(".")
    holder: Any = module
    for part in outer:
        holder = vars(holder)[part]
    if last not in vars(holder):
        raise KeyError(name)
    return holder, last


def environment(protection: str) -> dict[str, str]:
    """Return the environment variables that disable a protection in child processes."""
    return {VARIABLE: protection, "PYTHONPATH": f"{_STARTUP}{os.pathsep}{_ROOT}"}


class _Finder:
    """Finds one module as Python does, and arranges for one of its functions to be replaced."""

    def __init__(self, module: str, name: str, without: Without) -> None:
        self._module = module
        self._name = name
        self._without = without

    def find_spec(self, module: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of the module, or None for any other module."""
        spec = PathFinder.find_spec(module, path, target) if module == self._module else None
        if spec is not None:
            assert isinstance(spec.loader, SourceFileLoader)
            spec.loader = _Loader(module, spec.loader.path, self._name, self._without)
        return spec


class _Loader(FileLoader, SourceLoader):
    """Loads a source file. Not a `SourceFileLoader`, because the fuzzer would substitute its own."""

    def __init__(self, module: str, path: str, function: str, without: Without) -> None:
        super().__init__(module, path)
        self._function = function
        self._without = without

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        replace(module, self._function, self._without)

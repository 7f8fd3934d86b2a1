"""An import hook: replaces one function of katod, in this process and in those that it starts.

The function is replaced right after its module was executed, before another module can import it by name. So the hook
has to stand before katod is imported. Processes of their own run `startup/sitecustomize.py` before anything else.
"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib.abc import FileLoader, SourceLoader
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, Final

Without = Callable[[Any], Any]  # takes a function, returns what stands in its place
VARIABLE: Final = "KATOD_WITHOUT"  # the name of the protection that a process has to do without
_STARTUP: Final = Path(__file__).with_name("startup")
_ROOT: Final = Path(__file__).parents[3]


def install(function: str, without: Without) -> None:
    """Have `module:function` or `module:Class.method` replaced when its module is imported."""
    module, _, name = function.partition(":")
    assert module not in sys.modules, f"{module} is imported already"
    sys.meta_path.insert(0, _Finder(module, name, without))


def replace(module: ModuleType, name: str, without: Without) -> None:
    """Replace a function of a module or class."""
    holder, last = holder_of(module, name)
    setattr(holder, last, replacement(vars(holder)[last], without))


def replacement(found: Any, without: Without) -> Any:
    """Return what stands in a function's place; a class method stays one."""
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
    """Return the variables that have the processes started from here do without a protection, too."""
    return {VARIABLE: protection, "PYTHONPATH": f"{_STARTUP}{os.pathsep}{_ROOT}"}


class _Finder:
    """Finds one module as Python does, and has a function of it replaced."""

    def __init__(self, module: str, name: str, without: Without) -> None:
        self._module = module
        self._name = name
        self._without = without

    def find_spec(self, module: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return how the module is loaded, None for any other."""
        spec = PathFinder.find_spec(module, path, target) if module == self._module else None
        if spec is not None:
            assert isinstance(spec.loader, SourceFileLoader)
            spec.loader = _Loader(module, spec.loader.path, self._name, self._without)
        return spec


class _Loader(FileLoader, SourceLoader):
    """Loads a source file; no `SourceFileLoader`, in whose place the fuzzer would put its own."""

    def __init__(self, module: str, path: str, function: str, without: Without) -> None:
        super().__init__(module, path)
        self._function = function
        self._without = without

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        replace(module, self._function, self._without)

"""The modules of katod for the tests of its structure: each is read and parsed once per run."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import katod

ROOT: Final = Path(katod.__file__).parent


class Module(NamedTuple):
    """One module: its name (`katod.tail.reader`), the part of katod it belongs to, and its syntax tree."""

    name: str
    part: str
    lines: int
    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    imported: frozenset[str]  # all imports, of katod or not: at the top, within a function, or for types only
    called: frozenset[str]  # the last names of what it calls: `open`, and `stat` for `os.stat`


def _imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (_target(f"{node.module}.{alias.name}") for alias in node.names)


def _called(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _target(name: str) -> str:
    """Return the module that `from … import …` imports: the name itself, or the module that contains it."""
    outer = name.rpartition(".")[0]
    return name if not outer.startswith("katod") or name in paths() else outer


@cache
def paths() -> dict[str, Path]:
    """Return the file of every module of katod, by name."""
    return {_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Module]:
    """Return every module of katod, parsed."""
    found = {}
    for name, path in paths().items():
        source = path.read_text(encoding="utf-8")
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        tree = ast.parse(source)
        nodes = tuple(ast.walk(tree))
        imported, called = frozenset(_imported(nodes)), frozenset(_called(nodes))
        found[name] = Module(name, part, source.count("\n"), tree, nodes, imported, called)
    return found

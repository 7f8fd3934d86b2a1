"""Small changes of a module's source: each is one that a test should notice. Found in its syntax tree, applied to text.

The text around a change keeps its lines, so that places in reports and in failures are those of the checkout.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
}  # fmt: skip
_OPPOSITE: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}
_DROPPED: Final = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
# What these say is read by type checkers, makes a class faster, or is how much is remembered: no test can notice.
_UNTESTABLE: Final = {"Literal", "Callable", "TypeVar", "ParamSpec", "cast", "dataclass", "NewType", "lru_cache"}
# How large a size or a limit is, is chosen: nothing relies on 1 more or less of it, but a test should reach it.
_LARGE: Final = 1000
_SIZES: Final = (ast.Mult, ast.Pow, ast.LShift)
_BESIDE: Final = 60  # characters


class Change(NamedTuple):
    """One change: what is at a position of the source, in bytes, and what is put there. `within` is the function."""

    line: int
    begin: int
    end: int
    new: str
    within: str
    kind: str


class _Found(NamedTuple):
    node: ast.AST
    new: str
    kind: str


def changes(source: str) -> list[Change]:
    """Return all small changes of a module, in the order of its text."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = set()
    for node, within in _nodes(ast.parse(source), ""):
        for at, new, kind in _changes_of(node, within):
            assert isinstance(at, ast.expr | ast.stmt)
            assert at.end_lineno is not None and at.end_col_offset is not None  # noqa: PT018
            begin, end = starts[at.lineno - 1] + at.col_offset, starts[at.end_lineno - 1] + at.end_col_offset
            found.add(Change(at.lineno, begin, end, new, within, kind))
    return sorted(found)


def apply(source: str, change: Change) -> str:
    """Return the source with a change. What spanned several lines still does, so that no later line moves."""
    data = source.encode()
    lines = data[change.begin : change.end].count(b"\n")
    rest = data[change.end :]
    at = rest.find(b"\n")
    return (data[: change.begin] + change.new.encode() + rest[:at] + b"\n" * lines + rest[at:]).decode()


def described(source: str, change: Change) -> str:
    """Return a change in words: what it replaces and by what, with what is beside that on its line."""
    data = source.encode()
    before, old, after = data[: change.begin], data[change.begin : change.end], data[change.end :]
    left, right = before[before.rfind(b"\n") + 1 :].decode(), after.partition(b"\n")[0].decode()
    return f"{left[-_BESIDE:].lstrip()}[{' '.join(old.decode().split())} → {change.new}]{right[:_BESIDE].rstrip()}"


def _nodes(node: ast.AST, within: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes that a test may depend on, with the function or class they are in."""
    for child in _tested(node):
        inner = within
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{within}.{child.name}".lstrip(".")
        yield child, inner
        yield from _nodes(child, inner)


def _tested(node: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of a node without annotations, and without f-strings, whose parts have no position before 3.12."""
    if _is_size(node):
        return ()
    skipped = {id(part) for name in ("annotation", "returns") if (part := getattr(node, name, None)) is not None}
    return (part for part in ast.iter_child_nodes(node) if id(part) not in skipped and not _is_untestable(part))


def _is_untestable(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return _name(node.value) in _UNTESTABLE
    if isinstance(node, ast.Call):
        return _name(node.func) in _UNTESTABLE
    if isinstance(node, ast.keyword):
        return _is_assertion(node)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)  # a docstring, which may be one word
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING")


def _is_size(node: ast.AST) -> bool:
    """Return whether this is a large number, as one constant or as a product of some."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _SIZES):
        return all(map(_is_number, (node.left, node.right)))
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= _LARGE


def _is_number(node: ast.AST) -> bool:
    return _is_size(node) or (isinstance(node, ast.Constant) and type(node.value) is int)


def _is_assertion(keyword: ast.keyword) -> bool:
    """Return whether this is the `strict=True` of `zip`: like an assertion, it changes nothing as long as it holds."""
    return keyword.arg == "strict" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _changes_of(node: ast.AST, within: str) -> Iterator[_Found]:
    if _is_size(node):
        yield _Found(node, "1", "size")
        return
    match node:
        case ast.Compare(ops=[operator]):
            yield from (_replaced(node, "comparison", ops=[new()]) for new in _COMPARISONS[type(operator)])
        case ast.BoolOp():
            yield from _of_bool(node)
        case ast.UnaryOp(op=ast.Not()):
            yield _Found(node, f"({ast.unparse(node.operand)})", "not")
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield _replaced(node, "arithmetic", op=ast.Sub() if isinstance(node.op, ast.Add) else ast.Add())
        case ast.Call():
            yield from _of_call(node)
        case ast.Constant():
            kind = "string" if isinstance(node.value, str) else "constant"
            yield from (_Found(node, repr(value), kind) for value in _others(node.value))
        case ast.If() | ast.IfExp() | ast.While():
            yield from _negated(node.test)
        case ast.comprehension():
            yield from (found for test in node.ifs for found in _negated(test))
        case ast.FunctionDef(returns=ast.Name(id="bool")):
            yield from _of_answers(node)
        case ast.stmt() if not within.endswith("__init__"):  # without an attribute, all of a class fails at once
            yield from _dropped(node)


def _replaced(node: ast.expr, kind: str, **fields: object) -> _Found:
    new = type(node)(**{name: getattr(node, name) for name in node._fields} | fields)
    return _Found(node, ast.unparse(new), kind)


def _of_bool(node: ast.BoolOp) -> Iterator[_Found]:
    yield _replaced(node, "and/or", op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for left_out in node.values:
        rest = [f"({ast.unparse(value)})" for value in node.values if value is not left_out]
        yield _Found(node, (" and " if isinstance(node.op, ast.And) else " or ").join(rest), "operand")


def _of_call(node: ast.Call) -> Iterator[_Found]:
    if (opposite := _OPPOSITE.get(_name(node.func))) is not None:
        yield _Found(node.func, opposite, "opposite")
    for keyword in node.keywords:
        if keyword.arg is not None and not _is_assertion(keyword):
            yield _replaced(node, "keyword", keywords=[other for other in node.keywords if other is not keyword])


def _others(value: object) -> list[object]:
    """Return constants instead of one. Prose is left alone: no test has to know how a sentence is put."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, str) and not any(map(str.isspace, value)):
        return [f"{value}X"]
    return []


def _negated(test: ast.expr) -> Iterator[_Found]:
    """Negate a condition, unless that is also the change of a comparison, or of a `not`."""
    if not isinstance(test, ast.Compare | ast.UnaryOp):
        yield _Found(test, f"(not ({ast.unparse(test)}))", "condition")


def _of_answers(function: ast.FunctionDef) -> Iterator[_Found]:
    """Swap what a function answers."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.BoolOp | ast.Call | ast.IfExp):
            yield _Found(node.value, f"(not ({ast.unparse(node.value)}))", "answer")


def _dropped(node: ast.stmt) -> Iterator[_Found]:
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if is_call or isinstance(node, _DROPPED) or isinstance(target, ast.Attribute | ast.Subscript):
        yield _Found(node, "pass", "statement")

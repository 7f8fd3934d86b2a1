"""How large a function, a class and a module of katod may be; exceptions are listed here with their figure.

The figures are exact: if an exception becomes smaller or disappears, it must be changed here, too.
"""

import ast
from functools import cache

import pytest

from tests.modules import modules

pytestmark = pytest.mark.form
COMPLEXITY = 10  # McCabe's of one function, each `and` and `or` counted
FUNCTION = 50  # lines without the docstring
ATTRIBUTES = 8  # of a class that change
MODULE = 500  # lines

TOO_COMPLEX = {}
TOO_LONG = {}
TOO_MANY_ATTRIBUTES = {}
TOO_LARGE = {}

BRANCHES = (
    ast.If, ast.For, ast.While, ast.AsyncFor, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.Assert, ast.match_case,
)  # fmt: skip


def complexity(function):
    """Return the complexity: one, plus one for each branch, loop, handler, and each `and` and `or`."""
    nodes = list(ast.walk(function))
    operators = sum(len(node.values) - 1 for node in nodes if isinstance(node, ast.BoolOp))
    return 1 + operators + sum(isinstance(node, BRANCHES) for node in nodes)


def length(function):
    """Return the number of lines without those of the docstring."""
    told = ast.get_docstring(function, clean=False)
    return function.end_lineno - function.lineno + 1 - (told.count("\n") + 1 if told else 0)


def attributes(node):
    """Return how many attributes of a class change: those that methods assign, and the fields of a mutable dataclass.

    A parameter that is only kept is not counted: its owner changes it.
    """
    kept = [name for child in ast.walk(node) if isinstance(child, ast.Assign) for name in kept_parameter(child)]
    stored = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    names = [n.attr for n in stored if isinstance(n.value, ast.Name) and n.value.id == "self"]
    return len({name for name in names if name not in kept or names.count(name) > 1} | set(mutable_fields(node)))


def kept_parameter(assign):
    """Return the name of an attribute that keeps a parameter of the same name: `self._log = log`."""
    match assign:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name("self"), attr=attr)], value=ast.Name(name)):
            return [attr] if attr.lstrip("_") == name else []
    return []


def mutable_fields(node):
    """Return the fields of a dataclass that is not frozen."""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    if not any(one.startswith("dataclass") and "frozen=True" not in one for one in decorators):
        return []
    return [one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.unparse(one)]


@cache
def named(*kinds):
    """Return every function or class of katod with its name: `katod.module:Outer.name`."""
    found = []

    def visit(node, name):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{name}{child.name}"
                if isinstance(child, kinds):
                    found.append((inner, child))
                visit(child, f"{inner}.")
            else:
                visit(child, name)

    for module in modules().values():
        visit(module.tree, f"{module.name}:")
    return found


def above(limit, figures):
    """Return what exceeds the limit, by name."""
    return {name: figure for name, figure in sorted(figures) if figure > limit}


def test_functions_are_simple():
    """A function has few enough branches to keep in mind when changing it."""
    assert (
        above(COMPLEXITY, [(name, complexity(node)) for name, node in named(ast.FunctionDef, ast.AsyncFunctionDef)])
        == TOO_COMPLEX
    )


def test_functions_are_short():
    """A function can be read without scrolling."""
    assert (
        above(FUNCTION, [(name, length(node)) for name, node in named(ast.FunctionDef, ast.AsyncFunctionDef)])
        == TOO_LONG
    )


def test_classes_have_few_attributes():
    """A class has few attributes, so that its state is one thing."""
    assert above(ATTRIBUTES, [(name, attributes(node)) for name, node in named(ast.ClassDef)]) == TOO_MANY_ATTRIBUTES


def test_modules_are_one_concept():
    """A module can be read in one go."""
    assert above(MODULE, [(name, module.lines) for name, module in modules().items()]) == TOO_LARGE

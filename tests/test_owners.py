"""Who changes the state of an object: the module of its class alone. What is left is listed here with its figure.

The figures are exact: if an exception becomes smaller or disappears, it must be changed here, too.
"""

import ast
from collections import Counter
from functools import cache

import pytest

from tests.modules import modules

pytestmark = pytest.mark.form
# How many attributes of other modules' classes a module stores: these are of libraries.
STORES_TO_OTHERS = {
    "katod.cli.completion": 1,
    "katod.cli.rendering": 1,
    "katod.delivery.bounds": 1,
}


def targets(node):
    """Return what a statement stores to."""
    match node:
        case ast.Assign(targets=found):
            pass
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            found = [target]
        case _:
            found = []
    return [one for target in found for one in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])]


def stored(module):
    """Return the attributes that a module stores, each with what it is an attribute of."""
    found = (one for node in module.nodes for one in targets(node) if isinstance(one, ast.Attribute))
    return [(ast.unparse(one.value), one.attr) for one in found]


def fields(node):
    """Return the attributes of a class: those that its methods store, and its annotated fields."""
    own = {attr for child in ast.walk(node) for one in targets(child) for attr in own_attribute(one)}
    return own | {
        one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }


def own_attribute(target):
    match target:
        case ast.Attribute(value=ast.Name("self"), attr=attr):
            return [attr]
    return []


@cache
def owners():
    """Return the modules with a class that has an attribute, by the attribute's name."""
    found = {}
    for module in modules().values():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                for name in fields(node):
                    found.setdefault(name, set()).add(module.name)
    return found


def test_attributes_are_stored_by_the_module_of_their_class():
    """A reader finds every change of a state in one file."""
    found = Counter(
        module.name
        for module in modules().values()
        for of, attr in stored(module)
        if of not in ("self", "cls") and module.name not in owners().get(attr, {module.name})
    )
    assert dict(found) == STORES_TO_OTHERS

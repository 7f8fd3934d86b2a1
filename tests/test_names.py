"""Names: a reader who looks for one finds one thing."""

import ast
from collections import defaultdict

import pytest

from tests.modules import modules

pytestmark = pytest.mark.form
# Classes that share their name with another one. The list only shrinks.
SHARED: dict[str, list[str]] = {}


def test_one_class_name_is_one_thing():
    """No two classes of katod have the same name, nor one that differs only in being private."""
    found = defaultdict(list)
    for module in modules().values():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                found[node.name.lstrip("_")].append(module.name)
    assert {name: sorted(where) for name, where in found.items() if len(where) > 1} == SHARED

"""Which small changes are made of a module's source, and how they are applied."""

import ast

from tests.looping import each
from tests.mutants.changes import apply, changes, described


def made(source):
    """Return what becomes of a source of one line, by each change."""
    return [apply(f"{source}\n", change).strip() for change in changes(f"{source}\n")]


@each(
    ("source", "expected"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a == b", ["a != b"]),
        ("a is None", ["a is not None"]),
        ("a in b", ["a not in b"]),
        ("a and b", ["(a)", "(b)", "a or b"]),
        ("not a", ["(a)"]),
        ("x = 1", ["x = 0", "x = 2"]),
        ("x = True", ["x = False"]),
        ("x = 'key'", ["x = 'keyX'"]),
        ("x = 'A sentence.'", []),
        ("'Docstring.'", []),
        ("x = a + b", ["x = a - b"]),
        ("x = f(a, b=c)", ["x = f(a)"]),
        ("f(a)", ["pass"]),
        ("x.y = z", ["pass"]),
        ("x += y", ["pass"]),
        ("x = max(y)", ["x = min(y)"]),
        ("x = a if b() else c", ["x = a if (not (b())) else c"]),
        ("x = 4096", ["x = 1"]),
        ("x = 2 * 1024 * 1024", ["x = 1"]),
        ("x = 1 << 20", ["x = 1"]),
        ("x = 8 * y", ["x = 7 * y", "x = 9 * y"]),
        ("x = zip(a, b, strict=True)", []),
        ("x = zip(a, b, strict=False)", ["x = zip(a, b)", "x = zip(a, b, strict=True)"]),
        ("x = f(lru_cache(maxsize=2))", []),
        ("x: Final = 1", ["x: Final = 0", "x: Final = 2"]),
        ("def f(a: int = 1) -> Literal['x']: return a", ["def f(a: int = 0) -> Literal['x']: return a",
                                                         "def f(a: int = 2) -> Literal['x']: return a"]),
        ("def is_a() -> bool: return f(b)", ["def is_a() -> bool: return (not (f(b)))"]),
        ("x = f'{y + 1}'", []),
        ("x = Literal['a', 'b']", []),
        ("x = 'é' if y == 1 else 2", ["x = 'éX' if y == 1 else 2", "x = 'é' if y != 1 else 2", "x = 'é' if y == 0 else 2",
                                     "x = 'é' if y == 2 else 2", "x = 'é' if y == 1 else 1", "x = 'é' if y == 1 else 3"]),
    ],
)  # fmt: skip
def test_changes_of_one_line(source, expected):
    """Each is small, and none is of an annotation, of prose, within an f-string, or of an assertion; a size becomes 1."""
    assert made(source) == expected


def test_no_line_moves():
    """A change of several lines leaves as many, so that places in failures are those of the source."""
    source = "def f():\n    call(\n        a,\n        b=1,\n    )\n    return 2\n\n\nlast = 3\n"
    for change in changes(source):
        changed = apply(source, change)
        assert changed.count("\n") == source.count("\n")
        assert ast.parse(changed).body[-1].lineno == 9


def test_a_change_is_described_by_what_it_replaces():
    """On one line, with the function that it is in, and what is beside it."""
    source = "class A:\n    def f(self):\n        return g(\n            1\n        ) == 2\n"
    found = {(change.line, change.within, described(source, change)) for change in changes(source)}
    assert (3, "A.f", "return [g( 1 ) == 2 → g(1) != 2]") in found
    assert (5, "A.f", ") == [2 → 3]") in found

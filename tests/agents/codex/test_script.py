"""Codex code mode: what is read from a script, and that hostile scripts take linear time."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents.codex import script
from katod.agents.codex.script import MOST_CALLS, calls_in
from tests.examples import examples, texts
from tests.looping import each

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | texts(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def read(script: str) -> list[tuple[str, Any]]:
    """Return name and input of each call; the input of one that is not written out is `...`."""
    return [(call.name, call.input if call.plain else ...) for call in calls_in(script)]


@each(
    ("script", "calls"),
    [
        ('const r = await tools.exec_command({cmd:"ls -l"}); text(r.output);', [("exec_command", {"cmd": "ls -l"})]),
        ('await tools.exec_command({"cmd":"ls","workdir":"/a",});', [("exec_command", {"cmd": "ls", "workdir": "/a"})]),
        ("tools.exec_command({cmd: 'it\\'s', n: -1.5, t: true})", [("exec_command", {"cmd": "it's", "n": -1.5, "t": True})]),
        ("tools.exec_command({cmd: `a\nb`})", [("exec_command", {"cmd": "a\nb"})]),
        ('tools.x({s:"\\u00e9\\ud83d\\ude00\\x41\\u{1F600}\\n\\q"})', [("x", {"s": "é😀A😀\nq"})]),
        ('const patch = "*** Begin Patch"; tools.apply_patch(patch)', [("apply_patch", "*** Begin Patch")]),
        ('const cmd = "ls"; tools.exec_command({cmd})', [("exec_command", {"cmd": "ls"})]),
        ("tools . mcp__a__b ( )", [("mcp__a__b", {})]),
        ("tools.update_plan({plan:[{step:'a'},{step:'b'}]})", [("update_plan", {"plan": [{"step": "a"}, {"step": "b"}]})]),
        ("Promise.all([tools.a({x:1}), tools.b({y:2})])", [("a", {"x": 1}), ("b", {"y": 2})]),
    ],
)  # fmt: skip
def test_calls_that_are_written_out_are_read(script: str, calls: list[tuple[str, Any]]) -> None:
    """Object literals, strings, templates without expressions, and constants that are strings are read."""
    assert read(script) == calls


@each(
    "script",
    [
        "tools.exec_command({cmd})",
        "tools.exec_command({cmd: make()})",
        'tools.exec_command({cmd: "a" + b})',
        "tools.exec_command({cmd: `ls ${name}`})",
        "tools.exec_command({...options})",
        'const patch = "a" + b; tools.apply_patch(patch)',
        'const patch = ["a"].join(); tools.apply_patch(patch)',
        'const patch = "a"; const patch = b; tools.apply_patch(patch)',
        "tools.exec_command({cmd: 1.2.3})",
        "tools.exec_command(" + "[" * 100,
        "tools.exec_command([" + "1," * 10_000 + "])",
    ],
)
def test_nothing_is_guessed(script: str) -> None:
    """A call with an argument that is computed is known by its name alone."""
    assert {(name, value) for name, value in read(script)} <= {("exec_command", ...), ("apply_patch", ...)}
    assert read(script)


@each(
    "script",
    [
        '// tools.exec_command({cmd: "a"})',
        '/* tools.exec_command({cmd: "a"}) */',
        "text(\"tools.exec_command({cmd: 'a'})\")",
        "text(`tools.exec_command({cmd: ${'a'}})`)",
        'mytools.exec_command({cmd: "a"})',
        'text("an open string tools.exec_command({})',
        "/* an open comment tools.exec_command({})",
    ],
)
def test_text_and_comments_call_nothing(script: str) -> None:
    """What is in a string or a comment is no call."""
    assert read(script) == []


@examples(3, 1_000)
@given(VALUES)
def test_json_is_read_as_it_is(value: Any) -> None:
    """An argument written as JSON is read unchanged, unless it is nested more than eight levels deep."""
    calls = read(f"tools.a({json.dumps(value)}); tools.b()")
    assert calls in ([("a", value), ("b", {})], [("a", ...), ("b", {})])
    if "[[[" not in json.dumps(value):
        assert calls[0] == ("a", value)


@examples(3, 1_000)
@given(st.text(alphabet="tols.a(){}[]\"'`\\/*$:, \nconst=1", max_size=200))
def test_no_script_raises(script: str) -> None:
    """Whatever a script is, its calls are read without an error."""
    assert len(calls_in(script)) <= MOST_CALLS


@pytest.mark.slow
@each("piece", ['"', "/*", "`${", "tools.a(", "tools.a([", 'tools.a({x:"', 'const a="', "tools ", "\\", "const a = "])
def test_a_hostile_script_takes_linear_time(piece: str) -> None:
    """Four times the text takes at most about four times as long."""

    def seconds(size: int) -> float:
        script = "tools.exec_command({cmd:" + piece * (size // len(piece))
        begun = time.process_time()
        calls_in(script)
        return time.process_time() - begun

    assert min(seconds(80_000) for _ in range(2)) <= 8 * max(seconds(20_000), 0.003)


@each(
    ("given", "is_read"),
    [
        ("[[1]]", True),
        ("[[[1]]]", False),
        ("[1,2,3]", True),
        ("[1,2,3,4]", False),
        ("{a:[1]}", True),
        ("{a:[[1]]}", False),
    ],
)
def test_values_are_read_down_to_a_depth_and_up_to_a_number(
    given: str, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is more than that is kept as it is written."""
    monkeypatch.setattr(script, "_DEEPEST", 2)
    monkeypatch.setattr(script, "_MOST_VALUES", 4)
    assert [call.plain for call in calls_in(f"tools.x({given})")] == [is_read]

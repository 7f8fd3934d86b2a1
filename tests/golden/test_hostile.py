"""Hostile session files: every good message is recorded, nothing raises, and no text escapes its message."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.golden.cases import Case
from tests.golden.hostile import (
    CONTROLS,
    LIVE,
    OUTLINE,
    SPEAKER,
    good_ones,
    hostile_cases,
    page,
    render_all_forms,
    rows,
    said,
)
from tests.golden.hostile import case as as_case
from tests.looping import each

CASES = hostile_cases()
MARKDOWN = (".md", ".full.md")
PLAIN = re.compile(r"[a-z0-9-]+")  # what needs no quotes in YAML
TOO_LONG = 20 * 1024 * 1024


@pytest.mark.breaks
@pytest.mark.fault("hostile record")
@each("case", CASES, ids=str)
def test_every_good_message_is_kept_once(case: Case) -> None:
    """The good messages of a hostile file are recorded as messages, each once and in order."""
    wanted = good_ones(case.paths[0])
    assert wanted or "empty" in case.name
    assert said(rows(case.render(".jsonl"))) == wanted


@pytest.mark.breaks
@each("case", CASES, ids=str)
def test_no_event_id_stands_twice(case: Case) -> None:
    """Every event of a hostile file has a unique id."""
    ids = [row["id"] for row in rows(case.render(".jsonl"))]
    assert len(set(ids)) == len(ids)


@pytest.mark.breaks
@pytest.mark.fault("text that looks like a command")
@each("case", CASES, ids=str)
def test_nobody_but_a_person_commands(case: Case) -> None:
    """No command in a hostile file is obeyed, because none was typed."""
    assert not [row for row in rows(case.render(".jsonl")) if row["kind"] == "user.kato-command"]


@pytest.mark.slow
@pytest.mark.fault("text that poses as another speaker")
@each("form", MARKDOWN)
@each("case", CASES, ids=str)
def test_the_outline_is_the_conversation(case: Case, form: str) -> None:
    """There is one title, every heading of levels 2 and 3 is a speaker, and every good message is visible."""
    wanted = good_ones(case.paths[0])
    if not wanted:
        return
    shown = page(case.render(form).decode())
    assert [tag for tag, _ in shown.headings].count("h1") == 1
    assert shown.headings[0][0] == "h1"
    top = [text for tag, text in shown.headings if tag in OUTLINE]
    assert [text for text in top if text.startswith("FAKE")] == []
    assert [text for text in top[1:] if not SPEAKER.fullmatch(text)] == []
    assert [name for name in wanted if name not in shown.words] == []


@pytest.mark.slow
@pytest.mark.fault("text that poses as another speaker")
@each("form", MARKDOWN)
@each("case", CASES, ids=str)
def test_no_html_is_live_that_could_act(case: Case, form: str) -> None:
    """Outside code there is no HTML script, frame, style, form or event handler."""
    data = case.render(form).decode()
    live = [piece for piece in page(data).html if LIVE.search(piece)] if data else []
    assert live == []


@pytest.mark.slow
@pytest.mark.fault("text that poses as another speaker")
@each("form", MARKDOWN)
@each("case", CASES, ids=str)
def test_no_control_character_is_left(case: Case, form: str) -> None:
    """A transcript contains no escape bytes, no control characters except newline and tab, and no bidi overrides."""
    data = case.render(form).decode()
    assert sorted({hex(ord(found)) for found in CONTROLS.findall(data)}) == []


@pytest.mark.breaks
@each("case", CASES, ids=str)
def test_the_head_is_yaml_of_one_line_a_key(case: Case) -> None:
    """The front matter has one line per key, whatever the folder, branch and title contain."""
    data = case.render(".md").decode()
    if not data:
        return
    lines = data.split("\n---\n", 1)[0].split("\n")[1:]
    values = [line.partition(": ") for line in lines]
    assert [key for key, _, _ in values if not key.isalpha()] == []
    assert [json.loads(value) for key, _, value in values if key not in ("tags", "date", "agent")]
    assert [value for key, _, value in values if key in ("date", "agent") and not PLAIN.fullmatch(value)] == []


def test_an_empty_file_gives_nothing() -> None:
    """A session without records produces neither front matter nor events."""
    empty = [case for case in CASES if "empty" in case.name]
    assert empty
    assert all(set(render_all_forms(case).values()) == {b""} for case in empty)


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", [TOO_LONG // 10, pytest.param(TOO_LONG, marks=pytest.mark.slow)], ids=["2 MB", "20 MB"]
)
def test_a_line_of_20_mb_is_a_line_like_others(tmp_path: Path, size: int) -> None:
    """A 20 MB message or result does not hide the messages around it, and the result is truncated in Markdown."""
    case = _around(tmp_path, [_result("x" * size), _said("y" * size)])
    events = rows(case.render(".jsonl"))
    assert said(events) == ["GOOD-1", "GOOD-2", "GOOD-3"]
    assert max(len(row["payload"].get("text", "")) for row in events) == size
    full = case.render(".full.md")
    assert f"… {size - 16_000:,} characters left out …".encode() in full
    assert full.count(b"x") < size / 2


@pytest.mark.parametrize("depth", [200, 253, 255, 1_025, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_nesting_is_a_record_like_others(tmp_path: Path, depth: int, opening: str) -> None:
    """Deep nesting in a call or an unknown record does not hide the messages around it."""
    closing = "]" if opening == "[" else "}"
    deep = opening * depth + "1" + closing * depth
    call = _raw(_call("DEEP"), deep)
    unknown = '{"type":"hologram","sessionId":"s","uuid":"u-deep","deep":' + deep + "}\n"
    case = _around(tmp_path, [call, unknown, _raw(_result("DEEP"), deep)])
    outputs = {form: data.decode() for form, data in render_all_forms(case).items()}
    assert said(rows(outputs[".jsonl"].encode())) == ["GOOD-1", "GOOD-2", "GOOD-3"]
    assert all(page(outputs[form]).words.count("GOOD-2 is said.") == 1 for form in MARKDOWN)


def test_a_fence_outgrows_every_run_of_backticks(tmp_path: Path) -> None:
    """A fence is longer than any run of backticks in the result it contains."""
    case = _around(tmp_path, [_result("`" * 500 + "\n# EVIL\n<script>\n" + "`" * 499)])
    shown = page(case.render(".full.md").decode())
    assert not [text for _, text in shown.headings if "EVIL" in text]
    assert not [piece for piece in shown.html if "script" in piece]


def _around(folder: Path, lines: list[str]) -> Case:
    """Return a case of three good messages, with these lines between the first and the second."""
    good = [_user("GOOD-1 is said."), *lines, _said("GOOD-2 is said."), _user("GOOD-3 is said.")]
    path = folder / "claude-made.jsonl"
    path.write_text("".join(good))
    return as_case(path)


_COUNT = iter(range(1_000_000))


def _record(kind: str, content: Any, **message: Any) -> str:
    row = {"type": kind, "uuid": f"u-{next(_COUNT)}", "sessionId": "s", "timestamp": "2026-03-02T09:00:00.000Z"}
    row |= {"cwd": "/home/me/shop", "message": {"role": kind, "content": content} | message}
    return json.dumps(row) + "\n"


def _user(text: str) -> str:
    return _record("user", text)


def _said(text: str) -> str:
    return _record("assistant", [{"type": "text", "text": text}], id="m", model="claude-opus-4-6")


def _call(value: str) -> str:
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls", "deep": value}}
    return _record("assistant", [block], id="m", model="claude-opus-4-6")


def _result(content: str) -> str:
    return _record("user", [{"type": "tool_result", "tool_use_id": "t1", "content": content}])


def _raw(line: str, value: str) -> str:
    """Replace the string DEEP of a record by raw JSON."""
    return line.replace('"DEEP"', value)

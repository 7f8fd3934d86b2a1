"""Every fixture produces exactly its golden files."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from katod import __version__
from katod.agents.sniffing import sniff
from katod.events import KINDS, from_json
from tests.golden.cases import FIXTURES, FORMS, GOLDEN, Case, cases
from tests.looping import each
from tests.support.reading import said
from tests.support.world import World

CASES = cases()
SECRET = b"vq7Lr2"  # prefix of the passwords in the fixtures
SAID = {"user.message": True, "assistant.message": False}
HIDDEN = ("context", "delegated", "agent-message")
PERSONS = ("You", "Task")
PLAIN = re.compile(r"[A-Za-z][\w .,:;?!/'\"()$+-]*[.:!?]")  # of which Markdown changes nothing
LONGEST = 15_000  # bytes of a handwritten fixture; real ones are longer


@pytest.mark.breaks
@each("case", CASES, ids=str)
@each("form", FORMS)
def test_a_fixture_gives_its_golden_file(case: Case, form: str) -> None:
    """The export of a fixture equals its golden file, byte for byte."""
    assert case.render(form) == case.golden(form).read_bytes(), "if meant: python -m tests.golden.update"


@each("case", CASES, ids=str)
def test_events_have_one_id_each_and_known_kinds(case: Case) -> None:
    """The ids of an export are unique, its kinds belong to the schema, and no field is null."""
    rows = [orjson.loads(line) for line in case.golden(".jsonl").read_bytes().splitlines()]
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["kind"] for row in rows} <= set(KINDS)
    assert not [row["id"] for row in rows if None in row.values() or _has_null(row)]
    assert all(from_json(row).id == row["id"] for row in rows)


@each("case", CASES, ids=str)
def test_nothing_is_told_twice(case: Case) -> None:
    """No two events of a native record have the same kind and payload."""
    rows = [orjson.loads(line) for line in case.golden(".jsonl").read_bytes().splitlines()]
    told = [(row["source"].get("providerEventId"), row["kind"], orjson.dumps(row["payload"])) for row in rows]
    named = [one for one in told if one[0] and one[1] != "session.start"]
    assert len(set(named)) == len(named)


@each("case", CASES, ids=str)
def test_all_that_was_said_is_in_the_transcript(case: Case) -> None:
    """Each plain line of a message is in the transcript once, in order, and below its speaker."""
    rows = [orjson.loads(line) for line in case.golden(".jsonl").read_bytes().splitlines()]
    found = [(line.speaker in PERSONS, line.words) for line in said(case.golden(".md").read_text())]
    wanted = _spoken(rows)
    assert [line for line in found if line in wanted] == wanted


@each("case", CASES, ids=str)
def test_export_knows_whose_file_it_is(case: Case) -> None:
    """The agent is detected from the first records of a fixture, or from its document."""
    spec = sniff(case.paths[0])
    assert spec is not None
    assert spec.name == case.agent


@pytest.mark.parametrize("name", ["claude/plain-turn.jsonl", "codex/plain-paginated.jsonl", "gemini/document.json"])
def test_the_command_line_gives_the_golden_file(world: World, name: str) -> None:
    """`katod export FILE` prints the golden file, except for katod's version."""
    printed = world.cli("export", str(FIXTURES / name))
    golden = (GOLDEN / name).with_suffix(".md")
    assert printed.replace(f"katod {__version__}", "katod").encode() == golden.read_bytes()


@pytest.mark.parametrize("case", [case for case in CASES if case.name.startswith("secrets")], ids=str)
def test_no_part_of_a_secret_is_left(case: Case) -> None:
    """No output contains any part of a secret, wherever text was truncated."""
    assert [form for form in FORMS if SECRET in case.render(form)] == []


def test_every_golden_file_has_its_fixture() -> None:
    """Every golden file belongs to a fixture."""
    wanted = {case.golden(form) for case in CASES for form in FORMS}
    assert {path for path in GOLDEN.rglob("*") if path.is_file()} == wanted


def test_fixtures_are_small_and_described() -> None:
    """Handwritten fixtures are short, and the fixtures' README lists every fixture."""
    told = (FIXTURES / "README.md").read_text()
    paths = [path for case in CASES for path in case.paths]
    assert not [path for path in paths if path.parent.name != "real" and path.stat().st_size > LONGEST]
    assert not [path for path in paths if _shown(path) not in told]


def _spoken(rows: list[dict[str, Any]]) -> list[tuple[bool, str]]:
    """Return the plain lines of the messages: whether a person said it, and the words."""
    own = [row for row in rows if row["kind"] in SAID and "subagent" not in row["session"]]
    shown = [row for row in own if row["payload"].get("subtype") not in HIDDEN and "pasted" not in row["payload"]]
    lines = [(SAID[row["kind"]], line.strip()) for row in shown for line in row["payload"]["text"].split("\n")]
    return [line for line in lines if PLAIN.fullmatch(line[1]) and line[1] != "/clear"]


def _shown(path: Path) -> str:
    return f"`{path.relative_to(FIXTURES)}`"


def _has_null(row: dict[str, object]) -> bool:
    """Return whether a payload has a null outside the fields copied from the agent (`input`, `raw`, `data`)."""
    payload = row["payload"]
    assert isinstance(payload, dict)
    return any(value is None for key, value in payload.items() if key not in ("input", "raw", "data"))

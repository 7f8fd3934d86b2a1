"""The documents are complete, their generated parts are current, and their links work."""

import inspect
import os
import re
import runpy
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import orjson
import pytest

from katod.agents import AGENTS
from katod.config import AgentSettings, Settings
from katod.discover.roots import find_roots
from katod.events import KINDS
from katod.log import EventLog
from tests import documents
from tests.documents import BLOCKS, DOCUMENTS, JSONL, README, ROOT, text
from tests.looping import each

pytestmark = pytest.mark.form
MOST_LINES = 150


def keys() -> Iterator[str]:
    """Yield every configuration key."""
    for table, value in Settings()._asdict().items():
        if table == "agents":
            yield from (f"agents.{agent}.{key}" for agent in AGENTS for key in AgentSettings._fields)
        else:
            yield from (f"{table}.{key}" for key in value._fields)


def payload_keys() -> dict[str, set[str]]:
    """Return the payload keys of each kind, from all events of the fixtures."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "fixtures/golden").rglob("*.jsonl"):
        for row in map(orjson.loads, path.read_bytes().splitlines()):
            found[row["kind"]] |= row["payload"].keys()
    return found


def prose(document: str) -> str:
    """Return a document without its code blocks."""
    return re.sub(r"^(`{3,}).*?^\1$", "", text(document), flags=re.DOTALL | re.MULTILINE)


def anchors(document: str) -> set[str]:
    """Return the anchors of a document's headings, as a forge generates them."""
    headings = re.findall(r"^#+ (.*)$", prose(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(document: str) -> Iterator[tuple[str, str]]:
    """Yield each relative link of a document: its target from the root of the repository, and its anchor."""
    for target in re.findall(r"\]\(<?([^)>\s]+)>?\)", prose(document)):
        if "://" not in target:
            name, _, anchor = target.partition("#")
            path = (ROOT / document).parent / name if name else ROOT / document
            yield os.path.relpath(path, ROOT), anchor


@each(("document", "name"), BLOCKS)
def test_a_generated_part_is_current(document: str, name: str) -> None:
    """A generated part equals katod's own output; `python -m tests.documents` rewrites it."""
    assert documents.block(document, name) == BLOCKS[document, name]()


def test_every_command_explains_itself_in_whole_lines() -> None:
    """Each command and option has a help text, and no line of a list of commands is cut at 80 columns."""
    silent = [" ".join(words) for words, command in documents.commands() if not command.help]
    silent += [
        f"{' '.join(words)} {option.opts[-1]}"
        for words, command in documents.commands()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    shown = (documents.help_text() + documents.reference()).splitlines()
    cut = [line for line in shown if line.endswith("...") and not line.startswith("Usage:")]
    assert (silent, cut) == ([], [])


def test_every_configuration_key_is_documented() -> None:
    """The commented default file has each key with its default; the table is generated from that file."""
    commented = [key for key, _, _ in documents.settings()]
    unexplained = [key for key, _, meaning in documents.settings() if not meaning and not key.endswith(".enabled")]
    assert sorted(commented) == sorted(keys())
    assert unexplained == []


def test_the_default_folders_of_the_agents_are_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each root that katod follows on a fresh machine is in the table of agents."""
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/you")
    rows = {row.split("`")[1]: row for row in documents.agents().splitlines()[2:]}
    wrong = [
        root
        for root in find_roots(Settings(), AGENTS)
        if f"`{str(root.path).replace('/home/you', '~')}`" not in rows[root.agent]
    ]
    assert (list(rows), wrong) == (sorted(AGENTS), [])


def test_every_agent_is_described() -> None:
    """Each agent has its rows in the tables of katod/agents/README.md."""
    content = text(documents.AGENTS_README)
    assert [name for name in AGENTS if content.count(f"`{name}`") < 2] == []


def test_who_marks_pastes_is_documented() -> None:
    """The table of what counts as typed says of each agent whether it marks pastes, as its `AgentSpec` does."""
    _, _, section = text(documents.AGENTS_README).partition("## What counts as typed")
    rows = [row.split("|") for row in section.partition("\n## ")[0].splitlines() if row.startswith("| `")]
    said = {name: cells[-2].strip() != "no" for cells in rows for name in cells[1].split("`")[1::2]}
    assert said == {name: spec.marks_pastes for name, spec in AGENTS.items()}


def test_every_event_kind_is_documented_with_its_payload() -> None:
    """The table has the kinds in order, and every payload key of the fixtures."""
    table = text(JSONL).partition("| kind | payload |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| `([a-z.-]+)` \| (.*) \|$", table, re.MULTILINE))
    missing = {
        kind: [key for key in names if not re.search(rf"`{key}\??`", rows[kind])]
        for kind, names in payload_keys().items()
    }
    assert tuple(rows) == KINDS
    assert {kind: names for kind, names in missing.items() if names} == {}


def test_every_log_event_is_documented() -> None:
    """The table of log events has all of them."""
    named = re.findall(r'self\._emit\("\w+", "([a-z._]+)"', inspect.getsource(EventLog))
    assert [event for event in named if f"| `{event}` |" not in documents.log_events()] == []


def test_links_lead_to_files_and_headings() -> None:
    """Every relative link points to a file of the repository, and to a heading if it has an anchor."""
    broken = [
        f"{document}: {where}#{anchor}"
        for document in DOCUMENTS
        for where, anchor in links(document)
        if not (ROOT / where).exists() or (anchor and (where not in DOCUMENTS or anchor not in anchors(where)))
    ]
    assert broken == []


def test_tables_of_modules_are_complete() -> None:
    """The README of a package that has a table of its modules has all of them."""
    unnamed = [
        str(path.relative_to(ROOT))
        for package in ("serve", "delivery")
        for path in (ROOT / "katod" / package).rglob("*.py")
        if path.stem != "__init__" and f"`{path.stem}`" not in text(f"katod/{package}/README.md")
    ]
    assert unnamed == []


def test_every_document_can_be_reached_from_the_readme() -> None:
    """Every document is linked, directly or through others."""
    reached, waiting = {README}, [README]
    while waiting:
        new = {where for where, _ in links(waiting.pop()) if where in DOCUMENTS} - reached
        reached |= new
        waiting += new
    assert set(DOCUMENTS) - reached == set()


def test_the_readme_is_short() -> None:
    """The README is short: it is read first, and everything else is documented next to what it describes."""
    assert len(text(README).splitlines()) <= MOST_LINES


def test_the_picture_in_the_readme_is_drawn_from_the_demo() -> None:
    """The committed picture is what its program draws now; run it again after changing the demo or the format."""
    folder = ROOT / "packaging/readme"
    assert runpy.run_path(str(folder / "picture.py"))["draw"]() == (folder / "demo.svg").read_text()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """There is exactly one line with the test command, and it is the one that CI looks for."""
    assert len(re.findall(r"^python3 -m venv .*pytest$", text(README), re.MULTILINE)) == 1
    assert "grep -E '^python3 -m venv .*pytest$' README.md" in (ROOT / ".ci/run").read_text()
    assert Path(README).name == "README.md"

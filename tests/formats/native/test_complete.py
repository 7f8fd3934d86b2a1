"""The fields are those of the two documents that list what agents record, read where they are kept, if they are."""

import os
import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.formats.native.sections import RENAMED, SAME
from tests.formats.native.table import MODULES, NATIVE, every, fields

_FOLDER = Path(os.environ.get("KATOD_CORPUS") or ROOT / "../shared/corpus").parent / "seeds"
_LISTS = _FOLDER / "event-kinds.md"
_MAPPING = _FOLDER / "translation-layer-breakdown.md"
_NAMES = {
    "Claude": "claude", "Claude Code": "claude", "Gemini": "gemini", "Gemini CLI": "gemini", "Codex": "codex",
    "Codex CLI": "codex", "OpenCode": "opencode", "Cursor": "cursor",
}  # fmt: skip
_NOTHING = ("None", "Nothing maps directly")
_SPAN = re.compile(r"`([^`]+)`")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _MAPPING.exists(), reason=f"no lists of fields in {_FOLDER} (KATOD_CORPUS names its sibling)"),
]  # fmt: skip


def sections(path):
    """Yield the headings, from the second level on, and the text of each section."""
    heads = {}
    for part in re.split(r"^(?=#{2,4} )", path.read_text(), flags=re.MULTILINE)[1:]:
        head, _, text = part.partition("\n")
        level = len(head) - len(head.lstrip("#"))
        heads = {at: name for at, name in heads.items() if at < level} | {level: head.strip("# ")}
        yield tuple(heads.values()), re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def bullets(text):
    """Return the bullets, each on one line."""
    text = text.replace("\n---\n", "")
    return [" ".join(one.split()) for one in re.split(r"^ *(?:-|\d+\.) ", text, flags=re.MULTILINE)[1:]]


def rows(text):
    """Return the cells of each row of a table, without its head."""
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return [cell for number, cell in enumerate(cells) if number > 1]


def keys(bullet):
    """Return what a bullet lists: the code spans before arrows, or the first one, or its first words."""
    left = bullet.partition("→")[0]
    if "→" in bullet and _SPAN.search(left):
        return [*_SPAN.findall(left), *re.findall(r"`([^`]+)` →", bullet)]
    if bullet.startswith("`"):
        return _SPAN.findall(bullet)[:1]
    return [re.split(r"[(:`.→—]", bullet.replace("**", ""))[0].strip()]


def mapped():
    """Return the fields of the mapping by agent."""
    found = defaultdict(set)
    for (head, *below), text in sections(_MAPPING):
        agent = _NAMES.get(head)
        if agent and below == ["Dropped fields"]:
            found[agent] |= set(_SPAN.findall(re.sub(r"\(role objects.*?\)", "", text)))
        elif agent and below:
            found[agent] |= {key for bullet in bullets(text) for key in keys(bullet) if not key.startswith(_NOTHING)}
        elif head.startswith("Heaviest"):
            found[""] |= {key for bullet in bullets(text) for key in keys(bullet)}
    return found


def listed():
    """Return the types, tools and sources by agent, and the kinds."""
    found = defaultdict(set)
    for path, text in sections(_LISTS):
        agent, head = next((_NAMES[name] for name in path if name in _NAMES), ""), path[-1]
        found[agent] |= {cells[cells[0] == "`decision`"].replace("`", "") for cells in rows(text)}
        if "encountered" in head or "Gaps" in head:
            found[agent] |= {key for bullet in bullets(text) for key in keys(bullet)}
        if "Fields" in head:
            found[agent] |= {name.rstrip("?") for name in _SPAN.findall(text)}
    return found


def names(module):
    """Return every name under which a module has a field."""
    return {name for field in every(module) for name in (field.path, *field.names)}


@pytest.mark.parametrize("module", NATIVE)
def test_each_field_of_an_agent_is_in_its_table(module):
    """What is mapped, renamed, taken apart, dropped and made up; the types, the tools and the sources."""
    assert (mapped()[module] | listed()[module]) - names(module) == set()


def test_everything_else_is_in_some_table():
    """The kinds, what holds events together, and what is said of several agents."""
    assert (listed()[""] | mapped()[""]) - set().union(*map(names, MODULES)) == set()


def test_the_sums_over_the_agents_are_those_of_the_tables():
    """How many fields each agent shares with the draft, and how many have another name there."""
    text = dict(sections(_MAPPING))[("Cross-Agent Summary",)]
    sums = {row[0]: [int(cell.split()[0]) for cell in row[1:]] for row in rows(text)[:2]}
    agents = ("claude", "gemini", "codex", "opencode", "cursor")
    assert sums == {
        "Direct matches": [len(fields(agent).get(SAME, ())) for agent in agents],
        "Renames": [len(fields(agent)[RENAMED]) for agent in agents],
    }

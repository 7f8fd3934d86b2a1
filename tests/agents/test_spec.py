"""What is known of an agent without a session of it: what it is called, and where it keeps its sessions."""

import re
import sys
from pathlib import Path
from typing import Final

import pytest

from katod.agents import AGENTS

ROOT: Final = Path(__file__).parents[2]
ROW: Final = re.compile(r"^\| (`[a-z`, ]+`) \| ([\w, ]+) \| .* \|$", re.MULTILINE)


@pytest.fixture(autouse=True)
def fresh_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin on Linux, without a variable that says where anything is."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/you")
    for name in {name for spec in AGENTS.values() for name in spec.variables}:
        monkeypatch.delenv(name, raising=False)


def test_agents_are_called_as_the_readme_calls_them() -> None:
    """By a name in settings, and by that of their product; who speaks in a transcript is called by words of that."""
    table = (ROOT / "README.md").read_text().partition("<!-- agents:begin -->")[2].partition("<!-- agents:end -->")[0]
    called = {}
    for names, products in ROW.findall(table):
        called |= dict(zip(names.replace("`", "").split(", "), products.split(", "), strict=True))
    assert called == {name: spec.product for name, spec in AGENTS.items()}
    assert [spec.name for spec in AGENTS.values()] == list(AGENTS)
    assert [spec.name for spec in AGENTS.values() if not set(spec.label.split()) <= set(spec.product.split())] == []


def test_sessions_are_looked_for_where_the_documents_say() -> None:
    """Below the home directory, on a machine on which nothing says otherwise."""
    said = (ROOT / "README.md").read_text() + (ROOT / "config/README.md").read_text()
    places = [str(root).replace("/home/you", "~") for spec in AGENTS.values() for root in spec.roots()]
    assert [place for place in places if f"`{place}`" not in said] == []


def test_each_variable_of_an_agent_says_where_its_sessions_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service is given these variables, so that it follows the sessions that are listed in a shell."""
    for spec in AGENTS.values():
        usual = spec.roots()
        for name in spec.variables:
            with monkeypatch.context() as patch:
                patch.setenv(name, "/elsewhere/data.db" if name == "OPENCODE_DB" else "/elsewhere")
                there = spec.roots()
            assert there != usual, name
            assert all(root in usual or root.is_relative_to("/elsewhere") for root in there), name


def test_on_a_mac_programs_keep_their_sessions_where_programs_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of them that are elsewhere on Linux; a server that is reached from an editor is as on Linux."""
    linux = {name: AGENTS[name].roots() for name in ("vscode", "zot")}
    monkeypatch.setattr(sys, "platform", "darwin")
    support = Path("/home/you/Library/Application Support")
    assert AGENTS["zot"].roots() == [support / "zot"]
    editors = [root for root in AGENTS["vscode"].roots() if root.is_relative_to(support)]
    assert [root.parts[-2:] for root in editors] == [
        (name, "User") for name in ("Code", "Code - Insiders", "VSCodium", "Code - OSS")
    ]
    assert [root for root in AGENTS["vscode"].roots() if root not in editors] == linux["vscode"][len(editors) :]

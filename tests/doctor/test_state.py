"""The state directory: one finding in place of all that comes of it."""

import pytest

from katod.doctor import daemon, ledger, projects, state
from katod.doctor.state import examine
from katod.errors import ConfigError
from katod.store.statefolder import Trouble

TROUBLE = "belongs to another user"


@pytest.fixture
def troubled(home, monkeypatch):
    """Return a home whose state directory cannot be used."""
    for module in (daemon, ledger, projects, state):
        monkeypatch.setattr(module, "trouble_with", lambda path: Trouble(path, TROUBLE, "chown"))
    return home


def test_a_state_directory_that_can_be_used_is_not_mentioned(home):
    """Nor one that does not exist yet."""
    assert home.examined(examine) == {}


def test_one_that_cannot_be_used_is_a_problem(troubled):
    """With its path, and what to do."""
    finding = troubled.examined(examine)["daemon.state"]
    assert (finding.level, finding.advice, finding.data) == ("problem", "chown", {"path": str(troubled.state)})
    assert finding.text.endswith(f"{troubled.state}: {TROUBLE}")


def test_what_comes_of_it_is_not_said(troubled, monkeypatch):
    """A pause and a list that cannot be read have no advice of their own; a start comes after the mending."""
    monkeypatch.setattr(daemon, "paused_since", lambda _: "?")

    def refuse(_):
        raise ConfigError("cannot be read", path="/allowed.json", hint="move it away")

    monkeypatch.setattr(projects.Allowed, "read", refuse)
    found = troubled.examined(daemon.examine)
    assert "daemon.paused" not in found
    assert found["daemon.running"].advice.startswith("first, repair the state directory; then ")
    assert troubled.examined(projects.examine) == {}
    monkeypatch.setattr(daemon, "paused_since", lambda _: "2026-02-10T22:36:00Z")
    assert "daemon.paused" in troubled.examined(daemon.examine)

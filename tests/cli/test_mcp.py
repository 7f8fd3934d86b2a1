"""`katod mcp`: what it says where it cannot serve; tests/mcp has the rest."""

import sys

from katod.cli import mcp


def test_the_extra_is_named_if_it_is_missing(world, monkeypatch):
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "katod.mcp.server", None)
    world.cli("mcp", code=1)
    assert "fast,mcp" in world._invoke(("mcp",), 1).exception.hint


def test_a_person_is_told_what_it_is_for(world, monkeypatch):
    """On a terminal, nobody would answer."""
    monkeypatch.setitem(sys.modules, "katod.mcp.server", type(sys)("katod.mcp.server"))
    monkeypatch.setattr(sys.modules["katod.mcp.server"], "serve", None, raising=False)
    monkeypatch.setattr(mcp, "is_terminal", lambda: True)
    world.cli("mcp", code=1)
    assert "started by an agent" in world.said

"""What the tests of one part of recording have in common."""

import pytest

from tests.support.parts import Parts
from tests.support.world import World


@pytest.fixture
def parts(tmp_path, monkeypatch) -> Parts:
    """All parts of katod, in a home that was swept once while it was empty."""
    return Parts(World(tmp_path / "home", monkeypatch, seen_empty=False))

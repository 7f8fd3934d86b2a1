"""What the tests of recording have in common."""

import pytest

from tests.support.parts import Parts
from tests.support.world import World


@pytest.fixture
def parts(tmp_path, monkeypatch) -> Parts:
    """Return all parts of katod, with a home that was swept once while it was empty."""
    return Parts(World(tmp_path / "home", monkeypatch, seen_empty=False))

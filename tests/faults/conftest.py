"""Fixtures for the fault tests."""

import tempfile
from pathlib import Path

import pytest

from tests.support.world import MEMORY


@pytest.fixture
def quick():
    """A folder in memory, where available, so that syncs cost no time."""
    with tempfile.TemporaryDirectory(prefix="katod-", dir=MEMORY) as folder:
        yield Path(folder)

"""Each test gets a world of its own."""

import tempfile
from pathlib import Path

import pytest

from .world import MEMORY, World


@pytest.fixture
def world(tmp_path):
    """A world on the disk."""
    return World(tmp_path)


@pytest.fixture
def quick():
    """A folder in memory, where there is one: nothing has to be waited for when it is synced."""
    with tempfile.TemporaryDirectory(prefix="katod-", dir=MEMORY) as folder:
        yield Path(folder)

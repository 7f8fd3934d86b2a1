"""Fixtures of the tests of faults."""

import tempfile
from pathlib import Path

import pytest

from tests.support.world import MEMORY


@pytest.fixture
def quick():
    """A folder in memory, where there is one: nothing has to be waited for when it is synced."""
    with tempfile.TemporaryDirectory(prefix="katod-", dir=MEMORY) as folder:
        yield Path(folder)

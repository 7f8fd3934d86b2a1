"""The repository of the draft for agent records, if KATOD_VAC_REPO names a clone: its example sessions and scripts."""

import os
import subprocess
from typing import Final

import pytest

_REPOSITORY: Final = os.environ.get("KATOD_VAC_REPO", "")
needed: Final = pytest.mark.skipif(
    not _REPOSITORY, reason="KATOD_VAC_REPO does not name a clone of the draft's repository"
)


def git(*arguments: str) -> bytes:
    """Return what git prints about the repository."""
    command = ["git", "-C", _REPOSITORY, *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout

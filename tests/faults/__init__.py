"""Kills, full disks, odd files and lost power: whatever happens, each event stands in its output once."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.checks")

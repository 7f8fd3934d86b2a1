"""Kills, full disks, unusual files and power loss: whatever happens, each event is written exactly once."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.checks")

"""Real agents, driven offline by a scripted model, while the daemon runs."""

import pytest

for module in ("client", "codex", "judge", "play", "scenario", "terminal"):
    pytest.register_assert_rewrite(f"{__name__}.{module}")

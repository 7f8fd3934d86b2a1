"""Real agents, driven offline by a scripted model, while the daemon runs."""

import pytest

for module in ("client", "codex", "daemon", "judge", "play"):
    pytest.register_assert_rewrite(f"{__name__}.{module}")

"""Real agents, driven offline against a scripted model, with the daemon running beside them."""

import pytest

for module in ("client", "codex", "daemon", "judge", "play"):
    pytest.register_assert_rewrite(f"{__name__}.{module}")

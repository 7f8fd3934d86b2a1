"""Real agents, driven offline against a scripted model, with the daemon running beside them."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.codex", f"{__name__}.daemon")

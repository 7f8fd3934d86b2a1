"""Tests for setting one key in the text of the configuration."""

import tomllib

import pytest

from katod.cli.config import default_config
from katod.setup.configkey import with_key

TEXTS = [
    "", "[recording]\n", "[recording]", '[recording]\nauto = true\n\n[log]\nlevel = "info"\n',
    '[log]\nlevel = "info"\n', '[log]\nlevel = "info"', "  [ recording ] # mine\nrescue = false # not yet\n",
    "[recording]\nrescue_redact = false\n", default_config().decode(),
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_key_is_set_and_nothing_else_changes(text: str) -> None:
    """Wherever its table is, and whether or not the key is in it."""
    before, after = tomllib.loads(text), tomllib.loads(with_key(text, "recording", "rescue", "true"))
    assert after["recording"].pop("rescue") is True
    before.setdefault("recording", {}).pop("rescue", None)
    assert after == before


def test_lines_and_comments_stay() -> None:
    """What its person wrote is theirs."""
    text = "# mine\n[recording]\n# why\nauto = true\n"
    assert with_key(text, "recording", "rescue", "true") == "# mine\n[recording]\nrescue = true\n# why\nauto = true\n"

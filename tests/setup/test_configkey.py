"""Tests for setting one key in the text of the configuration."""

import tomllib
from typing import Any

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
    before = tomllib.loads(text)
    for mark in ("", "\ufeff"):  # which some editors write at the beginning of a file
        after = with_key(f"{mark}{text}", "recording", "rescue", "true")
        assert after.startswith(mark)
        _is_set(before, tomllib.loads(after.removeprefix(mark)))


def _is_set(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert after["recording"].pop("rescue") is True
    rest = before | {"recording": {**before.get("recording", {})}}
    rest["recording"].pop("rescue", None)
    assert after == rest


def test_lines_and_comments_stay() -> None:
    """What its person wrote is theirs."""
    text = "# mine\n[recording]\n# why\nauto = true\n"
    assert with_key(text, "recording", "rescue", "true") == "# mine\n[recording]\nrescue = true\n# why\nauto = true\n"

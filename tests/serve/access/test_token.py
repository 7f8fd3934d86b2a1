"""The token that lets clients in."""

from pathlib import Path

import pytest

from katod.errors import ServeError
from katod.serve.access.token import NAME, own_token


def test_a_token_that_cannot_be_written_names_its_file(tmp_path: Path) -> None:
    """And so does one that cannot be read; it is made once."""
    (tmp_path / "state").write_text("a file")
    with pytest.raises(ServeError, match="the token cannot be written") as why:
        own_token(tmp_path / "state" / "below")
    assert why.value.path == tmp_path / "state" / "below" / NAME
    token = own_token(tmp_path / "own")
    assert own_token(tmp_path / "own") == token
    (tmp_path / "own" / NAME).write_bytes(b"\xff")
    with pytest.raises(ServeError, match="it is not text") as why:
        own_token(tmp_path / "own")
    assert why.value.path == tmp_path / "own" / NAME

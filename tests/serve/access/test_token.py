"""The token that lets clients in."""

from pathlib import Path

import pytest

from katod.errors import ServeError
from katod.serve.access.token import NAME, own_token, read_token


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


@pytest.mark.parametrize("token", ["short", "two words of many letters and more letters", "ä" * 60])
def test_a_token_that_is_too_easy_names_its_file(token: str, tmp_path: Path) -> None:
    """And says what a token has to be."""
    path = tmp_path / NAME
    path.write_text(token, encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(ServeError, match="one word of") as why:
        read_token(path)
    assert (why.value.path, why.value.hint) == (path, "delete the file for a new one")

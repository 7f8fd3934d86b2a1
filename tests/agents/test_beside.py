"""What agents keep beside their records."""

from pathlib import Path
from typing import Any

from katod.agents.beside import folder_of_uri, object_in
from tests.looping import each


@each(("text", "row"), [('{"a": 1}', {"a": 1}), ("[1]", {}), ("{", {}), ("", {}), ('{"a": "' + "x" * 100 + '"}', {})])
def test_only_an_object_that_can_be_read_counts(text: str, row: dict[str, Any], tmp_path_factory: Any) -> None:
    """Whatever else is there costs nothing."""
    path = tmp_path_factory.mktemp("b") / "file.json"
    assert object_in(path) == {}
    path.write_text(text)
    assert object_in(path, 50) == row


@each(
    ("uri", "folder"),
    [
        ("file:///home/me/my%20app", "/home/me/my app"), ("file://[x", ""), ("file://host/app", ""), ("/home/me", ""),
        ("vscode-remote://ssh/home/me", ""), (None, ""), (5, ""),
    ],
)  # fmt: skip
def test_only_a_local_folder_is_one(uri: Any, folder: str) -> None:
    """What is on another machine is none here."""
    assert folder_of_uri(uri) == folder


def test_half_a_character_hides_nothing_else(tmp_path: Path) -> None:
    """A client that cuts a title may leave half of its last character: the project beside it still counts."""
    path = tmp_path / "file.json"
    path.write_text(r'{"cwd": "/home/me/secret", "title": "the plan \ud83d"}')
    assert object_in(path)["cwd"] == "/home/me/secret"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """It is not read."""
    assert object_in(tmp_path) == {}

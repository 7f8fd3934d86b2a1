"""Copilot CLI: whether a client works at a session."""

from pathlib import Path

import pytest

from katod.agents.copilot import states
from katod.metadata import SessionStart


@pytest.mark.whole
@pytest.mark.parametrize(
    ("held", "runs"),
    [
        ({}, None),
        ({"inuse.6.hold": True}, True),
        ({"inuse.6.hold": False}, False),
        ({"inuse.6.hold": False, "inuse.7.hold": True}, True),
        ({"inuse.6.hold": False, "inuse.7.hold": None}, None),
        ({"inuse.6.lock": True}, None),
    ],
)
def test_one_client_that_has_its_file_open_is_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, held: dict[str, bool | None], runs: bool | None
) -> None:
    """Without such a file nothing is known: clients before 1.0.102 have none."""
    for name in held:
        (tmp_path / name).touch()
    monkeypatch.setattr(states, "has_open", lambda path, names: held[Path(path).name] if "copilot" in names else None)
    assert states.runs(tmp_path / "events.jsonl", "s", SessionStart()) is runs

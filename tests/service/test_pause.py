"""The file that says katod is paused."""

import shutil

from katod.service.pause import NAME, pause, paused_since, resume


def test_it_holds_since_when(tmp_path):
    """Without it, katod is not paused."""
    assert paused_since(tmp_path) == ""
    pause(tmp_path, "2026-02-10T23:00:00.000Z")
    assert paused_since(tmp_path) == "2026-02-10T23:00:00.000Z"
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    resume(tmp_path)
    resume(tmp_path)
    assert paused_since(tmp_path) == ""


def test_a_file_that_cannot_be_read_pauses(tmp_path):
    """Whoever made it wanted silence: an empty file, too large a one, a directory."""
    (tmp_path / NAME).write_text("")
    assert paused_since(tmp_path) == "?"
    (tmp_path / NAME).write_text("x" * 1000)
    assert paused_since(tmp_path) == "?"
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    assert paused_since(tmp_path) == "?"


def test_a_file_in_place_of_the_state_directory_is_no_pause(world):
    """`katod pause --end` could not end it: `status` and `doctor` say what is wrong, and no more than that."""
    shutil.rmtree(world.state)
    world.state.write_text("")
    assert paused_since(world.state) == ""
    problem = f"{world.state}: not a directory: katod keeps its state in it"
    world.cli("status", code=1)
    assert world.said.endswith(problem)
    found = world.cli("doctor", code=1)
    assert f"✗ {problem}\n      → move it away; transcripts are not affected" in found
    assert not any(word in found for word in ("pause", "allow"))

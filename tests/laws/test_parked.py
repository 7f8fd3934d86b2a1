"""Whatever keeps a recording from being written, `katod status` says what to do about it, and so does `katod doctor`."""

import ast
import errno
import os
import shutil
from inspect import getsource

import pytest

from katod import durable
from katod.errors import advice_on
from katod.write import output, root
from tests.support.records import Claude, says, user

ERRORS = "ENOSPC EDQUOT EROFS EACCES EPERM EIO EFBIG ENODEV ENXIO ENOTCONN ESTALE EHOSTDOWN ETIMEDOUT EMFILE ENFILE"


@pytest.fixture
def maker(world):
    """Return a session that is being recorded."""
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    world.once()
    return maker


def parked(world):
    """Return why the recording is not written, with the advice, as `status` and `doctor` show it, too."""
    problem = world.parked()["notes.md"]
    text = world.cli("status")
    assert f"notes.md: {problem}" in " ".join(text.split()), text
    assert f"notes.md: {problem}" in world.cli("doctor", code=1)
    assert problem.endswith(")")
    return problem


@pytest.mark.parametrize("name", ERRORS.split())
def test_what_the_system_says_comes_with_advice(world, maker, monkeypatch, name):
    """Whichever call of the system fails: to open the file, to write to it, or to sync it."""
    number = getattr(errno, name)

    def fails(*_, **__):
        raise OSError(number, os.strerror(number))

    for owner, call in ((durable, "write"), (durable, "sync"), (output, "open_file")):
        maker.say(user(f"more while {call} fails with {name}"))  # other words: these are no echo
        with monkeypatch.context() as patched:
            patched.setattr(owner, call, fails)
            world.once()
        problem = parked(world)
        assert problem == f"cannot be written: {os.strerror(number)} ({advice_on(number)})"
        world.once()
        assert world.parked() == {}


@pytest.mark.parametrize("what", ["not mounted", "another disk", "a folder in its place", "a link in its place"])
def test_what_katod_finds_out_itself_comes_with_advice(world, maker, what):
    """It is one of the things to do that `katod doctor` knows, or says what katod writes to."""
    if what == "not mounted":
        world.out.rename(world.home / "away")
    elif what == "another disk":
        world.out.rename(world.home / "away")
        world.out.mkdir()
    else:
        shutil.rmtree(world.out / "app")
        place = world.out / "app"
        place.symlink_to(world.home) if "link" in what else place.write_text("")
    advice = "is the disk mounted?" if "disk" in what or "mounted" in what else "katod writes only to regular files"
    maker.say(user("more"))
    world.once()
    assert f"({advice}" in parked(world)


@pytest.mark.parametrize("module", [output, root])
def test_no_error_of_an_output_is_without_advice(module):
    """But that of one that was replaced meanwhile, which is tried again at once."""
    calls = [node for node in ast.walk(ast.parse(getsource(module))) if isinstance(node, ast.Call)]
    raised = [call for call in calls if getattr(call.func, "id", "") == "OutputError"]
    assert len(raised) > 2
    lacking = [call.lineno for call in raised if "hint" not in {keyword.arg for keyword in call.keywords}]
    assert len(lacking) == (module is root), lacking  # a name that is no marker is never written

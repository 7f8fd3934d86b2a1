"""katod is killed at each system call that changes something; the next run completes everything."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from katod.write import output
from tests.support.live import until
from tests.support.world import CUT, World

from .table import note

pytestmark = pytest.mark.slow

SYSCALLS = (
    "write", "pwrite64", "fdatasync", "fsync", "openat", "mkdir", "mkdirat", "ftruncate", "rename", "unlink", "chmod",
)  # fmt: skip
PR_SET_PTRACER, ANYONE = 0x59616D61, -1


@pytest.fixture(autouse=True, scope="module")
def strace(tmp_path_factory):
    """Skip if nothing can be traced."""
    if not shutil.which("strace"):
        pytest.skip("no strace here")
    folder = tmp_path_factory.mktemp("try")
    if (
        once_traced(World(folder, seen_empty=False), "-o", str(folder / "log"), "-e", "inject=openat:signal=SIGKILL")
        == 0
    ):
        pytest.skip("strace cannot trace, or not kill, here")


def once_traced(world, *options):
    """Process everything in a traced child process; return its exit code (-9 if it was killed)."""
    waiting, release = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            ctypes.CDLL(None).prctl(PR_SET_PTRACER, ANYONE)
            os.read(waiting, 1)
            world.process()
            code = 0
        finally:
            os._exit(code)
    tracer = subprocess.Popen(["strace", "-f", "-qq", "-p", str(child), *options], stderr=subprocess.DEVNULL)
    until(lambda: tracer.poll() is not None or is_traced(child), "strace", poll=0.001)
    os.write(release, b".")
    _, status = os.waitpid(child, 0)
    tracer.wait(timeout=10)
    os.close(waiting)
    os.close(release)
    return os.waitstatus_to_exitcode(status)


def is_traced(process):
    """Return whether a process has a tracer."""
    return "TracerPid:\t0\n" not in Path(f"/proc/{process}/status").read_text()


def new(world):
    """Record a session to a new file and export it to another one."""
    session = world.session()
    session.append(session.user("before"), session.user("one\n::start\ntwo"), session.says("three"))
    session.append(
        session.runs("call-1", "four"),
        session.result("call-1", "no", error=True),
        session.user("five\n::export all.jsonl"),
    )
    return session


def more(world):
    """Append to an existing output."""
    session = new(world)
    world.process()
    session.append(session.says("six"), session.user("seven"), session.says("eight"))


def torn(world):
    """Continue after a run that was killed in the middle of its append."""
    more(world)
    assert world.once_until(half_an_append)


def half_an_append():
    """Make the process exit after half of an append."""

    def write(fd, data, _):
        os.write(fd, data[: len(data) // 2])
        os._exit(CUT)

    output._write = write


def begun(folder, scene):
    """Return a world in which katod has work to do."""
    world = World(folder)
    scene(world)
    return world


def expected(folder, scene):
    """Return what an undisturbed run writes, and how often it makes each system call."""
    world, log = begun(folder, scene), folder / "strace.log"
    names = ",".join(f"?{name}" for name in SYSCALLS)
    assert once_traced(world, "-o", str(log), "-e", f"trace={names}") == 0
    calls = Counter(re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.MULTILINE))
    for row in world.outputs():
        assert row.path.read_bytes() == world.export(row)
    return world.contents(), calls


SCENES = {new: "a new recording", more: "a running recording", torn: "a recording that a kill left half-written"}


@pytest.mark.fault("killed at any system call")
@pytest.mark.parametrize("scene", SCENES)
def test_a_kill_at_any_system_call_loses_and_doubles_nothing(quick, scene, request):
    """Whichever system call is the last, after the next run the outputs are as if there had been no kill."""
    wanted, calls = expected(quick / "undisturbed", scene)
    kills = Counter()
    for name, count in calls.items():
        for number in range(1, count + 1):
            world = begun(quick / f"{name}-{number}", scene)
            inject = f"inject={name}:signal=SIGKILL:when={number}"
            code = once_traced(world, "-o", os.devnull, "-e", f"trace={name}", "-e", inject)
            assert code in (0, -signal.SIGKILL)
            kills[name] += code != 0
            world.process()
            assert world.contents() == wanted, f"killed at {name} number {number}"
            shutil.rmtree(world.home)
    told = ", ".join(f"{count} at `{name}`" for name, count in kills.most_common() if count)
    note(request.node.nodeid, sum(kills.values()), f"Killed at each system call of {SCENES[scene]}: {told}.")
    assert {name for name, count in kills.items() if count} >= {"write", "pwrite64", "fdatasync", "openat"}
    assert sum(kills.values()) >= 0.9 * sum(calls.values())

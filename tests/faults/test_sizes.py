"""Sessions of hostile sizes: katod's memory stays bounded, and what follows is read once."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from katod.command.grammar import MOST_COMMANDS
from katod.store.ledger import Ledger
from katod.tail.reader import LINE_CAP
from tests.support.records import line
from tests.support.world import World

pytestmark = [
    pytest.mark.fault("hostile size"),
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"),
]

MB = 1024 * 1024
IDLE = 60 * MB  # katod with an ordinary session
STEP = 280 * MB  # one step of tiny lines: the records and events of half a megabyte, which takes about 240 MB
HELD = 12  # memory per byte of the longest line that is read: bytes, text, values, events, output
# Runs katod and prints its peak memory in KiB; a child's rusage would include the size of its parent.
PROGRAM = """
from katod.cli import main
try:
    main()
finally:
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


class Scene:
    """A session recorded as events, and the peak memory of each run of katod."""

    def __init__(self, world: World):
        self.world, self.session = world, world.session()
        self.write(self.session.user("::start log.jsonl"), self.session.says("BEFORE"))
        self.run()

    def write(self, *pieces):
        """Append to the session's file."""
        self.session.append(*pieces)

    def run(self) -> int:
        """Process everything in a child process; return its peak memory in bytes."""
        command = [sys.executable, "-c", PROGRAM, "run", "--once"]
        done = subprocess.run(command, env=self.world.environment, capture_output=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-3000:].decode()
        return int(done.stdout) * 1024

    def assert_follows(self):
        """Assert that later records are read once and that the file is read to its end; return the peak memory."""
        self.write(self.session.says("BEHIND"))
        peak = self.run()
        (output,) = self.world.outputs()
        written = output.path.read_bytes()
        assert [written.count(word) for word in (b'"BEFORE"', b'"BEHIND"')] == [1, 1]
        assert self.offset() == self.session.path.stat().st_size
        return peak

    def offset(self) -> int:
        """Return how far the session was read."""
        ledger = Ledger.read(self.world.state)
        try:
            (source,) = ledger.sources()
            return source.cursor.offset
        finally:
            ledger.close()


@pytest.fixture
def scene(quick):
    """A world in memory, so that large files are cheap to write."""
    return Scene(World(quick))


def test_a_line_of_100_mb_is_passed_over(scene):
    """A line that is too long is skipped and reported with its size, in constant memory."""
    scene.write(b'{"type":"user","message":"')
    for _ in range(100):
        scene.write(b"x" * MB)
    scene.write(b'"}\n')
    assert scene.run() < IDLE
    scene.assert_follows()
    (output,) = scene.world.outputs()
    assert b"bytes was too long to hold" in output.path.read_bytes()


def test_a_line_that_may_just_be_held_is_read(scene):
    """A message just below the longest permitted line costs a small multiple of its size."""
    size = LINE_CAP - MB
    scene.write(scene.session.says("x" * size))
    assert scene.run() < IDLE + HELD * size
    scene.assert_follows()
    (output,) = scene.world.outputs()
    assert output.path.stat().st_size > size


def test_a_line_without_an_end_waits_and_costs_nothing(scene):
    """A growing line stays unread and is never stored; once it ends, what follows is read."""
    before = scene.offset()
    scene.write(b'{"type":"user","message":"')
    for _ in range(8):
        scene.write(*[b"x" * MB] * 12)
        assert scene.run() < IDLE
        assert scene.offset() == before
    scene.write(b'"}\n')
    assert scene.run() < IDLE
    scene.assert_follows()


def test_very_many_tiny_lines_are_read_in_steps(scene):
    """Empty and nearly empty lines cost no more memory than one step of them."""
    for _ in range(4):
        scene.write(b"{}\n\n1\n[]\n \n" * 20_000)
    assert scene.run() < IDLE + STEP
    scene.assert_follows()


def test_a_hole_is_passed_over(scene):
    """A gigabyte of NUL bytes left by a copy is skipped, and the record after it is read."""
    with scene.session.path.open("ab") as file:
        file.truncate(scene.session.path.stat().st_size + 1024 * MB)
    assert scene.run() < IDLE
    assert scene.assert_follows() < IDLE


def test_a_million_commands_in_one_message(scene):
    """The first thousand commands of a message are obeyed in order, the rest are text, and what follows is read."""
    message = line(scene.session.user("::stop\n::start\n" * 500_000))
    scene.write(message)
    assert scene.run() < IDLE + HELD * len(message)
    scene.assert_follows()
    (output,) = scene.world.outputs()
    assert len(output.ranges) == 1 + MOST_COMMANDS / 2


def test_very_many_ids(scene):
    """However many calls stay open, and however long their ids are, katod's stored state stays small."""
    call = scene.session.runs("", "x")
    for number in range(20_000):
        call["uuid"] = f"call-{number}"
        call["message"]["id"] = call["message"]["content"][0]["id"] = f"{number}{'i' * (number % 300)}"
        scene.write(call)
    scene.write(*(scene.session.runs(f"{'i' * MB}{number}", "y" * MB) for number in range(20)))
    assert scene.run() < IDLE + HELD * 4 * MB  # the longest of these lines has about 3 MB
    scene.assert_follows()
    database = sqlite3.connect(next(scene.world.state.glob("*.db")))
    states = [row[0] for row in database.execute("SELECT state FROM sources UNION ALL SELECT printer FROM outputs")]
    assert max(len(state or "") for state in states) < MB / 4

"""The daemon is killed at random and restarted while agents write, a person edits outputs, and settings change.

`KATOD_FAULTS_SEED` repeats the random choices of a run, but not the timing of its processes. `KATOD_FAULTS_KILLS`
sets the number of kills.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.support.world import SOURCE

from . import daemon_under_test as dut
from .checks import difference, marks_of
from .person import Person, is_odd, name_of, outputs
from .table import note

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
WINDOWS = (dut.READING, dut.COMMITTED, dut.INSIDE, dut.APPENDED)
ENOUGH = int(os.environ.get("KATOD_FAULTS_KILLS", "10"))  # kills in each window
MANY = 200 * ENOUGH  # events
SECONDS = max(900, 24 * ENOUGH)  # at most; on a quiet machine it takes a sixth of that
LEFT_OVER = ("opencode.db", "ses_torn.json", "deadbeef-8a53-4c3e-9b5e-0a1d5f8f2c11.jsonl", "_left.jsonl")  # damaged
LEADS = (0, 0, 0.02, 0.1)
DIRECTORIES = ("katod", "katod-2", "katod-3")
SETTINGS = {
    "directory": ("~/katod", *(f"~/{name}" for name in DIRECTORIES)),
    "time_zone": ("UTC", "Europe/Berlin", "Asia/Tokyo"),
    "thinking": (True, False),
    "tools": ("none", "summary", "full"),
}


class Life:
    """One run of the daemon, from start to kill."""

    def __init__(self, world, log, *, full=False):
        self._log, self._from = Path(log.name), os.fstat(log.fileno()).st_size
        window, self.lock = world.home / "window", world.home / "append.lock"
        window.write_bytes(bytes([dut.STARTING, full]))
        self.lock.touch()
        self._window = dut.Window(window)
        command = [sys.executable, str(HERE / "daemon_under_test.py"), str(window), str(self.lock)]
        self.process = subprocess.Popen(command, env=world.environment, stdout=log, stderr=log)

    def begun(self):
        """Wait until the daemon does something."""
        self._wait(lambda: self._window.now != dut.STARTING, 10)

    def kill_in(self, window, rng):
        """Wait for a window, kill the daemon, and return the window in which it died."""
        self._wait(lambda: self._window.now == window, 2)
        if window == dut.INSIDE:
            time.sleep(rng.uniform(0, 0.002))
        self.end()
        return self._window.now

    def end(self):
        """Kill the daemon."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(timeout=10)

    def _wait(self, reached, seconds):
        deadline = time.monotonic() + seconds
        while not reached() and time.monotonic() < deadline:
            assert self.process.poll() is None, f"the daemon ended by itself: {self._said()}"
            time.sleep(0.00005)

    def _said(self):
        return self._log.read_bytes()[self._from :].decode(errors="replace")


@contextmanager
def writing(world, seed):
    """Yield the process of the agents, which stops at the word `stop`, and at the end of the block in any case."""
    arguments = [str(world.home), str(seed), str(world.home / "truth.json")]
    command = [sys.executable, "-m", "tests.faults.writer", *arguments]
    with subprocess.Popen(command, env=world.environment, cwd=SOURCE, stdin=subprocess.PIPE) as writer:
        try:
            yield writer
        finally:
            writer.kill()


def kill_often(world, rng, log):
    """Kill one daemon after another until each window has met enough kills; return them by window, and the person."""
    met, deadline = Counter(), time.monotonic() + SECONDS
    person = Person(world, rng)
    while any(met[window] < ENOUGH for window in WINDOWS) and time.monotonic() < deadline:
        unmounted = rng.random() < 0.04
        with person.disk_unmounted() if unmounted else nullcontext():
            met[live_once(world, rng, log, None if unmounted else person, met)] += 1
        while rng.random() < 0.3:
            person.disturb()
        if rng.random() < 0.1:
            person.move()
        if rng.random() < 0.2:
            world.configure(level="error", **{name: rng.choice(values) for name, values in SETTINGS.items()})
    return met, person


def live_once(world, rng, log, person, met):
    """Start a daemon, let the person disturb it, and kill it; return the window in which it died."""
    life = Life(world, log, full=rng.random() < 0.05)
    try:
        life.begun()
        time.sleep(rng.choice(LEADS))
        while person is not None and rng.random() < 0.4:
            person.disturb_a_running(life.lock)
        wanted = min(WINDOWS, key=lambda window: (met[window] >= ENOUGH, rng.random()))
        return life.kill_in(wanted if rng.random() < 0.96 else dut.IDLE, rng)
    finally:
        life.end()


def catch_up(world):
    """Let katod do in peace whatever is left."""
    command = [sys.executable, "-m", "katod", "run", "--once"]
    done = subprocess.run(command, env=world.environment, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()


def check_outputs(world, wanted):
    """Return descriptions of what is wrong with the outputs."""
    found = outputs(world)
    wrong = [f"{name} was not asked for" for name in found.keys() - wanted.keys()]
    wrong += [f"{name} is missing" for name in wanted.keys() - found.keys()]
    for name, path in found.items():
        marks, spoken = marks_of(path, edited=is_odd(path))
        truth = wanted.get(name, {"all": [], "said": [], "ok": 0})
        if said := difference(truth["all" if path.suffix == ".jsonl" else "said"], marks):
            wrong.append(f"{path}: {said}")
        if spoken != truth["ok"]:
            wrong.append(f"{path}: {spoken} times ok, not {truth['ok']}")
    return wrong


def check_exports(world):
    """Return the outputs that no person edited and that differ from their export; the person may have renamed them."""
    files = outputs(world)
    rows = [(row, files[name_of(row.path)]) for row in world.outputs() if not is_odd(row.path)]
    return [f"{path} is not its export" for row, path in rows if path.read_bytes() != world.export(row)]


def unexpected(log):
    """Return what the daemons logged, except outputs that were parked because the disk was full or not there."""
    lines = log.read_text().splitlines()
    return [line for line in lines if json.loads(line).get("event") != "output.parked"]


@pytest.mark.longest(SECONDS + 900)
@pytest.mark.fault("killed at random, repeatedly")
@pytest.mark.fault("settings changed before the restart")
def test_every_event_stands_in_its_output_once_however_often_the_daemon_is_killed(world, request):
    """After many kills in each window, every output has every event once and in order, and every note."""
    seed = int(os.environ.get("KATOD_FAULTS_SEED") or random.randrange(2**32))
    rng = random.Random(seed)
    print(f"seed {seed}, {world.home}")
    world.configure(level="error")
    for name in DIRECTORIES:
        (world.home / name).mkdir(exist_ok=True)
    with writing(world, seed) as writer:
        with (world.home / "daemon.log").open("ab") as log:
            met, person = kill_often(world, rng, log)
        writer.communicate(b"stop", timeout=10)
    catch_up(world)
    wanted = json.loads((world.home / "truth.json").read_text())
    marks = sum(len(rows["all"]) for rows in wanted.values())
    status = world.status()
    problems = [row for row in status["problems"] if not row["path"].endswith(LEFT_OVER)]
    wrong = [str(row) for row in (*status["parked"], *status["refused"], *problems)]
    wrong += check_outputs(world, wanted) + person.missing(outputs(world)) + check_exports(world)
    assert not wrong, "\n".join(wrong)
    assert not unexpected(world.home / "daemon.log")
    assert all(met[window] >= ENOUGH for window in WINDOWS)
    assert marks >= MANY
    told = ", ".join(f"{met[window]} {dut.NAMES[window]}" for window in dut.NAMES if met[window])
    note(
        request.node.nodeid,
        met.total(),
        f"Killed at random while {marks:,} events were written to {len(wanted)} outputs and a person added"
        f" {len(person.notes)} notes to them ({person.saved} while katod ran), renamed {person.moved} and unmounted"
        f" their disk {person.unmounted} times: {told}.",
    )

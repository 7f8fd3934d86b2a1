"""A home of its own for one test: the agents' folders, katod's settings, state and outputs, and katod itself."""

import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

import katod
from katod import config, daemon
from katod.log import EventLog, stderr_sink
from katod.record.ledger import Ledger
from katod.record.render import render_recording
from katod.record.replay import Stretch
from tests import program

from .records import Claude, Codex

SOURCE = Path(katod.__file__).parent.parent
POLL = 0.01
PATIENCE = float(os.environ.get("KATOD_PATIENCE", "20"))
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
ROOTS = {"claude": ".claude", "codex": ".codex"}
CUT = 99  # exit code of a process in which the power went out
AGENTS = {"claude": Claude, "codex": Codex}


class World:
    """Paths and verbs. `settings` are written to the configuration file as they are changed."""

    def __init__(self, folder):
        self.folder = folder
        self.state, self.config, self.out = folder / "state", folder / "katod.toml", folder / "out"
        for agent, session in AGENTS.items():
            self.root(agent).joinpath(*session.where).mkdir(parents=True)
        self.configure()

    def root(self, agent):
        return self.folder / ROOTS[agent]

    def configure(self, *, directory="out", zone="UTC", thinking=False, tools="summary", level="error", events=True):
        """Write the configuration file anew."""
        content = f"thinking = {json.dumps(thinking)}\ntools = {json.dumps(tools)}\n"
        output = f"directory = {json.dumps(str(self.folder / directory))}\ntime_zone = {json.dumps(zone)}\n"
        agents = "".join(f"[agents.{name}]\nroots = [{json.dumps(str(self.root(name)))}]\n" for name in ROOTS)
        rest = f'[log]\nlevel = "{level}"\n[watch]\nuse_events = {json.dumps(events)}\n'
        self.config.write_text(f"[output]\n{output}[content]\n{content}{rest}{agents}")

    @property
    def environment(self):
        names = {"HOME": self.folder, "KATOD_CONFIG": self.config, "KATOD_STATE_DIR": self.state, "PYTHONPATH": SOURCE}
        return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"} | {name: str(path) for name, path in names.items()}

    def session(self, number=1, agent="claude"):
        """Return a new session; the first 8 digits of its id are the number."""
        return AGENTS[agent](f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11", self.root(agent))

    def once(self):
        """Process all there is, in this process."""
        settings, umask = config.load(self.config), os.umask(0o077)
        try:
            daemon.start(settings, self.config, self.state, EventLog(stderr_sink(), settings.log.level), once=True)
        finally:
            os.umask(umask)

    def once_until(self, cut):
        """Process what there is in a process that `cut` changes first and may end; returns whether it was ended."""
        child = os.fork()
        if child == 0:
            code = 1
            try:
                cut()
                self.once()
                code = 0
            finally:
                if code:
                    traceback.print_exc()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        code = os.waitstatus_to_exitcode(status)
        assert code in (0, CUT), "katod failed: its traceback stands above"
        return code == CUT

    def katod(self, *arguments, check=True, prefix=()):
        """Run the program (under `prefix`, if there is one); returns the finished process, its output as bytes."""
        if not prefix:
            done = program.run(*arguments, environment=self.environment)
            assert not check or done.returncode == 0, done.stderr.decode()
            return done
        command = [*prefix, sys.executable, "-m", "katod", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, timeout=60, check=False)
        assert not check or done.returncode == 0, done.stderr.decode()
        return done

    def status(self):
        return json.loads(self.katod("status", "--json").stdout)

    def parked(self):
        """Return what `katod status` shows as parked: file name to problem."""
        return {Path(row["output"]).name: row["problem"] for row in self.status()["parked"]}

    def outputs(self):
        """Return the ledger's rows of all outputs."""
        ledger = Ledger.read(self.state)
        if ledger is None:
            return []
        rows = ledger.outputs()
        ledger.close()
        return rows

    def export(self, output):
        """Return the bytes that `katod export` gives for a recording."""
        return self.katod("export", "--recording", str(output.id)).stdout

    def rendered(self, output):
        """Return the same without a process of its own."""
        ledger = Ledger.read(self.state)
        stretches = [Stretch(s.path, s.identity, s.cursor.offset) for s in ledger.sources_of(output.session)]
        key = ledger.session(output.session).key
        ledger.close()
        return "".join(render_recording(output, key, stretches, EventLog())).encode()


def until(probe, what, seconds=PATIENCE, poll=POLL):
    """Return the first true value of `probe()`; fail, naming `what`, when none comes in time."""
    deadline = time.monotonic() + seconds
    while not (value := probe()):
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(poll)
    return value

"""A whole disk loses power again and again, wherever katod is; what was on it survives, and any part of the rest.

`KATOD_FAULTS_SEED` repeats the random choices of a run. `KATOD_FAULTS_CRASHES` sets the number of power losses.
"""

import os
import random
import signal
import time
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from katod.model import SessionKey
from katod.rescue import rescuer
from katod.rescue.copyfile import members, pieces
from katod.rescue.names import place_of
from katod.service.control import FOLDER, Request, enqueue
from tests.support.inprocess import InProcess
from tests.support.records import line, says, user
from tests.support.world import CUT, World, in_new_process

from .mounted import missing, mounted
from .person import Person, outputs
from .power import common
from .table import note
from .test_kills import check_exports, check_outputs
from .writer import Talk, truth

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
CRASHES = int(os.environ.get("KATOD_FAULTS_CRASHES", "240"))
EACH = 30  # power losses of one home
SESSIONS = 4
TURNS = 12  # records between two losses, at most
EXPORTS = "all"
OLD = 31 * 86_400  # seconds; the agent deletes a session after 30 days, when it starts next
SYNCS, CHANGES = "syncs", "changes"
OWNED = {"katod", "state", "katod.toml", "app", ".claude", ".codex", ".local", EXPORTS}


class Asking:
    """What the person asked for in the shell, and waits for."""

    def __init__(self, world, talk):
        name = talk._name()
        talk.outputs[f"exp-{name}"] = list(talk.history)
        key = (talk.session.agent, talk.session.session, "")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.talk = talk
        self.answer = enqueue(world.state, Request(key, "export", f"exp-{name}", now))

    @property
    def is_answered(self):
        """Whether there is an answer. Nothing here can be refused."""
        if not self.answer.exists():
            return False
        assert not self.answer.read_bytes().strip(b"\0")
        return True


class OldSessions:
    """Sessions that their agent is about to delete, which katod saves."""

    def __init__(self, world):
        self._world = world
        self.folder = world.home / ".local" / "share" / "katod" / "rescued"
        self.sessions = []

    def add(self):
        """Write another one."""
        session = self._world.session(0x500 + len(self.sessions))
        session.say(user(f"old words {len(self.sessions)}"), says("answer"))
        then = time.time() - OLD
        os.utime(session.path, (then, then))
        self.sessions.append((session, session.path.read_bytes()))

    def _place(self, session):
        return place_of(self.folder, SessionKey("claude", session.session, ""))

    def delete_saved(self):
        """Let the agent delete what was saved; yield the folders in which it did."""
        for session, _ in self.sessions:
            if session.path.exists() and self._place(session).exists():
                session.path.unlink()
                yield session.path.parent

    def wrong(self):
        """Return what is not saved, or not whole, and what else is there."""
        found = [f"{path} is left over" for path in self.folder.rglob("*") if path.suffix not in ("", ".md", ".zip")]
        for number, (session, content) in enumerate(self.sessions):
            place = self._place(session)
            if not place.exists():
                found.append(f"{session.path} is not saved")
                continue
            with members(place) as (about, archive):
                there = [b"".join(pieces(archive, file.name)) for file in about.files]
            found += [] if there == [content] else [f"{place} is not what was saved"]
            text = place.with_suffix(".md").read_text()
            found += [] if f"old words {number}" in text else [f"{place} has no transcript"]
        return found


class Scene:
    """A home on a disk that loses power."""

    def __init__(self, disk, seed):
        self.rng = random.Random(seed)
        self.disk = disk
        self.world = World(disk.folder / "home", seen_empty=False)
        self.world.configure(level="error", rescue=True)
        self.disk.settle()
        self.met = Counter()
        self.lengths = {}  # how many syncs and changes there were in the longest of the last runs
        self.talks, self.asked = [], []
        self.written = {}  # what each session's file is to contain
        self.person = Person(self.world, self.rng)
        self.old = OldSessions(self.world)

    # -- what happens while katod does not run ----------------------------------------------------------

    def write(self):
        """Let the agents write, and the person ask; all of that is on disk."""
        for path, records in self._turns(self.rng.randrange(TURNS)):
            append(path, records)
        if self.rng.random() < 0.15:
            self.old.add()
        if self.rng.random() < 0.2 and (talks := [talk for talk in self._free() if talk.history]):
            self.asked.append(Asking(self.world, self.rng.choice(talks)))
        self.disk.settle()

    def _free(self):
        """Return the sessions that nothing was asked for that still waits: what it is to contain is what is there now."""
        self.asked = [asking for asking in self.asked if not asking.is_answered]
        waiting = [asking.talk for asking in self.asked]
        return [talk for talk in self.talks if talk not in waiting]

    def _turns(self, number):
        """Return what the agents write next: paths and records."""
        return [turn for _ in range(number) if (turn := self._turn())]

    def _turn(self):
        if sum(talk.left > 0 for talk in self.talks) < SESSIONS:
            self.talks.append(Talk(self.world, len(self.talks) + 1, self.rng))
        talks = [talk for talk in self._free() if talk.left > 0]
        if not talks:
            return None
        talk = self.rng.choice(talks)
        path, records = talk.session.path, b"".join(map(line, talk.turn()))
        self.written[path] = self.written.get(path, b"") + records
        return path, records

    def _write_rest(self):
        """Let the agents write what they had not written when the power failed; what was torn is whole again."""
        for path, content in self.written.items():
            there = path.read_bytes() if path.exists() else b""
            if there != content:
                os.truncate(path, common(there, content)) if there else None
                append(path, content[common(there, content) :])

    # -- katod ------------------------------------------------------------------------------------------

    def run(self, act):
        """Let katod do something until the power fails, if it does; return whether it did."""
        code = in_new_process(partial(self._act, act), ends=(0, CUT, -signal.SIGBUS))
        failed = self.disk.failed_at
        assert failed or code == 0, code
        return bool(failed)

    def _act(self, act):
        try:
            act()
        except BaseException:
            if self.disk.failed_at:
                os._exit(CUT)
            raise

    def lose_power(self, act, *arguments):
        """Let the power fail while katod does something, or behind it."""
        kind = self.rng.choice((SYNCS, CHANGES))
        before, usual = self.disk.count(kind), self.lengths.get((act, kind), 20)
        self.disk.arm(kind, self.rng.randint(1, usual))
        self.run(partial(act, *arguments))
        self.met[window(self.disk.failed_at)] += 1
        self.lengths[act, kind] = max(self.disk.count(kind) - before + 1, usual * 9 // 10, 5)
        self.met.update(kinds_of(self.disk.survive(self.rng.randrange(2**32))))

    def lose_power_after_deletions(self):
        """Let katod save what is old, and the agent delete it then; what katod had on disk is all there is."""
        self.disk.arm("", 0)
        assert not self.run(self.world.process)
        for folder in self.old.delete_saved():
            self.disk.settle(folder)
        self.met[window("")] += 1
        self.met.update(kinds_of(self.disk.survive(self.rng.randrange(2**32))))

    def calm(self, act):
        """Let katod do something in peace."""
        self.disk.arm("", 0)
        assert not self.run(act)
        self.disk.settle()

    def begin(self):
        """Let katod see the home, without a session in it, for the first time."""
        for _ in range(self.rng.randrange(3)):
            self.lose_power(self.world.process)
        self.calm(self.world.process)

    def export_all(self):
        """Bring a folder of exports up to date."""
        self.world.cli("export", "--all", "-o", str(self.world.home / EXPORTS))

    def follow(self, turns):
        """Follow the sessions while the agents write to them; theirs is on disk at once."""
        with mock.patch.dict(os.environ, self.world.variables):
            katod = InProcess(self.world)
            for path, records in turns:
                append(path, records)
                self.disk.settle(path)
                katod.turn()
            katod.stop()

    def live(self, crashes):
        """Let agents, a person and katod work while the power fails so many times."""
        self.begin()
        while self.met.total() == 0 or sum(self.met[name] for name in WINDOWS) < crashes:
            self.write()
            chance = self.rng.random()
            if chance < 0.4:
                turns = self._turns(TURNS)
                self.disk.settle()  # the folders of new sessions
                self.lose_power(self.follow, turns)
                self._write_rest()
            elif chance < 0.5:
                self.lose_power_after_deletions()
            else:
                self.lose_power(self.export_all if chance < 0.6 else self.world.process)
            if self.rng.random() < 0.2:
                self.calm(self.world.process)
                self.person.disturb()
                self.disk.settle()

    # -- what is promised -------------------------------------------------------------------------------

    def wrong(self):
        """Let katod do in peace what is left; return descriptions of what is wrong then."""
        for _ in range(2):
            self.calm(self.world.process)
        status, wanted = self.world.status(), truth(self.talks)
        found = [str(row) for row in (*status["parked"], *status["refused"], *status["problems"])]
        found += check_outputs(self.world, wanted) + check_exports(self.world)
        found += self.person.missing(outputs(self.world)) + self._wrong_exports()
        found += [f"{asking.answer} is not answered" for asking in self.asked if not asking.is_answered]
        return found + self.old.wrong() + self._left_over()

    def _left_over(self):
        """Return the files that nobody asked for."""
        home, state = self.world.home, self.world.state
        found = [path for path in home.iterdir() if path.name not in OWNED]
        found += [path for path in state.iterdir() if path.name not in STATE]
        found += [path for path in (state / FOLDER).iterdir() if path.suffix != ".answer"]
        found += [path for path in home.glob("katod/**/*") if path.suffix in (".tmp", ".part")]
        return [f"{path} is left over" for path in found]

    def _wrong_exports(self):
        """Return what is wrong in the folder of exports after it was brought up to date."""
        self.calm(self.export_all)
        there, fresh = self.world.home / EXPORTS, self.disk.folder.with_name("fresh")
        self.world.cli("export", "--all", "-o", str(fresh))
        mine, new = (Counter(path.read_bytes() for path in folder.rglob("[!.]*.md")) for folder in (there, fresh))
        gone = sum(not session.path.exists() for session, _ in self.old.sessions)
        found = [f"{there} lacks {(new - mine).total()} exports"] if new - mine else []
        found += [f"{there} has too many exports"] if (mine - new).total() > gone else []
        return found + [f"{path} is left over" for path in there.glob(".*") if path.name != ".katod-export.jsonl"]


STATE = {
    "archives.json",
    "excluded.json",
    "rescue.json",
    "ledger.db",
    "ledger.db-wal",
    "ledger.db-shm",
    "lock",
    "home.json",
    "running.json",
    FOLDER,
}
WINDOWS = (
    "at a sync of the ledger", "at a sync of an output", "at a sync of a directory", "at another sync",
    "at a write", "at a change of names", "after katod's end",
)  # fmt: skip
NAMES, ORDER = "power loss: a name is not on the disk", "power loss: two files, in either order"
ONE_OF_TWO = ("data of an output alone", "data of the ledger alone")


def append(path, records):
    """Append to a file as an agent does."""
    with path.open("ab", buffering=0) as file:
        file.write(records)


def window(failed_at):
    """Return the moment at which the power failed."""
    what, _, path = failed_at.partition(" ")
    if not what:
        return "after katod's end"
    if what == "fsyncdir":
        return "at a sync of a directory"
    if what == "fsync":
        place = "the ledger" if "ledger.db" in path else "an output" if path.startswith("/home/katod/") else ""
        return f"at a sync of {place}" if place else "at another sync"
    return "at a write" if what in ("write", "truncate") else "at a change of names"


def kinds_of(losses):
    """Return the kinds of what was lost."""
    fates = {path: fate for path, fate in losses["files"].items() if fate != "all" and not path.endswith("-shm")}
    lost = {"the ledger" if "ledger.db" in path else "outputs" for path in fates if not path.endswith("lock")}
    kept = {"outputs" for path, fate in losses["files"].items() if fate == "all" and "/katod/" in path}
    found = ["names"] if losses["names"] else []
    found += ["data of an output alone"] if "outputs" in lost and "the ledger" not in lost else []
    found += ["data of the ledger alone"] if "the ledger" in lost and "outputs" not in lost else []
    found += ["data of both"] if len(lost) == 2 else []
    found += ["the ledger, and no output"] if "the ledger" in lost and kept else []
    return found + sorted({f"{fate} kept" for fate in fates.values()})


@pytest.mark.longest(1800)
@pytest.mark.fault("power loss", NAMES, ORDER)
def test_whatever_the_disk_kept_every_event_stands_in_its_output_once(tmp_path, request, monkeypatch):
    """After many power losses of a whole disk, every output has every event once, and nothing else is anywhere."""
    seed = int(os.environ.get("KATOD_FAULTS_SEED") or random.randrange(2**32))
    met, done = Counter(), 0
    monkeypatch.setattr(rescuer, "PATIENCE", 0.0)
    while done < CRASHES:
        print(f"seed {seed}")
        folder = Path(tmp_path / f"{seed}")
        folder.mkdir()
        with mounted(folder) as disk:
            scene = Scene(disk, seed)
            scene.live(min(EACH, CRASHES - done))
            wrong = scene.wrong()
        assert not wrong, f"seed {seed}:\n" + "\n".join(wrong)
        met.update(scene.met)
        done, seed = sum(met[name] for name in WINDOWS), seed + 1
    told = ", ".join(f"{met[name]} {name}" for name in WINDOWS)
    lost = ", ".join(f"{name} {met[name]}" for name in sorted(met.keys() - set(WINDOWS)))
    cases = {"power loss": done, NAMES: met["names"], ORDER: sum(met[name] for name in ONE_OF_TWO)}
    note(request.node.nodeid, cases, f"Power losses of a whole disk: {told}. What was lost, and how often: {lost}.")
    print(told, lost, sep="\n")

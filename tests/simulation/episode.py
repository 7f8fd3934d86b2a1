"""One run of the simulation: a world, its agents, its person, its disk and its katod, to which a plan happens."""

import os
import random
import time
import traceback
from contextlib import ExitStack, contextmanager
from unittest import mock

from watchdog.events import FileCreatedEvent, FileDeletedEvent, FileModifiedEvent

from katod.discover import catalog
from katod.record.catchup import CatchUp
from katod.service import control
from katod.service.control import Request
from tests.faults.checks import difference, marks_of
from tests.faults.person import Person, is_odd, name_of, outputs
from tests.faults.test_kills import DIRECTORIES, SETTINGS
from tests.support.inprocess import InProcess

from .keeping import MOMENT, Archive, Copies, Keeping
from .seam import Killed, Seam
from .talk import Chat, wanted

NOBODY = ("", "", "")
MOST_CHATS = 5
LATER = 100_000.0  # seconds, after which everything that waits is due
# How often each thing happens, in comparison with the others.
WEIGHTS = {
    "write": 60, "talk": 3, "look": 24, "hint": 12, "turn": 6, "kill": 8, "vanish": 2, "restart": 2, "note": 5,
    "edit": 3, "move": 2, "fill": 3, "unmount": 2, "settings": 1, "clock": 1, "ask": 4, "pause": 2, "rewind": 1,
    "rewrite": 1, "delete": 0.3, "check": 1, "archive": 0.3, "rescue": 2, "clean": 0.5, "forget": 0.2, "follow": 4,
}  # fmt: skip


def draw_plan(seed, length):
    """Return so many steps, each with a seed of its own: without some of them, the others stay what they are.

    In each plan some things happen more often than in others, or never: so that some meet that rarely would.
    """
    rng = random.Random(seed)
    weights = [weight * rng.choice((0, 0.3, 1, 1, 5)) for weight in WEIGHTS.values()]
    kinds = rng.choices(list(WEIGHTS), [60, *weights[1:]], k=length)
    return [(kind, rng.getrandbits(48)) for kind in kinds]


class DyingKatod(InProcess):
    """katod in this process, which can die while it starts."""

    def __init__(self, world):
        self._ledger = self._left_running = None
        super().__init__(world)

    def vanish(self):
        if self._ledger is not None:
            self._ledger.close()
        if self._left_running is not None:
            self._left_running.detach()
        os.umask(self._umask)
        self._lock.release()


class Episode(Keeping):
    """What a plan happens to. A step that is not possible where it stands does nothing."""

    def __init__(self, world, now):
        self.world = world
        self.now = now  # what the clock says, in seconds
        self.seam = Seam()
        self.chats = []
        self.person = Person(world, random.Random(0))
        self.katod = None
        self.away = None  # where the unmounted disk is, and the directory without it
        self.is_paused = False
        self.kills = self.steps = 0
        self.failed = []  # errors of katod itself, which it isolates and retries
        self.archive, self.copies = Archive(world), Copies(world)
        self.directory = "~/katod"
        world.configure(level="error", rescue=True)
        for name in DIRECTORIES:
            (world.home / name).mkdir(exist_ok=True)

    @contextmanager
    def going_on(self):
        """Let time and the disk be those of the simulation within the block."""
        with ExitStack() as stack:
            stack.enter_context(self.seam.in_place())
            stack.enter_context(mock.patch.object(time, "time", self._time))
            stack.enter_context(mock.patch.object(time, "time_ns", lambda: int(self.now * 1e9)))  # noqa: PT008 - it goes on
            # The time of a file's last change, which no program can set, would be that of the machine.
            stack.enter_context(mock.patch.object(catalog, "_is_by_the_clock", return_value=True))
            for where, name in ((catalog.Catalog, "note_failed"), (CatchUp, "_failed")):
                stack.enter_context(mock.patch.object(where, name, self._noting(getattr(where, name))))
            yield
            if self.katod is not None:
                self.katod.vanish()

    def _noting(self, real):
        def note(of, what, error):
            self.failed.append("".join(traceback.format_exception(error)))
            return real(of, what, error)

        return note

    def _time(self):
        return self.now

    def play(self, plan):
        """Let a plan happen; return what is wrong, and after how many steps that was seen."""
        with self.going_on():
            for number, (kind, seed) in enumerate(plan, 1):
                self.steps = number
                rng = self.person._rng = random.Random(seed)
                self.now += rng.uniform(3, 100)  # what is written within a second may be an echo
                wrong = getattr(self, f"do_{kind}")(rng)
                if wrong:
                    return wrong, number
            return self.do_check(random.Random(0)), len(plan)

    # -- agents -------------------------------------------------------------------------------------

    def do_talk(self, rng):
        """An agent begins a session."""
        if sum(chat.left > 0 for chat in self.chats) < MOST_CHATS:
            chat = Chat(self.world, len(self.chats) + 1, rng)
            chat.is_paused = self.is_paused
            self.chats.append(chat)
            chat.write(rng)

    def do_write(self, rng):
        """An agent writes a record, or a part of one."""
        if busy := [chat for chat in self.chats if chat.left > 0]:
            rng.choice(busy).write(rng)
        else:
            self.do_talk(rng)

    def do_rewind(self, rng):
        """A person takes back the last turns of a session that katod has read."""
        chat = self._quiet(rng)
        if chat is not None and chat.can_rewind:
            chat.rewind(rng)

    def do_rewrite(self, rng):
        """An agent writes a whole file again."""
        chats = [chat for chat in self.chats if chat.begun and chat.exists and not chat.is_stored]
        if chats:
            rng.choice(chats).rewrite()

    def do_delete(self, rng):
        """The person deletes a session that katod has read, in the agent."""
        if (chat := self._quiet(rng)) is not None and len(chat.turns) > 20:
            self._delete(chat)

    def _quiet(self, rng):
        """Return a session, once katod has recorded all of it; None if it cannot now."""
        if self.seam.full:
            return None
        chats = [chat for chat in self.chats if chat.begun and chat.left > 0]
        for chat in self.chats:
            chat.answer()
        return rng.choice(chats) if chats and self._calm() else None

    # -- katod --------------------------------------------------------------------------------------

    def do_look(self, rng):
        """Katod sweeps, and steps each source once."""
        self._let(lambda katod: katod.step())

    def do_hint(self, rng):
        """The watcher names some of the files, late or without a reason; what else it had to say is lost."""

        def step(katod):
            for chat in self.chats:
                if rng.random() < 0.5:
                    kind = rng.choice((FileCreatedEvent, FileModifiedEvent, FileDeletedEvent))
                    katod._discovery.hints.on_any_event(kind(str(chat.path)))
            katod._schedule.queue(katod._discovery.hinted()[0])
            katod._step_due(time.monotonic() + LATER)

        self._let(step)

    def do_follow(self, rng):
        """What has fallen behind catches up, before what is new was read."""
        self._let(lambda katod: katod._pipeline.follow(time.monotonic() + LATER))

    def do_turn(self, rng):
        """Katod does all that there is to do now."""
        self._let(lambda katod: katod.turn())

    def do_kill(self, rng):
        """Katod is killed at one of its next durable calls, or while it starts after that."""
        for _ in range(rng.randint(1, 2)):
            self.seam.kill_at(int(rng.paretovariate(0.7)), tears=rng.random() < 0.5)
            if rng.random() < 0.5:
                self._let(lambda katod: katod.turn(later=rng.choice((0.0, LATER))))
            else:
                self.do_look(rng)
        self.seam.revive()

    def do_vanish(self, rng):
        """Katod is killed between two steps."""
        if self.katod is not None:
            self.katod.vanish()
            self.katod = None
            self.seam.revive()

    def do_restart(self, rng):
        """Katod is stopped."""
        if self.katod is not None:
            self._let(lambda katod: katod.stop())
            self.katod = None

    def _let(self, act):
        """Let katod do something; start it if it does not run. Return whether it survived."""
        try:
            if self.katod is None:
                self.katod = DyingKatod.__new__(DyingKatod)
                self.katod.__init__(self.world)
            act(self.katod)
        except Killed:
            self.kills += 1
            self.do_vanish(None)
            return False
        return True

    # -- the person ---------------------------------------------------------------------------------

    def do_note(self, rng):
        """The person appends a line to an output."""
        if self.away is None:
            self.person.append(end=rng.choice(("\n", "\n", "")))

    def do_edit(self, rng):
        """The person saves an output with an editor."""
        if self.away is None:
            self.person.insert()

    def do_move(self, rng):
        """The person gives an output another name or folder."""
        if self.away is None:
            self.person.move()

    def do_ask(self, rng):
        """The person starts or stops a recording in the shell, once what was typed has its answer."""
        chat = self._quiet(rng)
        if chat is None or chat.is_paused:
            return
        if chat.recording:
            self._ask(rng, Request(tuple(chat.key), "stop", "", MOMENT))
            chat.stop()
        else:
            name = chat.start()
            self._ask(rng, Request(tuple(chat.key), "start", name, MOMENT))

    def do_pause(self, rng):
        """The person pauses katod, or ends the pause, once what was typed has its answer."""
        if self._quiet(rng) is None:
            return
        self._ask(rng, Request(NOBODY, "resume" if self.is_paused else "pause", "", MOMENT))
        for chat in self.chats:
            chat.resume() if self.is_paused else chat.pause()
        self.is_paused = not self.is_paused

    def _ask(self, rng, request):
        """Request something, and let katod carry it out, whenever it is killed meanwhile."""
        control.enqueue(self.world.state, request)
        if rng.random() < 0.5:
            self.seam.kill_at(rng.randint(1, 30))
        while not self._let(lambda katod: katod._take_requests()):
            self.seam.revive()
        self.seam.revive()
        self._calm()

    def do_settings(self, rng):
        """The person changes the settings; while a disk is unmounted, that would give its recordings up."""
        if self.away is not None:
            return
        chosen = {name: rng.choice(values) for name, values in SETTINGS.items()}
        self.world.configure(level="error", rescue=True, **chosen)
        self.directory = chosen["directory"]
        if self.katod is not None:
            self._let(lambda katod: katod._reload())

    # -- the machine --------------------------------------------------------------------------------

    def do_clock(self, rng):
        """The clock is set, and katod looks before and after: a file that changed before its last look may be a backup.

        Where katod tells new commands from history by the clock, they are too old then.
        """
        if not self._calm() or any(chat.is_echoing or chat.is_asking for chat in self.chats):
            return
        self.now += rng.choice((-86_400.0 * 40, -3600.0, 3600.0, 86_400.0 * 40))
        for chat in self.chats:
            chat.left *= not chat.is_dated
            chat.is_set_back = True
        self._calm()

    def do_fill(self, rng):
        """The disk is full, or only that of the outputs, or it has room again."""
        self.seam.full = "" if self.seam.full else rng.choice(("all", "outputs", "outputs"))

    def do_unmount(self, rng):
        """The disk of the outputs is unmounted, or mounted again."""
        if self.away is not None:
            self._mount()
            return
        folder = self.world.home / self.directory.removeprefix("~/")
        if any(path.stat().st_size for path in folder.glob("*/*.*")):  # otherwise it may not be known yet
            self.away = (folder.rename(folder.with_name(f"away-{folder.name}")), folder)
            if rng.random() < 0.5:
                folder.mkdir()

    def _mount(self):
        if self.away is not None:
            there, folder = self.away
            if folder.exists():
                folder.rmdir()  # fails if anything was written where the disk should be
            there.rename(folder)
            self.away = None

    def _calm(self):
        """Let katod do whatever is left, undisturbed; return whether it could read all there is."""
        if self.seam.full == "all" or self.away is not None:
            return False
        for chat in self.chats:
            chat.complete()
        for _ in range(3):
            self._let(lambda katod: katod.turn(later=LATER))
        return True

    # -- what must hold -----------------------------------------------------------------------------

    def do_check(self, rng):
        """Compare all that there is with what there has to be, once katod has done all of it."""
        self._mount()
        self.seam.full = ""
        for chat in self.chats:
            chat.answer()
        self._calm()
        self.do_restart(rng)
        found = outputs(self.world)
        cut = {f"{chat.number:08x}" for chat in self.chats if chat.is_cut}
        return [
            *self.failed, *self._contents(found), *self.person.missing(found), *self._states(), *self._exports(found, rng),
            *self.archive.wrong(cut), *self.copies.wrong({chat.key for chat in self.chats if chat.is_buried}), *self._remains(),
        ]  # fmt: skip

    def _contents(self, found):
        truth = wanted(self.chats)
        named = {name_of(row.path) for row in self.world.outputs() if row.held is None}  # others wait for words
        yield from (f"{name} was not asked for" for name in found.keys() - truth.keys())
        yield from (
            f"{name} is missing" for name, rows in truth.items() if name in named - found.keys() and any(rows.values())
        )
        for name in sorted(found.keys() & truth.keys()):
            path, rows = found[name], truth[name]
            marks, spoken = marks_of(path, edited=is_odd(path))
            if said := difference(rows["all" if path.suffix == ".jsonl" else "said"], marks):
                yield f"{name}: {said}"
            # Where a person changed the last lines before a torn append and wrote behind it, nothing tells where it began:
            # what is too short to be recognised is written again.
            if spoken < rows["ok"] or (spoken > rows["ok"] and not is_odd(path)):
                yield f"{name}: {spoken} times ok, not {rows['ok']}"

    def _states(self):
        """Yield where the ledger says something else than the files and the person."""
        rows = {name_of(row.path): row for row in self.world.outputs()}
        kept = [chat for chat in self.chats if not chat.is_forgotten]
        yield from (f"{name} was asked for" for name in wanted(kept).keys() - rows.keys())
        recorded = {chat.recording for chat in self.chats} - {None}
        opened = {name for name, row in rows.items() if row.open}
        if opened != recorded:
            yield f"recorded are {sorted(recorded)}, and the ledger says {sorted(opened)}"
        for name, row in rows.items():
            if row.problem or row.intent is not None:
                yield f"{name} waits: {row.problem}"
            elif row.made and row.path.exists() and row.committed != row.path.stat().st_size and not is_odd(row.path):
                yield f"{name} has {row.path.stat().st_size} bytes, and the ledger says {row.committed}"

    def _exports(self, found, rng):
        """Yield which of some outputs that nobody edited differ from their exports."""
        cut = {chat.number for chat in self.chats if chat.is_cut}
        rows = [
            row for row in self.world.outputs()
            if not is_odd(row.path) and name_of(row.path) in found and number_of(row.path) not in cut
        ]  # fmt: skip
        for row in rng.sample(rows, min(2, len(rows))):
            path = found[name_of(row.path)]
            if path.read_bytes() != self.world.export(row):
                yield f"{path.name} is not its export"


def number_of(path):
    """Return the number of the session of an output."""
    return int(name_of(path).rpartition(".")[0].split("-")[1], 16)

"""Anything that may happen to a session, an output and katod, in any order, checked against a small model."""

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.examples import examples
from tests.support.inprocess import InProcess
from tests.support.records import MAKERS, OTHER, SESSION, line, says, user
from tests.support.world import MEMORY, World

from .expected import SAY, START, STOP, Expected
from .modes import modes_hold
from .power import Cut, Disk

LINES = [make for make in MAKERS if "torn" not in make.ABSENT]
KEEP_IDS = ("claude", "copilot", "pi")  # copies of records keep their ids
HEADS = {
    ".md": re.compile(r"^---\n(?:.+\n)*---\n", re.MULTILINE),
    ".jsonl": re.compile(r"\}\n"),
}  # they name the session
CUTS = st.builds(Cut, st.integers(1, 2), st.sampled_from(("inside", "before", "behind")), st.floats(0, 0.99))


def text_of(path):
    """Return the text an editor would read; a kill may have torn a character."""
    return path.read_text(errors="surrogateescape")


class Happenings(RuleBasedStateMachine):
    """One session of one agent, recorded to one output."""

    # -- the agent --------------------------------------------------------------------------------

    @initialize(make=st.sampled_from(MAKERS), suffix=st.sampled_from(("md", "jsonl")))
    def begin(self, make, suffix):
        """Start the recording with the first message."""
        self._patch = pytest.MonkeyPatch()
        self._folder = tempfile.TemporaryDirectory(prefix="katod-", dir=MEMORY)
        self.world = World(Path(self._folder.name) / "home", self._patch)
        self.model, self.katod, self.copy = Expected(), None, None
        self.torn, self.away, self.forked, self.killed = b"", None, None, False
        self.session, self.ends, self.asked = make(self.world), [], set()
        self.exchange(START, f"::start talk.{suffix}")

    def is_there(self):
        """Return whether the agent can write."""
        return self.away is None

    def is_calm(self):
        """Return whether katod is recording and up to date; other changes to history are not modelled."""
        return self.is_there() and self.model.recording and not self.killed

    def is_readable(self):
        """Return whether katod may read the file."""
        return self.session.path.exists() and self.session.path.stat().st_mode & 0o400 != 0

    def is_file(self):
        """Return whether the session is a file; a database stays open in the agent, which is this process."""
        return self.is_there() and self.session.agent != "opencode"

    def has_lines(self):
        """Return whether records are lines, which can be cut."""
        return self.is_there() and type(self.session) in LINES

    def exchange(self, kind, command="::start"):
        """Append a prompt and an answer; some agents hold back a prompt without one."""
        for thing in (user(self.model.new(kind).replace("::start", command)), says(self.model.new(SAY))):
            self.session.say(thing)
            self.ends.append(len(self.session.items))
        self.asked.add(self.ends[-2])

    @precondition(is_there)
    @rule(kind=st.sampled_from((SAY, SAY, START, STOP)))
    def ask(self, kind):
        """The person types something, possibly a command."""
        self.heal()
        self.exchange(kind)

    @precondition(is_there)
    @rule(count=st.integers(1, 4))
    def go_on(self, count):
        """The assistant writes more messages."""
        self.heal()
        for _ in range(count):
            self.session.say(says(self.model.new(SAY)))
            self.ends.append(len(self.session.items))

    @precondition(has_lines)
    @rule(part=st.floats(0.01, 0.99))
    def tear(self, part):
        """The agent writes part of a record; the rest comes with the next one."""
        self.heal()
        *whole, last = self.session.records(says(self.model.new(SAY)))
        self.session.put(*whole)
        data = line(last)
        cut = max(1, min(len(data) - 2, int(len(data) * part)))
        with self.session.path.open("ab") as file:
            file.write(data[:cut])
        self.torn = data[cut:]
        self.torn_record = last

    def heal(self):
        """Write the rest of a partially written record."""
        if self.torn:
            with self.session.path.open("ab") as file:
                file.write(self.torn)
            self.session.items.append(self.torn_record)
            self.ends.append(len(self.session.items))
            self.torn = b""

    @precondition(is_calm)
    @rule(drop=st.integers(1, 4))
    def truncate(self, drop):
        """The agent truncates its file, removing the last messages."""
        self.torn = b""
        self.ends = self.ends[: max(2, len(self.ends) - drop)]
        if type(self.session) not in LINES and self.ends[-1] in self.asked:
            self.ends.pop()  # of two prompts without an answer between, these agents hold the second back
        kept = self.ends[-1]
        if type(self.session) in LINES:
            self.session.items = self.session.items[:kept]
            self.session.path.write_bytes(b"".join(map(line, self.session.items)))
        else:
            self.session.rewrite(lambda n, _: n < kept)

    @precondition(is_calm)
    @rule()
    def replace(self):
        """The agent rewrites its file under the same name."""
        self.torn = b""
        self.session.rewrite()

    @precondition(lambda self: self.is_file() and not self.killed)
    @rule()
    def remove(self):
        """The file is deleted."""
        self.heal()
        self.away = self.session.path.read_bytes()
        self.session.path.unlink()

    @precondition(lambda self: self.away is not None)
    @rule()
    def restore(self):
        """The file is restored."""
        self.session.path.write_bytes(self.away)
        self.away = None

    @precondition(lambda self: self.is_readable() and self.session.agent in KEEP_IDS and not self.forked)
    @rule()
    def fork(self):
        """The session is copied to another one, which continues."""
        self.heal()
        self.look()  # if both files are new, nothing shows which one is the copy
        self.forked = type(self.session)(self.world, OTHER)
        self.forked.path.parent.mkdir(parents=True, exist_ok=True)
        copied = self.session.path.read_bytes().replace(SESSION.encode(), OTHER.encode())
        self.forked.path.write_bytes(copied)
        self.look()  # a history that is unreadable later is as good as gone

    @precondition(lambda self: self.is_file() and not self.killed)
    @rule(mode=st.sampled_from((0, 0o600)))
    def chmod(self, mode):
        """The file becomes unreadable, or readable again."""
        self.session.path.chmod(mode)

    # -- katod ------------------------------------------------------------------------------------

    @rule()
    def look(self):
        """The running katod, or a newly started one, looks at everything."""
        with modes_hold():
            if self.katod is None:
                self.katod = InProcess(self.world)
            self.katod.turn()
        self.killed = False
        self.check()

    @rule(order=st.booleans())
    def end(self, order):
        """The running katod stops, cleanly or not."""
        if self.katod is not None:
            (self.katod.stop if order else self.katod.vanish)()
            self.katod = None

    @rule(cut=CUTS)
    def kill(self, cut):
        """The next katod is killed while it writes."""
        self.end(order=True)
        with modes_hold():
            self.world.once_until(cut.on(Disk(self.world.out)))
        self.killed = True  # how much of the source it has read is unknown

    def check(self):
        """Assert that the output matches the model."""
        if self.is_readable():
            self.model.read(self.session.items)
        outputs = self.world.files()
        assert len(outputs) == bool(self.model.recorded)
        for path in outputs:
            assert not self.model.difference(text_of(path)), text_of(path)

    # -- the person -------------------------------------------------------------------------------

    @property
    def output(self):
        """The output, or None if there is none."""
        return next(iter(self.world.files()), None)

    @rule(end=st.sampled_from(("\n", "")))
    def note(self, end):
        """The person appends a note."""
        if self.output:
            with self.output.open("a") as file:
                file.write(self.model.note() + end)

    @rule(at=st.floats(0, 1))
    def insert(self, at):
        """The person's editor inserts a line and saves by renaming a new file."""
        if self.output:
            lines = text_of(self.output).splitlines(keepends=True)
            if self.can_save("".join(lines)):
                lines.insert(1 + int(at * len(lines)), f"{self.model.note()}\n")
                self.save("".join(lines))

    @rule()
    def open(self):
        """The person's editor reads the output."""
        if self.output:
            self.copy = text_of(self.output)

    @precondition(lambda self: self.copy)
    @rule()
    def save_old(self):
        """The editor saves an earlier copy."""
        if self.can_save(self.copy):
            self.model.replaced(text_of(self.output), self.copy)
            self.save(self.copy)

    def can_save(self, content):
        """Return whether katod can recognise a new file with this content, or with a line more.

        Killed within the first lines of an output, it knows this one by its inode alone: see `test_editors`.
        """
        return not self.killed or HEADS[self.output.suffix].search(content) is not None

    def save(self, content):
        """Save as editors do."""
        path = self.output
        fresh = path.with_suffix(".new")
        fresh.write_text(content, errors="surrogateescape")
        fresh.rename(path)

    def teardown(self):
        """In the end everything is readable and all recorded messages are in the output."""
        if hasattr(self, "world"):
            try:
                if self.away is not None:
                    self.restore()
                self.heal()
                self.session.path.chmod(0o600)
                self.look()
                self.end(order=True)
            finally:
                self._patch.undo()
                self._folder.cleanup()


TestHappenings = pytest.mark.fault("any operations, in any order")(
    examples(1, 250, stateful_step_count=25)(Happenings.TestCase)
)

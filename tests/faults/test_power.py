"""Power is lost repeatedly at any point of an append; katod completes what the disk kept, without duplicates."""

import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.examples import examples, texts
from tests.support.world import MEMORY, World

from .power import FATES, Cut, Disk, replace
from .table import note

TEXTS = st.one_of(
    st.sampled_from(("ok", "ok", "# heading\n\ntext", "```\nopen fence", "grüße 你好 🎉")),
    texts(min_size=1, max_size=40),
    st.integers(100, 20_000).map(lambda size: "long " * (size // 5)),
)
CUTS = st.builds(Cut, st.integers(1, 3), st.sampled_from(("inside", "before", "behind")), st.integers(0, 3000))


MET = Counter()  # power cuts by window, and files by what the disk kept of them
WINDOWS = {"inside": "within an append", "before": "before its sync", "behind": "after its sync"}
ENOUGH = 10
ROUNDS = 8


class LostPower(RuleBasedStateMachine):
    """A recording that loses power wherever hypothesis chooses."""

    @initialize(agent=st.sampled_from(("claude", "codex")), name=st.sampled_from(("", " log.jsonl")))
    def begin(self, agent, name):
        """Start a recording with the second message of a session."""
        self._folder = tempfile.TemporaryDirectory(prefix="katod-", dir=MEMORY)
        self.world = World(Path(self._folder.name) / "live")
        self.session, self.calls = self.world.session(1, agent), 0
        self.session.append(*self.session.opening(), self.session.user("before"))
        self.session.append(self.session.user(f"one\n::start{name}\ntwo"))

    @rule(text=TEXTS)
    def say(self, text):
        """The agent writes a message."""
        self.session.append(self.session.says(text))

    @rule(text=TEXTS, failed=st.booleans())
    def call(self, text, failed):
        """The agent calls a tool."""
        self.calls += 1
        name = f"call-{self.calls}"
        self.session.append(self.session.runs(name, "make"), self.session.result(name, text, error=failed))

    @rule(command=st.sampled_from(("::stop", "::start", "::export", "::stop\n::start")))
    def command(self, command):
        """The person types a command."""
        self.session.append(self.session.user(f"before\n{command}\nbehind"))

    @rule()
    def run(self):
        """Process everything."""
        self.world.process()

    @rule(cut=CUTS, text=st.none() | TEXTS, data=st.data())
    def lose_power(self, cut, text, data):
        """Power is lost while katod appends, or while it completes an earlier append."""
        if text is not None:
            self.say(text)
        disk = Disk(self.world.out)
        if self.world.once_until(cut.on(disk)):
            MET[cut.when] += 1
            MET.update(disk.lose(lambda low, high: data.draw(st.integers(low, high))))

    def teardown(self):
        """After an undisturbed run, each output equals its export and the output of a katod that never lost power."""
        if hasattr(self, "world"):
            with self._folder:
                self.world.process()
                self._compare()

    def _compare(self):
        calm = World(Path(self._folder.name) / "calm")
        again = calm.session(1, self.session.agent)
        again.append(self.session.path.read_bytes())
        calm.process()
        wanted = {row.path.name: row for row in calm.outputs()}
        for row in self.world.outputs():
            content = row.path.read_bytes()
            assert content == self.world.export(row)
            assert content == wanted[row.path.name].path.read_bytes()
        assert len(wanted) == len(self.world.outputs())


@pytest.mark.slow
@pytest.mark.fault("power loss")
@given(hole=st.tuples(st.integers(0, 4000), st.integers(1, 4000)), end=st.integers(0, 4000), before=st.booleans())
@examples(2, 150)
def test_a_hole_before_bytes_that_arrived(hole, end, before):
    """NUL bytes in an append whose later bytes reached the disk are replaced by the lost text."""
    with tempfile.TemporaryDirectory(prefix="katod-", dir=MEMORY) as folder:
        world = World(Path(folder))
        session = world.session()
        session.append(session.user("::start\none"), session.says("two"))
        if before:
            world.process()
        committed = next(world.out.rglob("*.md")).stat().st_size if before else 0
        for number in range(20):
            session.append(session.says(f"{number} {'words ' * 20}"))
        assert world.once_until(Cut(1, "before", 0).on(Disk(world.out)))
        path = next(world.out.rglob("*.md"))
        content = bytearray(path.read_bytes())
        begin, size = hole
        stop = min(committed + begin + size, len(content))
        content[committed + begin : stop] = bytes(max(0, stop - committed - begin))
        replace(path, bytes(content[: max(committed, len(content) - end)]))
        world.process()
        assert path.read_bytes() == world.export(world.outputs()[0])


TestLostPower = pytest.mark.fault("power loss")(examples(1, 150, stateful_step_count=15)(LostPower.TestCase))


@pytest.mark.slow
@pytest.mark.fault("power loss")
def test_power_is_lost_in_every_window(request):
    """Power is lost often enough in every window, with every outcome that a disk may leave."""
    MET.clear()
    for _ in range(ROUNDS):
        run_state_machine_as_test(LostPower, settings=settings(max_examples=100, stateful_step_count=15))
        if min(MET[name] for name in (*WINDOWS, *FATES)) >= ENOUGH:
            break
    assert min(MET[name] for name in (*WINDOWS, *FATES)) >= ENOUGH
    cuts = ", ".join(f"{MET[name]:,} {told}" for name, told in WINDOWS.items())
    kept = ", ".join(f"{name} in {MET[name]:,} cases" for name in FATES)
    note(
        request.node.nodeid,
        sum(MET[name] for name in WINDOWS),
        f"Power losses: {cuts}. Of the lost append, {kept}.",
    )

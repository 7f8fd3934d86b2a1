"""The state directory removed or replaced under a running katod: it ends, and disturbs no other one."""

import shutil
import signal

import pytest

from katod.daemon import Daemon
from katod.errors import LedgerError, StateLost
from katod.service import interrupted
from katod.service.lock import LOCK_NAME, holder
from katod.store.ledger import LEDGER_NAME
from tests.examples import mostly
from tests.support.live import PATIENCE, Live, until
from tests.support.records import SESSION, Claude

from .checks import marks_of

KEY = f"claude:{SESSION}"


def removed(state):
    """It is deleted with all that is in it, at one moment: files that katod creates meanwhile would be in the way."""
    gone = state.with_name("gone")
    state.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def moved(state):
    """It is renamed."""
    state.rename(state.with_name("aside"))


def replaced(state):
    """A copy takes its place, as from a backup."""
    moved(state)
    shutil.copytree(state.with_name("aside"), state, ignore=shutil.ignore_patterns("*-shm"))


def without_ledger(state):
    """The ledger alone is deleted, with its log."""
    for path in state.glob(f"{LEDGER_NAME}*"):
        path.unlink()


def another_ledger(state):
    """A copy takes the place of the ledger."""
    shutil.copy(state / LEDGER_NAME, state / "new")
    (state / "new").rename(state / LEDGER_NAME)


def without_lock(state):
    """The lock alone is deleted: another katod could start."""
    (state / LOCK_NAME).unlink()


ENDING = (removed, moved, without_ledger)  # the ledger that is there afterwards, if any, does not know the recording
ACTS = (removed, moved, replaced, without_ledger, another_ledger, without_lock)


class Talk:
    """A session that is recorded, in which numbered marks are said."""

    def __init__(self, world):
        self.world, self.said = world, 0
        self.source, make = world.claude(), Claude()
        self.source.append(make.user("::start notes\nbegin"))
        self.make = make

    def speak(self):
        """Say one more."""
        self.said += 1
        self.source.append(self.make.says(f"mark-00000001-{self.said:06d}."))
        return f"mark-00000001-{self.said:06d}."

    def written(self):
        """Return the marks in the transcript."""
        return marks_of(self.world.out / "app" / "notes.md")[0]


def ended(live):
    """Wait until a katod has ended by itself; return its exit code and its log."""
    code = live.process.wait(PATIENCE)
    return code, live.said()


@pytest.mark.fault("state directory removed")
@pytest.mark.parametrize("act", mostly((removed, another_ledger, without_lock), ACTS), ids=lambda act: act.__name__)
def test_katod_ends_when_its_state_is_no_longer_there(world, act):
    """With exit code 1 and a line; the transcript stays, and nothing said afterwards is written to it.

    `status` names the recording: as one that ended, or as one that the next katod goes on with.
    """
    talk = Talk(world)
    with Live(world) as live:
        live.until_written(talk.speak())
        act(world.state)
        code, said = ended(live)
    assert (code, talk.written()) == (1, ["mark-00000001-000001."])
    assert '"state.lost"' in said
    assert f"katod: {world.state}: files that katod has open were removed or replaced: " in said
    talk.speak()
    status = world.status()
    named = [(one["id"], one["session"], one["output"]) for one in status["recordings"] + status["interrupted"]]
    assert named == [(1, KEY, str(world.out / "app" / "notes.md"))]
    assert bool(status["interrupted"]) is (act in ENDING)
    assert talk.written() == ["mark-00000001-000001."]


@pytest.mark.fault("state directory removed")
def test_a_step_that_fails_without_the_state_ends_in_the_same_way(world, monkeypatch):
    """What SQLite says of a ledger that was removed is not what happened; with the ledger, it is said as it is."""
    Talk(world)
    world.once()

    def fail(act, world):
        def look(_daemon, _now):
            act(world.state)
            raise LedgerError("the ledger cannot be written: disk I/O error")

        return look

    for act, error in ((lambda _state: None, LedgerError), (removed, StateLost)):
        monkeypatch.setattr(Daemon, "_look", fail(act, world))
        with pytest.raises(error):
            world.process(once=False)
        assert interrupted.read(world.state) == [] or error is StateLost
    assert [one.session for one in interrupted.read(world.state)] == [KEY]


@pytest.mark.slow
@pytest.mark.fault("state directory removed")
def test_a_second_katod_that_started_meanwhile_is_not_disturbed(world):
    """The first one takes none of its files away, and writes nothing more; what is said is written once."""
    talk = Talk(world)
    with Live(world) as first:
        first.until_written(talk.speak())
        first.process.send_signal(signal.SIGSTOP)
        shutil.rmtree(world.state)
        with Live(world) as second:
            number = holder(world.state)
            talk.source.append(talk.make.user("::start again\ngo on"))
            second.until_written("go on", "again.md")
            sign = world.state / "recording" / f"claude-{SESSION}"
            until(sign.exists, "what status lines show")
            first.process.send_signal(signal.SIGCONT)
            assert ended(first)[0] == 1
            second.until_written(talk.speak(), "again.md")
            assert (holder(world.state), sign.exists()) == (number, True)
            assert second.stop() == 0
    assert talk.written() == ["mark-00000001-000001."]
    assert marks_of(world.out / "app" / "again.md")[0] == ["mark-00000001-000002."]
    assert world.status()["interrupted"] == []  # the session is recorded again
    world.assert_live_is_batch()


@pytest.mark.slow
@pytest.mark.fault("state directory removed")
def test_the_note_stays_until_it_was_seen(world, monkeypatch):
    """Also when katod is started again, as services are at once; `--clear` hides it, and `forget` takes it out."""
    begin = Daemon._begin

    def lose(daemon):
        begin(daemon)
        removed(world.state)

    Talk(world)
    world.once()
    with monkeypatch.context() as patch:
        patch.setattr(Daemon, "_begin", lose)
        with pytest.raises(StateLost):
            world.process(once=False)
    assert [path.name for path in world.state.iterdir()] == [interrupted.NAME]
    assert (world.state.stat().st_mode & 0o777, (world.state / interrupted.NAME).stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )
    assert "begin" not in (world.state / interrupted.NAME).read_text()
    for _ in range(2):
        assert "notes.md (claude:6f1c2c1e)" in world.cli("status")
        world.once()
    note = (world.state / interrupted.NAME).read_bytes()
    world.cli("status", "--clear")
    assert world.status()["interrupted"] == []
    (world.state / interrupted.NAME).write_bytes(note)
    with Live(world):
        world.cli("forget", SESSION, "--yes")
    assert interrupted.read(world.state) == []

"""Which recordings are read, and when."""

from typing import Any, ClassVar

import pytest

from katod.delivery import readers as readers_
from katod.delivery.exchange import OfferedRecording
from katod.delivery.readers import Readers
from katod.log import EventLog
from katod.matrix.kind import MATRIX_DELIVERY
from tests.delivery.delivering import offered


class Clock:
    """A clock that is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


class FakeReader:
    """A position that needs as much memory as is said."""

    made: ClassVar[list[tuple[int, str]]] = []

    def __init__(self, _form: Any, recording: OfferedRecording, _log: EventLog, after: str) -> None:
        self.recording, self.problem, self.weight = recording, "", 10
        self.made.append((recording.row.id, after))

    def update(self, recording: OfferedRecording) -> None:
        """Go on with the same recording."""
        self.recording = recording


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock of the readers, which have positions of ten bytes each."""
    found = Clock()
    monkeypatch.setattr(readers_, "monotonic", found)
    monkeypatch.setattr(readers_, "RecordingReader", FakeReader)
    monkeypatch.setattr(readers_, "_MOST", 100)
    FakeReader.made = []
    return found


@pytest.fixture
def readers() -> Readers[Any]:
    """Return the positions in recordings of which `t<number>` was sent last."""
    return Readers(MATRIX_DELIVERY.form, EventLog(), lambda recording: f"t{recording.row.id}")


def test_what_was_read_rests_until_there_is_more(readers: Readers, clock: Clock) -> None:
    """But for one look after a while, at the answer that waits for its usage; then for ever."""
    recording = offered(1)
    reader = readers.of(recording)
    assert reader is not None
    readers.rest(reader)
    assert readers.of(recording) is None
    assert readers.pause() == 60
    clock.now += 61
    assert readers.of(recording) is reader
    assert readers.is_quiet(reader)
    readers.rest(reader)
    clock.now += 100_000
    assert readers.of(recording) is None
    assert readers.pause() == 600
    more = offered(1)
    assert readers.of(more) is reader
    assert not readers.is_quiet(reader)
    assert FakeReader.made == [(1, "t1")]


def test_what_is_not_offered_any_more_is_forgotten(readers: Readers, clock: Clock) -> None:
    """With that it rests: when it is offered again, it is read from where the room is."""
    recording = offered(1)
    reader = readers.of(recording)
    assert reader is not None
    readers.rest(reader)
    readers.keep({2: offered(2)})
    assert readers.of(recording) is not None
    assert FakeReader.made == [(1, "t1"), (1, "t1")]


def test_what_could_not_be_read_is_tried_again(readers: Readers, clock: Clock) -> None:
    """Now and then, as long as there is a problem."""
    recording = offered(1)
    reader = readers.of(recording)
    assert reader is not None
    reader.problem = "gone"
    for _ in range(5):
        readers.rest(reader)
        assert (readers.of(recording), readers.pause()) == (None, 30)
        clock.now += 30
        assert readers.of(recording) is reader


def test_what_failed_waits_longer_each_time(readers: Readers, clock: Clock) -> None:
    """Although there is more of it; until something of it is sent."""
    reader = readers.of(offered(1))
    assert reader is not None
    for number, wait in enumerate((1, 2, 4, 8), 1):
        assert readers.park(offered(1), reread=False) == (wait, number)
        assert readers.of(offered(1)) is None
        assert not readers.is_resting(offered(1))
        clock.now += wait
        assert readers.of(offered(1)) is reader
    readers.resume(reader)
    assert readers.park(offered(1), reread=True) == (1, 1)
    clock.now += 1
    assert readers.of(offered(1)) is not reader
    for _ in range(20):
        wait, _ = readers.park(offered(1), reread=False)
    assert wait == 300


def test_positions_are_dropped_when_they_need_too_much_memory(readers: Readers, clock: Clock) -> None:
    """Those that have rested longest; of all others, each is read once, however many there are."""
    recordings = [offered(number) for number in range(1, 16)]
    for recording in recordings:
        reader = readers.of(recording)
        assert reader is not None
        readers.rest(reader)
    assert [number for number, _ in FakeReader.made] == list(range(1, 16))
    assert all(readers.of(recording) is None for recording in recordings)
    assert readers.of(offered(15)) is not None
    assert len(FakeReader.made) == 15
    assert readers.of(offered(1)) is not None
    assert len(FakeReader.made) == 16


def test_positions_that_are_needed_are_kept(readers: Readers, clock: Clock) -> None:
    """Another recording has to wait until one of them rests."""
    needed = [readers.of(offered(number)) for number in range(1, 11)]
    assert readers.of(offered(11)) is None
    assert needed[0] is not None
    readers.rest(needed[0])
    assert readers.of(offered(11)) is not None


def test_another_range_begins_anew(readers: Readers, clock: Clock) -> None:
    """Where it begins may have been passed."""
    first = readers.of(offered(1))
    second = readers.of(offered(1, ranges=2))
    assert second is not first
    again = offered(1, ranges=2)
    assert readers.of(again) is second
    assert readers.of(again._replace(key=again.key._replace(id="another"))) is not second
    readers.keep({})
    assert readers.is_resting(offered(1)) is False

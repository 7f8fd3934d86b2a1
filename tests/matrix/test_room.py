"""What is sent to the room, skipped or given up, whatever the homeserver takes."""

from base64 import b64encode
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from katod.delivery.exchange import Exchange, Sent, SentAlready, SentQuery, Uploaded, Withdrawn
from katod.delivery.progress import ProgressReporter
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped
from katod.log import EventLog
from katod.matrix import room as rooms
from katod.matrix.lines import Large, RoomEvent
from katod.matrix.room import Room
from tests.delivery.delivering import offered
from tests.looping import each

Fault = Callable[[], None]


def line(txn: str, *, state_key: str | None = None, large: tuple[Large, ...] = ()) -> RoomEvent:
    return RoomEvent(txn, "x.prompt", {"text": txn}, state_key, large)


def broken() -> None:
    raise DeliveryError("the homeserver answers 500")


def limited() -> None:
    raise DeliveryError("limit", wait=3)


def forbidden() -> None:
    raise DeliveryRefused("the homeserver answers 403", status=403)


def too_large() -> None:
    raise DeliveryRefused("the homeserver answers 413", status=413)


class Server:
    """A homeserver that takes all events but those that have a fault, and the ledger, which knows what was sent."""

    def __init__(self) -> None:
        self.faults: dict[str, Fault] = {}  # by transaction, or by content that is uploaded
        self.taken: list[str] = []
        self.contents: list[Any] = []
        self.asked: list[SentQuery] = []
        self.uploads: list[bytes] = []
        self.checks = 0
        self.problem: Exception | None = None
        self.known: dict[str, str] = {}
        self.has_any = False
        self.logged: list[tuple[str, dict[str, Any]]] = []
        self.exchange = Exchange(lambda: None)
        self.exchange.ask = self._ask  # type: ignore[method-assign]
        log = EventLog(lambda _, name, fields: self.logged.append((name, fields)))
        self.room = Room(self, self.exchange, ProgressReporter("matrix", "!room", self.exchange, log), log)  # type: ignore[arg-type]

    def check_room(self) -> None:
        self.checks += 1
        if self.problem is not None:
            raise self.problem

    def send(self, txn: str, _type: str, content: Any, _state_key: str | None) -> str:
        self.faults.get(txn, lambda: None)()
        self.taken.append(txn)
        self.contents.append(content)
        return f"${txn}"

    def upload(self, data: bytes, _media_type: str) -> str:
        self.faults.get(data.decode(), lambda: None)()
        self.uploads.append(data)
        return f"mxc://{data.decode()}"

    def _ask(self, question: SentQuery) -> SentAlready:
        self.asked.append(question)
        known = {txn: self.known[txn] for txn in question.txns if txn in self.known}
        return SentAlready(known, {}, has_any=self.has_any)

    def reader(self, *lines: RoomEvent | str, number: int = 1) -> Any:
        """Return a reader with these lines, of a recording that is to be sent."""
        recording = offered(number)
        self.exchange.offer(self.exchange.offered() | {number: recording})
        rows = deque(one if isinstance(one, RoomEvent) else line(one) for one in lines)
        return SimpleNamespace(
            recording=recording, lines=rows, read=lambda: False, release=lambda: None, done=False, problem=""
        )

    def send_some(self, reader: Any) -> bool:
        return self.room.send_some(reader, quiet=False)

    def refused(self) -> list[str]:
        return [fields["txn"] for name, fields in self.logged if name == "delivery.refused"]

    def fails(self, reader: Any, times: int, error: type[Exception] = DeliveryError) -> None:
        for _ in range(times):
            with pytest.raises(error):
                self.send_some(reader)


@pytest.fixture
def server() -> Server:
    return Server()


@each(("quiet", "more", "released"), [(False, False, 0), (True, True, 0), (True, False, 1)])
def test_lines_that_wait_are_sent_when_nothing_has_come_for_long(quiet: bool, more: bool, released: int) -> None:
    """Not while there is more to read."""
    server, count = Server(), list[str]()
    reader = server.reader()
    reader.read = lambda: more
    reader.release = lambda: count.append("")
    assert server.room.send_some(reader, quiet=quiet) is more
    assert len(count) == released


def test_lines_are_sent_in_their_order_some_at_a_time(server: Server) -> None:
    """Then it is the turn of another recording; what the ledger has is not sent again."""
    names = [f"{number:02}" for number in range(25)]
    server.known = {"03": "$03"}
    reader = server.reader(*names)
    assert server.send_some(reader)
    assert server.taken == [name for name in names[:20] if name != "03"]
    assert server.send_some(reader)
    assert not server.send_some(reader)
    assert server.taken == [name for name in names if name != "03"]
    assert server.room.accepted == 24
    sent = [(report.txn, report.event) for report in server.exchange.take()[0] if isinstance(report, Sent)]
    assert sent == [(name, f"${name}") for name in server.taken]


def test_nothing_more_is_sent_of_a_recording_that_is_no_longer_wanted(server: Server) -> None:
    """It was forgotten, or its project is excluded now."""
    reader = server.reader("a", "b")
    server.faults["a"] = lambda: server.exchange.offer({})
    server.fails(reader, 1, Withdrawn)
    assert server.taken == ["a"]


@each("name", ["one", "two"])
def test_nothing_is_sent_once_a_recording_is_withdrawn_between_two_requests(name: str) -> None:
    """Not even what belongs to what was sent a moment ago."""
    server = Server()
    server.faults[name] = lambda: server.exchange.offer({})
    reader = server.reader(line("a", large=(large("one"), large("two"))))
    server.fails(reader, 1, Withdrawn)
    assert (len(server.uploads), server.taken) == (1 if name == "one" else 2, [])


def test_an_event_that_is_refused_is_skipped(server: Server) -> None:
    """The log names it, and the next one is sent."""
    server.faults["b"] = too_large
    assert server.send_some(server.reader("a", "b", "c"))
    assert (server.taken, server.refused(), server.room.accepted) == (["a", "c"], ["b"], 2)
    reports = [(report.txn, report.event) for report in server.exchange.take()[0] if isinstance(report, Sent)]
    assert reports == [("a", "$a"), ("b", ""), ("c", "$c")]


def test_an_account_that_may_not_send_skips_nothing(server: Server) -> None:
    """If the first event that it ever sends is forbidden, so are all others."""
    server.faults["a"] = forbidden
    server.fails(server.reader("a", "b"), 2, DeliveryStopped)
    assert (server.taken, server.refused()) == ([], [])


@each(("fault", "has_any"), [(forbidden, True), (too_large, True), (too_large, False)])
def test_a_room_that_refuses_all_events_loses_none(fault: Fault, has_any: bool) -> None:
    """They wait until it takes them, however often they are tried; the delivery goes on by itself."""
    server = Server()
    server.has_any = has_any
    reader = server.reader(*"abcdefgh", line("state", state_key=""))
    server.faults = dict.fromkeys("abcdefgh", fault)
    server.fails(reader, 20, DeliveryRefused)
    assert (server.taken, server.refused(), reader.lines[0].txn) == ([], [], "a")
    server.faults = {}
    while reader.lines:
        server.send_some(reader)
    assert server.taken == [*"abcdefgh", "state"]


def test_an_event_that_is_refused_waits_for_another_one(server: Server) -> None:
    """Without one, nobody knows whether it is refused for its own sake; a state says nothing of that."""
    server.faults["b"] = too_large
    reader = server.reader("a", "b", line("state", state_key=""))
    server.fails(reader, 3, DeliveryRefused)
    assert (server.refused(), server.taken) == ([], ["a"])
    reader.lines.append(line("c"))
    server.send_some(reader)
    assert (server.refused(), server.taken) == (["b"], ["a", "state", "c"])


def test_events_that_are_refused_at_last_stop_nobody(server: Server) -> None:
    """After a restart they come first, and nothing was taken yet: others are sent, and show that they alone are refused."""
    server.faults, server.has_any = dict.fromkeys(("one", "two", "three"), forbidden), True
    alone, pair, other = server.reader("one"), server.reader("two", "three", number=2), server.reader("a", number=3)
    server.fails(alone, 2, DeliveryRefused)
    server.fails(pair, 2, DeliveryRefused)
    server.send_some(other)
    server.send_some(alone)
    server.fails(pair, 1, DeliveryRefused)  # of the second one, nothing is known yet
    server.send_some(server.reader("b", number=4))
    server.send_some(pair)
    assert (server.taken, server.refused()) == (["a", "b"], ["one", "two", "three"])


def test_what_shows_that_an_event_is_to_blame_is_reported_after_it(server: Server) -> None:
    """And sent once: a later event that is known to be sent would hide that an earlier one was not."""
    server.faults["b"] = broken
    reader = server.reader("a", "b", line("state", state_key=""), "c")
    server.fails(reader, 7)
    server.exchange.take()
    server.send_some(reader)
    reports = [(one.txn, one.event) for one in server.exchange.take()[0] if isinstance(one, Sent)]
    assert reports == [("b", ""), ("state", "$state"), ("c", "$c")]
    assert server.taken == ["a", "state", "c"]


def test_events_in_a_row_are_given_up_one_after_the_other(server: Server) -> None:
    """If the one behind them is taken, which is sent once; a limit then only has to wait."""
    server.faults = dict.fromkeys("ab", broken)
    reader = server.reader("a", "b", "c")
    server.fails(reader, 7)
    server.faults["c"] = limited
    server.fails(reader, 5)
    assert server.refused() == []
    del server.faults["c"]
    server.fails(reader, 7)
    server.send_some(reader)
    assert (server.taken, server.refused()) == (["c"], ["a", "b"])


def test_an_event_may_be_taken_at_last(server: Server) -> None:
    """The homeserver works again: it is behind the one that was sent to find out."""
    server.faults["a"] = broken
    reader = server.reader("a", "b")
    server.fails(reader, 7)
    server.faults["b"] = server.faults.clear
    server.send_some(reader)
    assert (server.taken, server.refused()) == (["b", "a"], [])


def test_a_state_that_may_be_in_the_room_is_not_sent_behind_another_one(server: Server) -> None:
    """Its answer was lost: it would be there twice, or replace a newer one. Nobody waits for it."""
    reader, other = server.reader(line("one", state_key=""), "a"), server.reader(line("two", state_key=""), number=2)
    server.faults["one"] = broken
    server.fails(reader, 3)
    server.send_some(other)
    server.faults = {}
    server.send_some(reader)
    assert (server.taken, server.refused()) == (["two", "a"], [])
    reports = [(one.txn, one.event) for one in server.exchange.take()[0] if isinstance(one, Sent)]
    assert reports == [("two", "$two"), ("one", rooms.PASSED), ("a", "$a")]


def test_a_state_whose_answer_was_lost_is_sent_again_if_it_is_the_last_one(server: Server) -> None:
    """The server knows that one; one that only had to wait, or was refused, was not taken."""
    for fault, is_sent in ((broken, True), (limited, True)):
        server.faults["one"] = fault
        reader = server.reader(line("one", state_key=""))
        server.fails(reader, 2)
        server.faults = {}
        server.send_some(reader)
        assert (server.taken == ["one"]) is is_sent
        server.taken = []
    server.faults["one"] = limited
    reader = server.reader(line("one", state_key=""))
    server.fails(reader, 1)
    server.send_some(server.reader(line("two", state_key=""), number=2))
    server.faults = {}
    server.send_some(reader)
    assert server.taken == ["two", "one"]


def test_a_state_that_was_taken_is_not_sent_again_whatever_fails_behind_it(server: Server) -> None:
    """It was sent to find out whether others are taken, and is not reported yet."""
    server.faults = {"a": too_large, "b": broken}
    reader = server.reader("a", line("state", state_key=""), "b")
    server.fails(reader, 2)
    server.send_some(server.reader(line("other", state_key=""), number=2))
    server.faults = {"a": too_large}
    server.send_some(reader)
    assert server.taken == ["state", "other", "b"]


def test_a_state_that_is_forbidden_is_skipped(server: Server) -> None:
    """It needs a level of its own: without it, events can be sent all the same."""
    server.faults["state"] = forbidden
    server.send_some(server.reader(line("state", state_key=""), "a"))
    assert (server.taken, server.refused()) == (["a"], ["state"])


def test_an_event_that_is_never_taken_is_given_up(server: Server) -> None:
    """After eight tries, if the next one is taken; that one is sent once, and later events go on."""
    server.faults["poison"] = broken
    reader = server.reader("a", "poison", "b", "c")
    server.fails(reader, 7)
    assert (server.taken, server.refused()) == (["a"], [])
    assert server.send_some(reader)
    assert (server.taken, server.refused()) == (["a", "b", "c"], ["poison"])


def test_an_event_is_given_up_once_another_recording_was_taken(server: Server) -> None:
    """Then there need not be a next one that shows that the homeserver takes others."""
    server.faults["poison"] = broken
    reader, other = server.reader("poison"), server.reader("a", number=2)
    server.fails(reader, 12)
    assert server.refused() == []
    server.send_some(other)
    assert server.send_some(reader)
    assert (server.taken, server.refused()) == (["a"], ["poison"])


def test_the_next_event_that_is_not_sent_shows_whether_others_are_taken(server: Server) -> None:
    """One that the ledger has shows nothing; nothing is given up while all fail, or the room cannot be looked at."""
    server.faults = dict.fromkeys(("poison", "b"), broken)
    server.known = {"a": "$a"}
    reader = server.reader("poison", "a", "b")
    server.fails(reader, 12)
    assert (server.taken, server.refused()) == ([], [])
    del server.faults["b"]
    server.problem = DeliveryError("no answer")
    server.fails(reader, 3)
    assert (server.taken, server.refused()) == ([], [])
    server.problem = None
    assert server.send_some(reader)
    assert (server.taken, server.refused()) == (["b"], ["poison"])


def test_a_limit_gives_nothing_up(server: Server) -> None:
    """The server asks to wait: that says nothing of the event."""
    server.faults["a"] = limited
    reader = server.reader("a", "b")
    server.fails(reader, 30)
    assert (server.taken, server.refused()) == ([], [])
    del server.faults["a"]
    server.send_some(reader)
    assert server.taken == ["a", "b"]


def test_tries_that_failed_do_not_count_for_another_event(server: Server) -> None:
    """Nor those before one that was taken."""
    server.faults["a"] = broken
    reader = server.reader("a", "b", "c")
    server.fails(reader, 7)
    server.faults = {"b": broken}
    server.fails(reader, 7)
    assert (server.taken, server.refused()) == (["a"], [])
    assert server.send_some(reader)
    assert (server.taken, server.refused()) == (["a", "c"], ["b"])
    assert server.room._failing == {}  # katod may run for months


def large(words: str, *, is_text: bool = True) -> Large:
    data = words if is_text else b64encode(words.encode()).decode()
    return Large(f"hash of {words}", "text/plain", data, is_text, ("text",))


def test_content_is_uploaded_before_its_event(server: Server) -> None:
    """Once, and the event has its address; without one if it is refused, or is not what it says."""
    server.faults["refused"] = too_large
    no_base64 = Large("hash", "image/png", "a", is_text=False, at=("text",))
    contents = [large("words"), large("picture", is_text=False), large("words"), large("refused"), no_base64]
    server.send_some(server.reader(*(line(str(number), large=(one,)) for number, one in enumerate(contents))))
    assert server.uploads == [b"words", b"picture"]
    addresses = [content.get("mxc_uri") for content in server.contents]
    assert addresses == ["mxc://words", "mxc://picture", "mxc://words", None, None]
    reports = [report for report in server.exchange.take()[0] if isinstance(report, Uploaded)]
    assert [report.address for report in reports] == ["mxc://words", "mxc://picture", "", ""]


def test_content_that_is_never_taken_is_left_out(server: Server) -> None:
    """After 24 tries, unless the room cannot be looked at, or the server only asks to wait."""
    server.faults["words"] = limited
    reader = server.reader(line("a", large=(large("words"),)))
    server.fails(reader, 30)
    server.faults["words"] = broken
    server.fails(reader, 23)
    server.problem = DeliveryError("no answer")
    server.fails(reader, 1)
    server.problem = None
    assert server.taken == []
    assert server.send_some(reader)
    assert (server.taken, server.uploads) == (["a"], [])


def test_content_behind_an_event_that_fails_is_left_out_in_its_turn(server: Server) -> None:
    """Tries of the one do not begin those of the other anew."""
    server.faults = dict.fromkeys(("a", "words"), broken)
    reader = server.reader("a", line("b", large=(large("words"),)))
    for _ in range(40):
        with suppress(DeliveryError):
            server.send_some(reader)
    assert (server.taken, server.refused()) == (["b"], ["a"])


def test_a_state_waits_until_the_one_before_is_in_the_ledger(server: Server) -> None:
    """The server knows only the last one again: after a kill, an earlier one would be sent twice."""
    server.send_some(server.reader(line("a", state_key=""), "b", line("c", state_key=""), line("d", state_key="x")))
    assert [question.txns for question in server.asked] == [("a", "b", "c", "d"), (), ()]
    assert server.taken == ["a", "b", "c", "d"]


def test_the_room_is_looked_at_now_and_then(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have become an encrypted one, to which nothing is sent."""
    now = [1000.0]
    monkeypatch.setattr(rooms, "monotonic", lambda: now[0])
    server.room.check()
    for moment in (1060.0, 1060.5, 1120.0):
        now[0] = moment
        server.send_some(server.reader(str(moment)))
    assert server.checks == 2
    server.problem, now[0] = DeliveryStopped("the room is encrypted"), 1200.0
    server.fails(server.reader("secret"), 1, DeliveryStopped)
    assert len(server.taken) == 3

"""What the doctor says of a room that recordings are delivered to."""

from contextlib import closing, contextmanager

import pytest

from katod.doctor import deliveries, matrix
from katod.service.lock import Lock
from katod.store.ledger import Ledger
from katod.store.rows import DestinationRow, SentRow
from tests.matrix.homeserver import ROOM, Homeserver
from tests.support.records import Claude, user


@pytest.fixture
def server():
    """Return a homeserver."""
    with Homeserver() as found:
        yield found


def test_without_a_room_nothing_is_asked(home, server):
    """Nor said; if only a part of what it takes is set, that is said."""
    assert home.examined(matrix.examine) == {}
    home.configure(homeserver=server.url, room=ROOM)
    finding = home.examined(matrix.examine)["matrix.off"]
    assert (finding.level, "`matrix.token_file` must also be set" in finding.text) == ("warning", True)
    assert server.requests == []


@pytest.mark.slow
def test_token_homeserver_and_room_are_tried(home, server):
    """As katod would use them: the room is joined and not encrypted. Nothing is sent."""
    server.configure(home)
    finding = home.examined(matrix.examine)["matrix.room"]
    assert (finding.level, finding.data["user"]) == ("ok", "@katod:localhost")
    server.encrypted = True
    assert "encrypted" in home.examined(matrix.examine)["matrix.room"].text
    server.stop()
    finding = home.examined(matrix.examine)["matrix.room"]
    assert (finding.level, "cannot be reached" in finding.text) == ("problem", True)
    (home.home / "token").chmod(0o644)
    assert "others have access" in home.examined(matrix.examine)["matrix.room"].text
    assert server.events == []


def test_what_the_room_lacks_is_named(home, server):
    """Events that were refused, and recordings that cannot be completed."""
    server.configure(home)
    Claude(home).say(user("hello"))
    home.process()
    with closing(Ledger.open(home.state, None)) as ledger, ledger.transaction():
        ledger.deliveries.add_sent([SentRow(1, ROOM, "t", "")])
        ledger.deliveries.begin(7, 0, ROOM)
        ledger.deliveries.note_problem(7, ROOM, "gone")
    found = home.with_ledger(matrix.examine)
    assert found["matrix.refused"].data == {"events": 1}
    assert found["matrix.incomplete"].text == "recording 7 is not delivered completely: gone"


def test_a_delivery_that_has_stopped_is_named(home, server, monkeypatch):
    """With what has to be done, although the room can be used by now; what an earlier katod stopped at is over."""
    server.configure(home)
    home.process()
    with closing(Ledger.open(home.state, None)) as ledger, ledger.transaction():
        ledger.deliveries.note(DestinationRow(ROOM, "2026-02-10T22:31:00Z", "not allowed to send", stopped=True))
    assert "matrix.stopped" not in home.with_ledger(matrix.examine)
    monkeypatch.setattr(deliveries, "holder", lambda _: 42)
    finding = home.with_ledger(matrix.examine)["matrix.stopped"]
    assert (finding.level, "not allowed to send" in finding.text, "SIGHUP" in finding.advice) == ("problem", True, True)


@pytest.mark.slow
def test_settings_that_are_not_in_effect_are_named(home, server):
    """A katod that runs knows only those that it began with, until it reloads them."""
    Claude(home).say(user("hello"))
    home.process()

    def found():
        return home.with_ledger(matrix.examine).get("matrix.running")

    def deliver(parts):
        with closing(Ledger.open(home.state, None)) as ledger, ledger.transaction():
            ledger.deliveries.begin_with("matrix", parts)

    def status(running):
        assert home.status()["delivery"].get("running") == running
        return home.cli("status")

    now = (ROOM, server.url, str(home.home / "token"))
    deliver(now)
    assert found() is None  # no katod runs
    assert "not in effect" not in status(None)
    with held(home.state):
        assert "delivers to !room:localhost" in found().text
        assert f"not in effect: the running katod has other settings, and delivers to {ROOM}" in status(ROOM)
        server.configure(home)
        assert found() is None
        status(None)
        for other in ((), (ROOM, "https://example.org", now[2]), (*now[:2], "/other")):
            deliver(other)
            assert found().level == "warning"
            status(other[0] if other else "")
        deliver(())
        assert found().text == "`[matrix]` is not in effect: the running katod has other settings, and delivers nothing"
        assert "restart it" in found().advice


@contextmanager
def held(state):
    """Hold the lock of a state directory, as a katod that runs does."""
    lock = Lock.take(state)
    try:
        yield
    finally:
        lock.release()


def test_recordings_for_another_room_are_named(home, server):
    """Nothing is sent of them until that room is set again."""
    server.configure(home)
    home.process()
    with closing(Ledger.open(home.state, None)) as ledger, ledger.transaction():
        ledger.deliveries.begin(7, 0, "!other:localhost")
    found = home.with_ledger(matrix.examine)["matrix.elsewhere"]
    assert found.text == "not sent: 1 recording, started for another room (!other:localhost)"

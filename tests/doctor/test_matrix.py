"""What the doctor says of a room that recordings are delivered to."""

from contextlib import closing

import pytest

from katod.doctor import matrix
from katod.store.ledger import Ledger
from katod.store.rows import SentRow
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
    assert (finding.level, "`matrix.token_file` must be set" in finding.text) == ("warning", True)
    assert server.requests == []


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
    assert found["matrix.incomplete"].text == "recording 7 is not complete in the room: gone"

"""Recordings arrive in the room: complete, in order and once, whatever happens on the way; and nothing else does."""

import json
import sys
import threading
import time
from contextlib import closing
from typing import Any

import pytest

from katod.delivery.reader import RecordingReader
from katod.matrix.kind import MATRIX_DELIVERY
from katod.matrix.lines import lines_of
from katod.service.control import Request
from katod.store.ledger import Ledger
from katod.store.rows import PositionRow
from tests.delivery.delivering import TALK, Delivering, rows, talk
from tests.examples import mostly
from tests.matrix.delivering import assert_complete, expected
from tests.matrix.homeserver import _ERRORS, ROOM, TOKEN, Homeserver, in_order
from tests.support.live import PATIENCE, Live, until
from tests.support.records import MAKERS, OF_EACH_NATURE, SESSION, Claude, Maker, calls, result, says, user
from tests.support.world import World


@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_a_recording_arrives_as_it_is_recorded(world: World, server: Homeserver, make: type[Maker]) -> None:
    """What was said between the commands is in the room, in its thread; nothing before or after it is."""
    server.configure(world)
    katod = Delivering(world)
    maker = make(world).say(user("before"), says("nothing"))
    katod.deliver()
    assert server.events == []
    maker.say(user("::start notes\nhello"), *TALK[:3])
    katod.deliver()
    assert "hello" in server.texts()
    maker.say(*TALK[3:], user("::stop\nafter"), says("no"))
    katod.deliver()
    katod.stop()
    assert assert_complete(world, server) > 5
    assert not {"before", "nothing", "after", "no"} & set(server.texts())
    assert world.status()["delivery"] == {
        "on": True, "room": ROOM, "homeserver": server.url, "sent": len(server.events), "refused": 0, "unfinished": [],
        "incomplete": [], "stopped": False,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("switches", "shown"), [("", {"make"}), (" -tools", set()), (" +tools +thinking", {"make", "made", "Hm"})]
)
def test_the_room_gets_what_the_recording_shows(
    world: World, server: Homeserver, switches: str, shown: set[str]
) -> None:
    """The options of a recording hold for its delivery, and for its export as well."""
    server.configure(world)
    katod = Delivering(world)
    session = Claude(world)
    session.say(user(f"::start notes{switches}\nhello"), says("yes"), calls("call-1", "make"))
    session.append(session.thinks("Hm"))
    session.say(result("call-1", "made"), says("ok"), user("::stop"))
    katod.deliver()
    katod.stop()
    assert_complete(world, server)
    given = ["--tools", "full", "--thinking"] if "+" in switches else ["--tools", "none"] if switches else []
    for text in (json.dumps(server.events), world.cli("export", "latest", "-f", "matrix", *given)):
        assert {word for word in ("make", "made", "Hm") if f'"{word}"' in text} == shown
        assert "hello" in text


FAULTS = ("cut", "half", "nonsense", "broken", "limit", "proxy")


@pytest.mark.slow
@pytest.mark.parametrize("fault", mostly(("cut", "limit"), FAULTS))
def test_each_event_is_in_the_room_once_whatever_the_server_does(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A lost answer, one that is none, an error and a limit are followed by the same request again."""
    for name in ("readers._FIRST_RETRY", "progress._FIRST_RETRY", "progress._LEAST_WAIT"):
        monkeypatch.setattr(f"katod.delivery.{name}", 0.01)
    server.configure(world)
    server.fault = in_order(["", fault, "", fault, fault, *[""] * 3, fault])
    katod = Delivering(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    assert_complete(world, server)
    [*_, waited] = katod.said("delivery.waits" if fault == "limit" else "delivery.postponed")
    assert waited["retry_seconds"] < 1


@pytest.mark.slow
def test_each_event_is_in_the_room_once_wherever_katod_is_killed(world: World, server: Homeserver) -> None:
    """Killed after each single event was stored, and before it knew that, katod sends none twice."""
    server.configure(world)
    talk(Claude(world))
    kills = 0
    while True:
        server.fault = in_order(["", "cut", *["broken"] * 9])
        katod = Delivering(world)
        katod.step_until(lambda: katod.is_idle or katod.said("delivery.postponed"), "an event")  # noqa: B023
        if not katod.said("delivery.postponed"):
            break
        katod.vanish()
        kills += 1
    katod.stop()
    assert kills > 5
    assert_complete(world, server)


@pytest.mark.slow
def test_an_outage_loses_nothing(world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said while the server was away is sent when it is back, and `status` says since when it waits."""
    monkeypatch.setattr("katod.delivery.progress._LONGEST_RETRY", 0.05)
    server.configure(world)
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.deliver()
    server.stop()
    maker.say(user("are you there"), says("yes"), user("::stop"))
    katod.step_until(lambda: world.status()["delivery"].get("problem"), "a problem")
    found = world.status()["delivery"]
    assert found["problem"] == "the homeserver cannot be reached: ConnectError"
    assert found["since"]
    assert found["unfinished"] == [1]
    assert "waiting" in world.cli("status")
    server.start()
    katod.deliver()
    katod.stop()
    assert_complete(world, server)
    assert "problem" not in world.status()["delivery"]


@pytest.mark.slow
def test_only_recordings_that_start_while_delivery_is_configured_are_sent(world: World, server: Homeserver) -> None:
    """What was recorded before is never sent; a recording that starts again is sent from there on."""
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.deliver()
    server.configure(world)
    katod.configured()
    maker.say(user("not this"), says("nor this"))
    katod.deliver()
    assert server.requests == [] or server.events == []
    maker.say(user("::stop"), user("::start\nbut this"), says("is sent"), user("::stop"), says("it has stopped"))
    katod.deliver()
    katod.stop()
    assert server.texts() == ["but this", "is sent"]
    assert rows(world, "deliveries") == [(ROOM, 1, 1, 1, "")]


@pytest.mark.slow
def test_another_room_gets_nothing_of_a_recording(world: World, server: Homeserver) -> None:
    """A recording is delivered to the room that was configured when it started."""
    server.configure(world)
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.deliver()
    before = len(server.events)
    world.config.write_text(world.config.read_text().replace(ROOM, "!other:localhost"))
    katod.configured()
    maker.say(user("more"), says("yes"))
    katod.deliver()
    assert len(server.events) == before
    katod.stop()


@pytest.mark.slow
def test_a_refused_event_is_skipped_and_counted(world: World, server: Homeserver) -> None:
    """The others are sent, without a relation to it; `status` counts it; no words of the server are kept."""
    server.configure(world)
    server.fault = in_order(["", "", "refuse"])
    katod = Delivering(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    assert len(server.events) == len(expected(world)) - 1
    assert "prompt" not in server.types()[:3]
    found = world.status()["delivery"]
    assert (found["refused"], found["unfinished"]) == (1, [])
    assert "1 event refused" in world.cli("status")
    [said] = katod.said("delivery.refused")
    assert said["problem"] == "the homeserver answers 400 M_BAD_JSON"


@pytest.mark.slow
def test_an_account_that_may_not_send_stops_the_delivery(world: World, server: Homeserver) -> None:
    """If the first event is forbidden, all would be: nothing is counted as refused, and all of it is sent later."""
    server.configure(world)
    server.fault = lambda method, _: "forbid" if method == "PUT" else ""
    katod = Delivering(world)
    talk(Claude(world))
    katod.deliver()
    assert katod.said("delivery.stopped") == [
        {"to": "matrix", "problem": "the account is not allowed to send to the room (check its power level there)"}
    ]
    server.fault = in_order([])
    katod.configured()
    katod.deliver()
    katod.stop()
    assert_complete(world, server)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"encrypted": True}, "the room is encrypted"),
        ({"joined": False}, "the account is not in the room"),
        ({"token": "another"}, "the access token is not accepted"),
    ],
)
def test_what_cannot_work_stops_the_delivery(
    world: World, server: Homeserver, change: dict[str, Any], words: str
) -> None:
    """Nothing is sent, `status` says why, and the recording goes on; with other settings it is sent."""
    server.configure(world)
    before = {name: getattr(server, name) for name in change}
    for name, value in change.items():
        setattr(server, name, value)
    katod = Delivering(world)
    talk(Claude(world))
    katod.deliver()
    assert server.events == []
    assert "hello" in world.written()["notes.md"]
    found = world.status()["delivery"]
    assert words in found["problem"]
    assert found["stopped"]
    for name, value in before.items():
        setattr(server, name, value)
    katod.configured()
    katod.deliver()
    katod.stop()
    assert_complete(world, server)


@pytest.mark.slow
def test_a_room_that_becomes_encrypted_gets_nothing_more(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room is looked at again and again."""
    monkeypatch.setattr("katod.matrix.room._CHECK_EVERY", 0.0)
    server.configure(world)
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.deliver()
    before = len(server.events)
    server.encrypted = True
    maker.say(user("secret"), says("yes"))
    katod.deliver()
    katod.stop()
    assert len(server.events) == before


def test_without_the_extra_katod_says_what_to_install(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In `status`, in `doctor` and in the log; recording goes on."""
    server.configure(world)
    monkeypatch.setitem(sys.modules, "httpx", None)
    katod = Delivering(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    assert "hello" in world.written()["notes.md"]
    for said in (world.status()["delivery"]["problem"], world.cli("doctor", code=1), str(katod.logged)):
        assert "with '.[fast,matrix]'" in said.replace('\\"', '"').replace("\\'", "'")


def test_a_token_that_others_can_read_is_not_used(world: World, server: Homeserver) -> None:
    """Nor is a file without a token; no connection is made."""
    server.configure(world)
    (world.home / "token").chmod(0o640)
    katod = Delivering(world)
    katod.deliver()
    assert "others have access to it" in world.status()["delivery"]["problem"]
    (world.home / "token").chmod(0o600)
    (world.home / "token").write_text("two words\n")
    katod.configured()
    katod.step_until(lambda: "no access token" in world.status()["delivery"]["problem"], "the problem")
    katod.stop()
    assert server.requests == []


@pytest.mark.slow
def test_nothing_is_kept_of_deliveries_of_a_forgotten_session(world: World, server: Homeserver) -> None:
    """The ledger forgets which events the room has, and the rest is not sent; what is in the room stays."""
    server.configure(world)
    katod = Delivering(world)
    session = Claude(world)
    session.say(user("::start notes\nhello"), says("x" * 80_000), user("and"))
    katod.deliver()
    assert rows(world, "sent")
    assert rows(world, "uploads")
    katod.stop()
    said = world.cli("forget", "latest", "--yes")
    assert f"{len(server.events)} events stay in the room {ROOM}" in said
    before = len(server.events)
    katod = Delivering(world)
    session.say(says("not sent"))
    katod.deliver()
    katod.stop()
    assert [rows(world, table) for table in ("deliveries", "sent", "uploads")] == [[], [], []]
    assert len(server.events) == before > 0


@pytest.mark.slow
def test_a_session_that_is_forgotten_is_not_sent_any_further(world: World, server: Homeserver) -> None:
    """Not even what was read already; the request that is being made is the last one."""
    server.configure(world)
    forgotten = threading.Event()
    server.fault = lambda method, _: "" if method != "PUT" or len(server.events) < 2 or forgotten.wait(20) else "slow"
    katod = Delivering(world)
    session = Claude(world)
    talk(session)
    katod.step_until(lambda: len(server.events) > 1, "some events")
    request = Request(("claude", SESSION, ""), "forget", "", "2026-02-11T00:00:00Z")
    assert katod._carry_out(request, "request:1") == ""
    before = len(server.events)
    forgotten.set()
    katod.step_until(lambda: katod.is_idle, "the end")
    katod.stop()
    assert len(server.events) <= before + 1 < len(TALK)
    assert rows(world, "sent") == []


@pytest.mark.slow
def test_what_katod_has_not_read_yet_is_not_sent(world: World, server: Homeserver) -> None:
    """A `::stop` may be in it: although the recording is read for the first time, with more in the session by now."""
    server.configure(world)
    katod = Delivering(world, delivering=False)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.turn()
    maker.say(says("not yet"), user("::stop\nafter"))
    katod.configured()
    katod.send_until(lambda: katod.is_idle and server.events, "what was read")
    assert server.texts() == ["hello", "yes"]
    katod.deliver()
    katod.stop()
    assert_complete(world, server)


@pytest.mark.slow
def test_what_the_ledger_has_is_not_sent_again(world: World, server: Homeserver) -> None:
    """After a restart, a recording is read again, and no request is made for what was sent."""
    server.configure(world)
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"), *TALK)
    katod.deliver()
    katod.stop()
    before = [request for request in server.requests if request.startswith("PUT")]
    katod = Delivering(world)
    katod.deliver()
    assert [request for request in server.requests if request.startswith("PUT")] == before
    maker.say(user("::stop"))
    katod.deliver()
    katod.stop()
    assert_complete(world, server)


@pytest.mark.slow
def test_nothing_more_is_sent_of_a_project_that_is_excluded(world: World, server: Homeserver) -> None:
    """Not even what was recorded before, and waits."""
    server.configure(world)
    server.fault = lambda method, _: "limit" if method == "PUT" else ""
    katod = Delivering(world)
    Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.step_until(lambda: katod.said("delivery.waits"), "the limit")
    server.configure(world, exclude=["/"])
    katod.configured()
    server.fault = in_order([])
    katod.deliver()
    katod.stop()
    assert server.events == []
    assert "excluded" in world.written()["notes.md"]


@pytest.mark.slow
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE[:1], OF_EACH_NATURE), ids=lambda maker: maker.__name__)
def test_what_is_said_after_a_stop_is_never_sent(world: World, server: Homeserver, make: type[Maker]) -> None:
    """Not even if the stop is removed from the session before all of the recording was sent."""
    server.configure(world)
    server.fault = lambda method, _: "limit" if method == "PUT" else ""
    katod = Delivering(world)
    maker = make(world).say(user("::start notes\nhello"), *TALK, user("::stop\nafter"), says("after it"))
    katod.step_until(lambda: katod.said("delivery.waits"), "the limit")
    katod.vanish()
    maker.rewrite(lambda _, record: "::stop" not in json.dumps(record))
    maker.say(user("later"), says("later, too"))
    server.fault = in_order([])
    katod = Delivering(world)
    katod.deliver()
    katod.stop()
    assert not {"after", "after it", "later", "later, too"} & set(server.texts())
    [found] = world.status()["delivery"]["incomplete"]
    assert found == {"id": 1, "problem": "its session no longer has the place where it ended"}
    assert "recording 1 is not complete" in world.cli("status")


@pytest.mark.slow
def test_content_is_uploaded_once(world: World, server: Homeserver) -> None:
    """By its hash, in whichever event it is; the events have its address."""
    server.configure(world)
    katod = Delivering(world)
    large = "words " * 20_000
    maker = Claude(world).say(user("::start notes\nhello"), says(large), user("again"))
    katod.deliver()
    katod.stop()
    katod = Delivering(world)
    maker.say(says(large), user("::stop"))
    katod.deliver()
    katod.stop()
    [(address, data)] = server.uploads.items()
    assert data.decode() == large
    found = [event["content"]["mxc_uri"] for event in server.events if "mxc_uri" in event["content"]]
    assert found == [address, address]


@pytest.mark.slow
def test_neither_words_nor_the_token_are_logged_or_kept(world: World, server: Homeserver) -> None:
    """Not even where the server refuses an event: of that, the log has the transaction and the code."""
    server.configure(world)
    server.fault = in_order(["", "refuse", "broken", "large"])
    katod = Delivering(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    said = str(katod.logged) + str(world.status()["delivery"]) + str([rows(world, t) for t in ("sent", "rooms")])
    assert not [word for word in ("hello", "made", TOKEN, "words that nobody") if word in said]


@pytest.mark.slow
def test_a_request_that_hangs_delays_neither_the_recording_nor_the_end(world: World, server: Homeserver) -> None:
    """The transcript is written at once, and katod ends in time; the event is in the room once all the same."""
    server.configure(world)
    server.slowness = 6
    server.fault = lambda method, _: "slow" if method == "PUT" else ""
    maker = Claude(world)
    with Live(world) as live:
        maker.say(user("::start notes\nhello"), says("yes"))
        until(lambda: any(request.startswith("PUT") for request in server.requests), "a request")
        maker.say(user("more"))
        live.until_written("more")
        began = time.monotonic()
        assert live.stop() == 0
        assert time.monotonic() - began < 5
    server.fault = in_order([])
    with Live(world):
        maker.say(says("done"), user("::stop"))
        until(lambda: world.status()["delivery"]["unfinished"] == [], "the end")
    assert_complete(world, server)


@pytest.mark.slow
def test_a_reload_begins_and_ends_the_delivery(world: World, server: Homeserver) -> None:
    """What was recorded in between is not sent, nor is it when the settings come back."""
    maker = Claude(world)
    with Live(world) as live:
        server.configure(world)
        live.hang_up()
        live.until_said('"delivery.started"')
        maker.say(user("::start notes\nhello"), says("yes"), user("::stop"))
        until(lambda: "yes" in server.texts(), "the events")
        world.configure()
        live.hang_up()
        until(lambda: live.said().count('"settings.reloaded"') == 2, "the reload")
        maker.say(user("::start other\nin between"), says("not sent"), user("::stop"))
        live.until_written("not sent")
        server.configure(world)
        live.hang_up()
        until(lambda: live.said().count('"delivery.started"') == 2, "the reload")
        maker.say(user("::start third\nagain"), says("sent"), user("::stop"))
        until(lambda: "sent" in server.texts(), "the events")
    assert server.texts() == ["hello", "yes", "again", "sent"]


@pytest.mark.slow
def test_many_recordings_that_waited_are_all_sent(world: World, server: Homeserver) -> None:
    """More than katod keeps positions of at once, each of several turns, after an outage."""
    server.configure(world)
    server.stop()
    katod = Delivering(world)
    makers = [world.session(number) for number in range(1, 41)]
    for number, maker in enumerate(makers):
        maker.append(*maker.opening(), maker.user(f"::start notes-{number}\nhello"))
        maker.append(*(maker.says(f"answer {number} {n}") for n in range(40)), maker.user("::stop"))
    katod.turn()
    server.start()
    katod.deliver(10 * PATIENCE)
    katod.stop()
    assert world.status()["delivery"]["unfinished"] == []
    assert sorted(text for text in server.texts() if text.startswith("answer")) == sorted(
        f"answer {number} {n}" for number in range(40) for n in range(40)
    )
    server.assert_each_once()


# -- one that fails ------------------------------------------------------------------------------------


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once."""
    for name in ("readers._FIRST_RETRY", "readers._LONGEST_RETRY", "progress._FIRST_RETRY", "progress._LONGEST_RETRY"):
        monkeypatch.setattr(f"katod.delivery.{name}", 0.01)


def poisoned(world: World, server: Homeserver, word: str, fault: str = "broken") -> list[str]:
    """Let the homeserver fail whenever it is sent the event with a text; return its transaction."""
    ledger = Ledger.read(world.state)
    assert ledger is not None
    with closing(ledger.db):
        txns = [line.txn for line in expected(world) if line.content.get("text") == word]
    server.fault = lambda method, path: fault if method == "PUT" and path.endswith(tuple(txns)) else ""
    return txns


@pytest.mark.slow
@pytest.mark.parametrize("fault", mostly(("broken",), ("broken", "cut", "proxy", "forbidden")))
def test_an_event_that_is_never_taken_stops_neither_its_recording_nor_the_others(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch, hurried: None, fault: str
) -> None:
    """It is given up once others are taken, whatever the server says of it, and counted as refused."""
    monkeypatch.setattr("tests.matrix.homeserver._ERRORS", _ERRORS | {"forbidden": (403, "")})
    server.configure(world)
    server.fault = lambda method, _: "broken" if method == "PUT" else ""
    katod = Delivering(world)
    one, other = world.session(1), world.session(2)
    one.say(user("::start one\nhello"), says("poison"), user("more"), says("done"), user("::stop"))
    katod.turn()
    other.say(user("::start two\nhello"), says("yes"), user("::stop"))
    katod.turn()
    txns = poisoned(world, server, "poison", fault)
    katod.deliver()
    katod.stop()
    assert len(txns) == 1
    assert sorted(server.texts()) == sorted(["hello", "more", "done", "hello", "yes"] + ["poison"] * (fault == "cut"))
    found = world.status()["delivery"]
    assert (found["refused"], found["unfinished"], found["incomplete"]) == (1, [], [])
    assert len(katod.said("delivery.postponed")) >= 7
    assert [said["txn"] for said in katod.said("delivery.refused")] == txns
    server.assert_each_once()


@pytest.mark.slow
def test_nothing_is_given_up_while_the_homeserver_takes_no_event_at_all(
    world: World, server: Homeserver, hurried: None
) -> None:
    """It may only be unable to write; the status says what each recording waits for, and when it can, all is sent."""
    server.configure(world)
    server.fault = lambda method, _: "broken" if method == "PUT" else ""
    katod = Delivering(world)
    talk(Claude(world))
    katod.step_until(lambda: len(katod.said("delivery.postponed")) > 20, "many failures")
    [found] = world.status()["delivery"]["incomplete"]
    assert found == {
        "id": 1,
        "problem": "what is next cannot be sent; katod tries again: the homeserver answers 500 M_UNKNOWN",
    }
    server.fault = in_order([])
    katod.deliver()
    katod.stop()
    assert sorted(server.texts()) == sorted(line.content["text"] for line in expected(world) if "text" in line.content)
    server.assert_each_once()
    assert world.status()["delivery"]["refused"] == 0
    assert world.status()["delivery"]["incomplete"] == []


@pytest.mark.slow
def test_an_upload_that_is_never_taken_does_not_stop_its_recording(
    world: World, server: Homeserver, hurried: None
) -> None:
    """Its event is sent without it."""
    server.configure(world)
    server.fault = lambda method, _: "broken" if method == "POST" else ""
    katod = Delivering(world)
    Claude(world).say(user("::start notes\nhello"), says("x" * 80_000), user("more"), user("::stop"))
    katod.deliver()
    katod.stop()
    assert server.texts()[0] == "hello"
    assert server.texts()[2] == "more"
    assert server.uploads == {}


@pytest.mark.slow
def test_a_session_that_cannot_be_translated_stops_no_other(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch, hurried: None
) -> None:
    """It is tried again; what went wrong is in the log and the status with its number, without a word of it."""
    server.configure(world)
    katod = Delivering(world)
    reads = RecordingReader.read

    def read(reader: RecordingReader[Any]) -> bool:
        if reader.recording.row.id == 1:
            raise KeyError("secret words")
        return reads(reader)

    monkeypatch.setattr(RecordingReader, "read", read)
    for number in (1, 2):
        world.session(number).say(user(f"::start notes-{number}\nhello {number}"), says("yes"), user("::stop"))
        katod.turn()
    katod.step_until(lambda: len(katod.said("delivery.postponed")) > 3 and "yes" in server.texts(), "the other one")
    assert server.texts() == ["hello 2", "yes"]
    [found] = world.status()["delivery"]["incomplete"]
    assert found == {"id": 1, "problem": "internal error: KeyError"}
    assert "secret" not in str(katod.logged)
    monkeypatch.setattr(RecordingReader, "read", reads)
    katod.deliver()
    katod.stop()
    assert sorted(server.texts()) == ["hello 1", "hello 2", "yes", "yes"]


# -- what was sent before ------------------------------------------------------------------------------


@pytest.mark.slow
def test_another_version_sends_nothing_of_what_is_before_the_last_event(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would come after what followed it; from the last event on, all of it is sent."""
    server.configure(world)
    form = MATRIX_DELIVERY.form
    less = form._replace(lines_of=lambda text: (one for one in lines_of(text) if not one.type.endswith("response")))
    monkeypatch.setattr("katod.chores._KINDS", (MATRIX_DELIVERY._replace(form=less),))
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("one"), user("more"), says("two"), user("and"))
    katod.deliver()
    katod.stop()
    assert server.texts() == ["hello", "more", "and"]
    monkeypatch.setattr("katod.chores._KINDS", (MATRIX_DELIVERY,))
    katod = Delivering(world)
    maker.say(says("three"), user("last"))
    katod.deliver()
    katod.stop()
    assert server.texts() == ["hello", "more", "and", "three", "last"]


@pytest.mark.slow
def test_a_last_event_that_is_nowhere_any_more_does_not_stop_the_delivery(world: World, server: Homeserver) -> None:
    """What is known to be in the room is not sent again."""
    server.configure(world)
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("one"), user("more"))
    katod.deliver()
    katod.stop()
    with closing(Ledger.open(world.state, None)) as ledger, ledger.transaction():
        ledger.deliveries.move(PositionRow(1, ROOM, "another"))
    katod = Delivering(world)
    maker.say(says("two"), user("::stop"))
    katod.deliver()
    katod.stop()
    assert_complete(world, server)


@pytest.mark.slow
def test_the_states_of_the_room_are_not_doubled_by_a_kill(world: World, server: Homeserver) -> None:
    """A state has no transaction: the ledger has one before the next is sent, and the server knows the last one."""
    server.configure(world)
    session = Claude(world).say(user("::start notes\nhello"))
    for number in range(6):
        session.append(session.record("system", subtype="turn_duration", durationMs=5), session.user(f"{number}"))
    session.say(user("::stop"))
    kills = 0
    while kills < 30:
        katod = Delivering(world)
        before = len(server.events)
        writes = katod._chores.deliveries["matrix"]._write

        def write(reports: list[Any], writes: Any = writes, katod: Delivering = katod) -> None:
            """Write what is asked for, and nothing in between."""
            thread = katod._chores.deliveries["matrix"]._thread
            if thread is not None and thread[1]._asked is not None:
                writes(reports)

        katod._chores.deliveries["matrix"]._write = write  # type: ignore[method-assign]
        katod.step_until(lambda: katod.is_idle or len(server.events) > before + 2, "some events")  # noqa: B023
        is_idle = katod.is_idle
        katod.vanish()
        kills += 1
        if is_idle:
            break
    katod = Delivering(world)
    katod.deliver()
    katod.stop()
    assert kills > 2
    assert server.types().count("session.active") > 10
    server.assert_each_once()


@pytest.mark.slow
def test_the_last_answer_is_sent_after_a_while(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although what it used is not known yet; it is not sent again when it is, nor after a restart."""
    monkeypatch.setattr("katod.delivery.readers._QUIET", 0.05)
    server.configure(world)
    katod = Delivering(world)
    maker = Claude(world).say(user("::start notes\nhello"))
    maker.append(maker.says("the answer", message={"stop_reason": None}))
    katod.step_until(lambda: "the answer" in server.texts(), "the answer")
    katod.stop()
    katod = Delivering(world)
    katod.deliver()
    maker.say(user("more"), user("::stop"))
    katod.deliver()
    katod.stop()
    assert server.texts() == ["hello", "the answer", "more"]


@pytest.mark.slow
def test_what_rests_is_not_read_again(world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many recordings go on: each is read once, and again only where it has more."""
    made: list[int] = []
    begin = RecordingReader.__init__

    def init(reader: RecordingReader[Any], form: Any, recording: Any, *more: Any) -> None:
        made.append(recording.row.id)
        begin(reader, form, recording, *more)

    monkeypatch.setattr(RecordingReader, "__init__", init)
    monkeypatch.setattr("katod.delivery.readers._LOOK_EVERY", 0.0)
    monkeypatch.setattr("katod.delivery.readers._QUIET", 0.0)
    server.configure(world)
    katod = Delivering(world)
    makers = [world.session(number) for number in range(1, 31)]
    for number, maker in enumerate(makers):
        maker.say(user(f"::start notes-{number}\nhello"), says("yes"), user("more"))
    katod.deliver(3 * PATIENCE)
    for maker in makers:
        maker.say(says("again"))
        katod.deliver()
    katod.stop()
    assert sorted(made) == sorted(set(made))
    assert len(made) == 30


def test_what_katod_delivers_to_is_known_while_it_runs(world: World, server: Homeserver) -> None:
    """So that others can tell it from what the configuration says."""
    server.configure(world)
    katod = Delivering(world, delivering=False)
    assert rows(world, "running_deliveries") == []
    katod.configured()
    assert rows(world, "running_deliveries") == [
        ("matrix", json.dumps([ROOM, server.url, str(world.home / "token")], separators=(",", ":")))
    ]
    world.configure()
    katod.configured()
    assert rows(world, "running_deliveries") == []
    server.configure(world)
    katod.configured()
    katod.stop()
    assert rows(world, "running_deliveries") == []


@pytest.mark.slow
def test_the_ledger_is_not_asked_all_the_time(
    world: World, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is new waits for a moment, and the loop knows until when."""
    monkeypatch.setattr("katod.delivery.delivery._OFFER_EVERY", 1000.0)
    server.configure(world)
    katod = Delivering(world)
    assert katod._chores.deliveries["matrix"].deadline() is None
    Claude(world).say(user("::start notes\nhello"))
    katod.turn()
    katod._chores.deliveries["matrix"].look()
    deadline = katod._chores.deliveries["matrix"].deadline()
    assert deadline is not None
    assert 900 < deadline - time.monotonic() <= 1000
    assert katod._chores.deliveries["matrix"]._offers.found == {}
    katod._chores.deliveries["matrix"].look(at_once=True)
    assert list(katod._chores.deliveries["matrix"]._offers.found) == [1]
    katod.stop()

"""Spans arrive at the collector: each once, with its parents and the same bytes, whatever happens on the way."""

from collections import Counter
from contextlib import closing

import pytest

from katod.agents import AGENTS
from katod.formats.otlp.spent import Spent
from katod.log import EventLog
from katod.record.export import Stretch, replay
from katod.record.ranges import RangePrinter
from katod.store.ledger import Ledger
from tests.delivery.delivering import TALK, Delivering, rows, talk
from tests.examples import mostly
from tests.otlp.receiver import SECRET, Receiver, TakenSpan, in_order, spans_in
from tests.support.records import MAKERS, OF_EACH_NATURE, Claude, Maker, calls, result, says, user
from tests.support.world import World


class Exporting(Delivering):
    """A daemon that sends spans."""

    kind = "otlp"


def recorded(world: World) -> tuple[list[TakenSpan], Counter[str]]:
    """Return the spans of all recordings, as the format prints them, and the sums of what was used."""
    ledger = Ledger.read(world.state)
    assert ledger is not None
    text, sums = "", Counter[str]()
    with closing(ledger.db):
        for row in ledger.outputs():
            printer = RangePrinter("otlp", row.options, row.ranges)
            stretches = [Stretch(one.path, one.identity, row.limit(one)) for one in ledger.sources_of(row.session)]
            key = ledger.session(row.session).key
            for event, metadata in replay(key, stretches, EventLog()):
                if event.kind == "usage" and event.payload["scope"] != "session" and printer.has(event):
                    spent = Spent.of(event.payload, AGENTS[key.agent].answers)
                    sums["gen_ai.usage.input_tokens"] += spent.prompt or 0
                    sums["gen_ai.usage.output_tokens"] += spent.completion or 0
                    sums["llm.cost.total"] += spent.cost or 0  # type: ignore[assignment]
                text += printer.take(event, metadata)
    return spans_in(text), sums


def assert_complete(world: World, receiver: Receiver) -> int:
    """Assert that the collector has each span of the recordings, with its bytes; return how many there are."""
    spans, sums = recorded(world)
    assert receiver.spans() == {span.id: span for span in spans}
    receiver.assert_whole()
    found: Counter[str] = sum(receiver.sums().values(), Counter())
    assert {name: found[name] for name in sums} == pytest.approx(dict(sums))
    return len(spans)


@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_a_recording_arrives_as_it_is_recorded(world: World, receiver: Receiver, make: type[Maker]) -> None:
    """The session at once, and each other span once it is over: nothing of what is before or after."""
    receiver.configure(world)
    katod = Exporting(world)
    maker = make(world).say(user("before"), says("nothing"))
    katod.deliver()
    assert receiver.taken == []
    maker.say(user("::start notes\nhello"), *TALK[:3])
    katod.deliver()
    assert receiver.names()[:1] == [f"session {AGENTS[maker.agent].product}"]
    maker.say(*TALK[3:], user("::stop\nafter"), says("no"))
    katod.deliver()
    katod.stop()
    assert assert_complete(world, receiver) > 5
    assert len(receiver.taken) == len(receiver.spans())
    assert world.status()["otlp"] == {
        "on": True, "endpoint": receiver.url, "sent": len(receiver.taken), "refused": 0, "unfinished": [],
        "incomplete": [], "stopped": False,
    }  # fmt: skip


FAULTS = ("cut", "nonsense", "429", "502", "503", "504", "500", "slow")


@pytest.mark.slow
@pytest.mark.parametrize("fault", mostly(("cut", "503"), FAULTS))
def test_each_span_is_there_once_whatever_the_collector_does(world: World, receiver: Receiver, fault: str) -> None:
    """An answer that says to wait, or none, is followed by the same request; only that may be there twice."""
    receiver.configure(world)
    receiver.slowness = 0.05
    receiver.fault = in_order([fault, "", fault, fault])
    katod = Exporting(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    assert assert_complete(world, receiver) > 5
    assert world.status()["otlp"]["refused"] == 0


@pytest.mark.slow
def test_only_the_request_in_flight_is_sent_again_after_a_kill(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after each request was taken, and before it knew that: the next one has the same spans, and no others."""
    monkeypatch.setattr("katod.otlp.lines._MOST_SPANS", 2)
    receiver.configure(world)
    talk(Claude(world))
    kills = 0
    while True:
        before = len(receiver.requests)
        receiver.fault = in_order(["", "cut", *["503"] * 50])
        katod = Exporting(world)
        katod.step_until(lambda: katod.is_idle or katod.said("delivery.waits"), "a request")  # noqa: B023
        if not katod.said("delivery.waits") and len(receiver.requests) == before:
            break
        katod.vanish()
        kills += 1
    katod.stop()
    assert kills > 2
    copies = Counter(span.id for span in receiver.taken)
    assert max(copies.values()) == 2
    assert sum(copies.values()) - len(copies) <= 2 * kills
    assert_complete(world, receiver)


@pytest.mark.slow
def test_what_the_collector_asks_to_wait_is_waited(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its header counts, but never for longer than an hour."""
    monkeypatch.setattr("katod.delivery.http._MOST_PATIENCE", 0.05)
    receiver.configure(world)
    receiver.retry_after = "7000"
    receiver.fault = in_order(["429"])
    katod = Exporting(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    [waited] = katod.said("delivery.waits")
    assert waited == {"to": "otlp", "problem": "the collector answers 429", "retry_seconds": 0.1}
    assert_complete(world, receiver)


@pytest.mark.slow
@pytest.mark.parametrize("status", ["400", "413"])
def test_a_refused_span_is_found_by_halves_and_skipped(world: World, receiver: Receiver, status: str) -> None:
    """All others are taken; it is counted and named by its id, and no words of the collector are kept."""
    receiver.configure(world)
    receiver.fault = lambda spans: status if any("execute_tool" in one.span.name for one in spans) else ""
    katod = Exporting(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    assert len(receiver.taken) == len(recorded(world)[0]) - 1
    found = world.status()["otlp"]
    assert (found["sent"], found["refused"], found["unfinished"]) == (len(receiver.taken), 1, [])
    [said] = katod.said("delivery.refused")
    assert said["problem"] == f"the collector answers {status}"
    assert [one.span.name for one in recorded(world)[0] if one.id.endswith(said["txn"])] == ["execute_tool Bash"]
    assert "1 span refused" in world.cli("status")
    assert "words" not in str(katod.logged) + str(found) + str(rows(world, "sent"))


@pytest.mark.slow
def test_an_answer_of_no_known_meaning_makes_the_request_smaller_after_a_while(
    world: World, receiver: Receiver
) -> None:
    """What alone causes it is skipped only once others are taken: the collector might be unable to take any."""
    receiver.configure(world)
    receiver.fault = lambda spans: "500" if spans else ""
    katod = Exporting(world)
    talk(Claude(world))
    katod.step_until(lambda: len(katod.said("delivery.postponed")) > 20, "many failures")
    assert receiver.taken == []
    assert world.status()["otlp"]["refused"] == 0
    [found] = world.status()["otlp"]["incomplete"]
    assert found["problem"] == "what is next cannot be sent; katod tries again: the collector answers 500"
    receiver.fault = lambda spans: "500" if any("execute_tool" in one.span.name for one in spans) else ""
    katod.deliver()
    katod.stop()
    assert len(receiver.taken) == len(recorded(world)[0]) - 1
    assert world.status()["otlp"]["refused"] == 1


@pytest.mark.slow
def test_spans_that_are_rejected_within_a_request_are_counted(world: World, receiver: Receiver) -> None:
    """The collector does not say which; nothing is sent again."""
    receiver.configure(world)
    receiver.fault = lambda spans: "reject 2" if len(spans) > 2 else ""
    katod = Exporting(world)
    talk(Claude(world))
    katod.deliver()
    katod.stop()
    found = world.status()["otlp"]
    assert found["refused"] == sum(said["count"] for said in katod.said("delivery.rejected")) > 0
    assert found["sent"] == len(receiver.taken) == len(recorded(world)[0]) - found["refused"]
    assert "words" not in str(katod.logged)


@pytest.mark.slow
@pytest.mark.parametrize("status", ["401", "403"])
def test_headers_that_are_not_accepted_stop_the_delivery(world: World, receiver: Receiver, status: str) -> None:
    """Nothing more is asked until the settings are reloaded; recording goes on."""
    file = world.home / "headers"
    file.write_text(f"X-Api-Key: {SECRET}\nX-Tenant: shop\n")
    file.chmod(0o600)
    receiver.configure(world, headers_file=str(file))
    receiver.fault = lambda _spans: status
    katod = Exporting(world)
    talk(Claude(world))
    katod.deliver()
    asked = len(receiver.seen)
    katod.deliver()
    assert len(receiver.seen) == asked == 1
    [stopped] = katod.said("delivery.stopped")
    assert stopped["problem"] == f"katod is not let in: the collector answers {status} (check `otlp.headers_file`)"
    assert world.status()["otlp"]["stopped"]
    assert "hello" in world.written()["notes.md"]
    receiver.fault = lambda _spans: ""
    katod.configured()
    katod.deliver()
    katod.stop()
    assert receiver.headers["X-Api-Key"] == SECRET
    assert SECRET not in str(katod.logged) + str(world.status())
    assert_complete(world, receiver)


@pytest.mark.slow
def test_only_recordings_that_start_while_an_endpoint_is_set_are_sent(world: World, receiver: Receiver) -> None:
    """What was recorded before is never sent, nor is a session that is not recorded."""
    katod = Exporting(world)
    maker = world.session(1).say(user("::start notes\nhello"), says("yes"))
    world.session(2).say(user("not recorded"), says("yes"))
    katod.deliver()
    receiver.configure(world)
    katod.configured()
    maker.say(user("not this"), says("nor this"))
    katod.deliver()
    assert receiver.taken == []
    maker.say(user("::stop"), user("::start\nbut this"), says("is sent"), user("::stop"), says("it has stopped"))
    katod.deliver()
    katod.stop()
    assert [name.split()[0] for name in receiver.names()] == ["session", "invoke_agent", "chat"]
    receiver.assert_whole()
    assert rows(world, "deliveries") == [(receiver.url, 1, 1, 1, "")]


@pytest.mark.slow
def test_nothing_more_is_sent_of_a_forgotten_session(world: World, receiver: Receiver) -> None:
    """And the ledger forgets what was sent; `katod forget` says what stays where."""
    receiver.configure(world)
    katod = Exporting(world)
    session = Claude(world)
    session.say(user("::start notes\nhello"), says("yes"), user("and"))
    katod.deliver()
    katod.stop()
    before = len(receiver.taken)
    assert f"{before} spans stay at the collector {receiver.url}" in world.cli("forget", "latest", "--yes")
    katod = Exporting(world)
    session.say(says("not sent"))
    katod.deliver()
    katod.stop()
    assert len(receiver.taken) == before > 0
    assert [rows(world, table) for table in ("deliveries", "sent", "positions")] == [[], [], []]


@pytest.mark.slow
def test_nothing_more_is_sent_of_an_excluded_project(world: World, receiver: Receiver) -> None:
    """Not even what was recorded before, and waits."""
    receiver.configure(world)
    receiver.fault = lambda spans: "503" if spans else ""
    katod = Exporting(world)
    Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.step_until(lambda: katod.said("delivery.waits"), "the answer")
    receiver.configure(world, exclude=["/"])
    katod.configured()
    receiver.fault = lambda _spans: ""
    katod.deliver()
    katod.stop()
    assert receiver.taken == []


@pytest.mark.slow
@pytest.mark.parametrize("content", [False, True])
def test_words_are_sent_only_if_that_is_asked_for(world: World, receiver: Receiver, content: bool) -> None:
    """As the recording started: neither prompt, answer, path nor command line is in a request without content."""
    receiver.configure(world, **{"otlp.content": content})
    katod = Exporting(world)
    Claude(world).say(
        user("::start zanzibar +tools\nquagga"),
        says("xylophone"),
        calls("c", "make okapi"),
        result("c", "lemur"),
        user("::stop"),
    )
    katod.deliver()
    katod.stop()
    sent = b"".join(span.data for span in receiver.taken)
    found = {word for word in (b"zanzibar", b"quagga", b"xylophone", b"okapi", b"lemur", b"/home/me") if word in sent}
    assert found == ({b"quagga", b"xylophone", b"okapi", b"lemur"} if content else set()) or b"zanzibar" in found
    assert content or not found


@pytest.mark.slow
def test_both_deliveries_run_at_once(world: World, receiver: Receiver) -> None:
    """A room and a collector; an outage of one does not hinder the other."""
    from tests.matrix.homeserver import Homeserver  # noqa: PLC0415

    with Homeserver() as server:
        token = world.home / "token"
        token.write_text("syt_token_of_the_fake_homeserver\n")
        token.chmod(0o600)
        matrix = {"homeserver": server.url, "matrix.token_file": str(token), "room": "!room:localhost"}
        receiver.configure(world, **matrix)
        katod = Exporting(world)
        receiver.stop()
        talk(Claude(world))
        katod.step_until(lambda: "done" in server.texts(), "the room")
        assert receiver.taken == []
        assert katod.said("delivery.waits")[0]["to"] == "otlp"
        receiver.start()
        katod.deliver()
        katod.stop()
    assert_complete(world, receiver)
    assert world.status()["delivery"]["unfinished"] == world.status()["otlp"]["unfinished"] == []


@pytest.mark.slow
def test_what_the_ledger_has_is_not_sent_again(world: World, receiver: Receiver) -> None:
    """After a restart, a recording is read again, and goes on behind the last span that was taken."""
    receiver.configure(world)
    katod = Exporting(world)
    maker = Claude(world).say(user("::start notes\nhello"), *TALK)
    katod.deliver()
    katod.stop()
    before = len(receiver.requests)
    katod = Exporting(world)
    katod.deliver()
    assert len(receiver.requests) == before > 0
    maker.say(user("again"), says("yes"), user("::stop"))
    katod.deliver()
    katod.stop()
    assert len(receiver.taken) == assert_complete(world, receiver)


@pytest.mark.slow
def test_many_recordings_that_waited_are_all_sent(world: World, receiver: Receiver) -> None:
    """After an outage, in which recording went on."""
    receiver.configure(world)
    receiver.stop()
    katod = Exporting(world)
    for number in range(1, 31):
        world.session(number).say(user(f"::start notes-{number}\nhello"), *TALK, user("::stop"))
        katod.turn()
    assert len(world.written()) == 30
    receiver.start()
    katod.deliver(60)
    katod.stop()
    assert world.status()["otlp"]["unfinished"] == []
    assert len(receiver.taken) == assert_complete(world, receiver)


def test_a_recording_follows_an_endpoint_that_was_corrected(world: World, receiver: Receiver) -> None:
    """Nothing of it was taken before; the status says that it waits until then."""
    receiver.configure(world, **{"otlp.endpoint": f"{receiver.url}/v2"})
    receiver.fault = lambda _spans: "404"
    katod = Exporting(world)
    maker = Claude(world).say(user("::start notes\nhello"), *TALK)
    katod.step_until(lambda: katod.said("delivery.waits"), "the first refusal")
    receiver.fault = lambda _spans: ""
    receiver.configure(world)
    assert world.status()["otlp"]["elsewhere"] == [{"endpoint": f"{receiver.url}/v2", "ids": [1]}]
    katod.configured()
    maker.say(user("::stop\nafter"), says("no"))
    katod.step_until(lambda: receiver.taken, "the first span")
    katod.deliver()
    katod.stop()
    assert assert_complete(world, receiver) > 5
    assert "elsewhere" not in world.status()["otlp"]


def test_a_recording_of_which_anything_was_sent_stays_where_it_is(world: World, receiver: Receiver) -> None:
    """Another collector would have a part of it; the status names it."""
    receiver.configure(world)
    katod = Exporting(world)
    maker = Claude(world).say(user("::start notes\nhello"), says("yes"))
    katod.deliver()
    with Receiver() as other:
        other.configure(world)
        katod.configured()
        maker.say(user("more"), says("done"), user("::stop\nafter"))
        katod.deliver()
        katod.stop()
        assert other.taken == []
        assert world.status()["otlp"]["elsewhere"] == [{"endpoint": receiver.url, "ids": [1]}]

"""Which records are an echo of earlier ones, and that the daemon obeys and shows none of them."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest

from katod import events as ev
from katod.command.grammar import split
from katod.events import Event, SessionRef
from katod.model import SessionKey
from katod.record import echo, hashes
from katod.record.echo import Echoes, Passed
from tests.examples import mostly
from tests.looping import each
from tests.record import echoes
from tests.support.records import Gemini, calls, result, user
from tests.support.world import World

KEY = SessionKey("gemini", "s")
REFUSED = Path(__file__).parents[2] / "fixtures/gemini/real/cli-0.61.0-fakemodel-refused.jsonl"
ROWS = REFUSED.read_bytes().splitlines(keepends=True)


class Chat:
    """A session as its echoes see it: what is said, when, and what passed."""

    def __init__(self, key: SessionKey = KEY) -> None:
        self.key = key
        self.echoes = Echoes(key)
        self.passed: list[str] = []
        self._count = 0

    def event(self, kind: str, text: str, time: float) -> Event:
        """Return an event with an id of its own."""
        self._count += 1
        moment = datetime.fromtimestamp(1_700_000_000 + time, UTC).isoformat() if time >= 0 else ""
        return Event(f"id-{self._count}", kind, SessionRef(*self.key[:2]), {"text": text}, {}, moment, typed=True)

    def say(self, *said: tuple[str, float]) -> "Chat":
        """Take what is said at these times; what the agent says begins with `>`."""
        for text, time in said:
            kind = ev.ASSISTANT_MESSAGE if text.startswith(">") else ev.USER_MESSAGE
            self.take(self.event(kind, text, time))
        return self

    def take(self, event: Event) -> None:
        """Take one event, after a restart."""
        self.echoes = Echoes(self.key, json.loads(json.dumps(self.echoes.kept())))
        message = tuple(split(event, marks_pastes=True).events) if event.kind == ev.USER_MESSAGE else (event,)
        self._note(self.echoes.take(message, "a.jsonl"))

    def end(self) -> list[str]:
        """Return all that passed, once nothing follows."""
        self._note(self.echoes.settle())
        return self.passed

    def _note(self, passed: list[Passed]) -> None:
        self.passed += [one.event.payload.get("text") or one.event.payload["line"] for one in passed if not one.is_echo]


def history() -> Chat:
    """Return a session with three exchanges, a minute apart."""
    return Chat().say(
        ("hello", 0), (">hi", 5), ("::start one", 60), (">started", 65), ("::stop", 120), (">stopped", 125)
    )  # fmt: skip


SAID = ["hello", ">hi", "::start one", ">started", "::stop", ">stopped"]


@each(
    "again",
    [
        pytest.param([("::start one", 130), (">started", 130.01)], id="one exchange at once"),
        pytest.param([("hello", 130), (">hi", 140)], id="the first exchange, as slow as people are"),
        pytest.param([("hello", 130), ("::start one", 130), (">stopped", 130)], id="answers left out"),
        pytest.param([("::start one", 60), (">started", 65)], id="with its old times"),
        pytest.param([("hello", 0), ("::stop", 120), (">stopped", 125)], id="an exchange left out, with its old times"),
    ],
)  # fmt: skip
def test_an_echo_says_nothing(again: list[tuple[str, float]]) -> None:
    """What repeats the history in order, with something of the agent, is not passed on; what follows it is."""
    assert history().say(*again, ("new", 200), (">yes", 205)).end() == [*SAID, "new", ">yes"]


@each(
    "typed",
    [
        pytest.param([("::start one", 180)], id="a command alone"),
        pytest.param([("::start one", 180), (">started", 185)], id="with the same answer"),
        pytest.param([("::start one", 180), (">something else", 180.01)], id="with another answer at once"),
        pytest.param([("::stop", 180), ("::stop", 181)], id="twice running"),
        pytest.param([("hello", 180), (">hello again", 185)], id="the first words with another answer"),
    ],
)  # fmt: skip
def test_what_is_typed_again_is_the_persons(typed: list[tuple[str, float]]) -> None:
    """What a person types once more, at a time of its own, is passed on, with whatever the agent answers."""
    assert history().say(*typed).end() == [*SAID, *(text for text, _ in typed)]


def test_a_prompt_that_was_typed_before_waits_for_the_next_record() -> None:
    """It may be the beginning of an echo, which the next record shows."""
    chat = history().say(("::start one", 180))
    assert chat.passed == SAID
    assert chat.echoes.has_pending()
    assert chat.say((">another answer", 185)).passed == [*SAID, "::start one", ">another answer"]
    assert not chat.echoes.has_pending()


def test_what_waits_of_a_source_that_is_read_again_comes_again() -> None:
    """A source that is read from its beginning again yields what waited once."""
    chat = history().say(("::start one", 180))
    chat.echoes.restart("a.jsonl")
    assert chat.say(("::start one", 180), (">another answer", 185)).passed == [*SAID, "::start one", ">another answer"]


@each("later", [0.001, 2], ids=["at once", "a little later"])
def test_an_echo_may_begin_right_behind_what_was_typed_once_more(later: float) -> None:
    """It may be one of something that was said before that."""
    said = [
        ("hello", 0),
        (">hi", 5),
        ("ok", 60),
        (">first", 65),
        ("go", 120),
        (">gone", 125),
        ("ok", 180),
        (">more", 185),
    ]
    said += [("ok", 240), (">gone", 250)]
    chat = Chat().say(*said).say(("ok", 250 + later), (">first", 250 + later + 0.001), ("bye", 300))
    assert chat.end() == [*(text for text, _ in said), "bye"]


def test_an_echo_right_behind_a_repeated_exchange_may_contain_its_answer() -> None:
    """It begins with something later than what is repeated, and goes on to the end."""
    said = [
        ("hello", 0),
        (">hi", 5),
        ("ok", 60),
        (">yes", 65),
        ("look", 120),
        ("at this", 130),
        ("ok", 180),
        (">yes", 185),
    ]
    chat = Chat().say(*said).say(("at this", 185.001), (">yes", 185.002), ("bye", 300))
    assert chat.end() == [*(text for text, _ in said), "bye"]


def test_a_line_of_the_first_prompt_is_not_the_first_prompt() -> None:
    """Typed once more, with an answer that was given before, it is the person's: no time says otherwise."""
    said = ["do X\nok", ">Fine.", "ok", ">Done.", "ok\ngo on", ">Yes.", "B", ">Done.", "ok", ">Done.", "ok", ">Fine."]
    chat = Chat(SessionKey("cursor", "s")).say(*((text, -1.0) for text in said))
    assert chat.end() == said


def test_what_says_nothing_by_itself_belongs_to_the_messages_around_it() -> None:
    """The usage of an echo, which was recorded before, is part of it; the usage of what follows is not."""
    chat = Chat().say(("hello", 0), (">hi", 5))
    chat.take(chat.event(ev.USAGE, "12 tokens", 5))
    chat.say(("hello", 130), (">hi", 130))
    chat.take(chat.event(ev.USAGE, "12 tokens", 130))
    chat.say(("new", 200), (">yes", 205))
    chat.take(chat.event(ev.USAGE, "of what follows", 205))
    assert chat.end() == ["hello", ">hi", "12 tokens", "new", ">yes", "of what follows"]


@each("later", [0.01, 5], ids=["at once", "as slow as answering is"])
def test_an_answer_that_used_other_tokens_was_not_given_before(later: float) -> None:
    """The first words of a session typed again, with the same answer, are the person's if the answer was a new one."""
    chat = Chat().say(("ls", 0), (">a.md", 5))
    chat.take(chat.event(ev.USAGE, "12 tokens", 5))
    chat.say(("ls", 130), (">a.md", 130 + later))
    assert chat.echoes.has_pending()
    chat.take(chat.event(ev.USAGE, "14 tokens", 130 + later))
    assert not chat.echoes.has_pending()
    assert chat.end() == ["ls", ">a.md", "12 tokens", "ls", ">a.md", "14 tokens"]


def test_the_history_of_a_very_long_session_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not remembered any more, between its beginning and its end, does not act and is not said again."""
    monkeypatch.setattr(hashes, "_FIRST", 6)
    monkeypatch.setattr(hashes, "_LATEST", 10)
    said = [
        ("hello", 0.0),
        (">hi", 5.0),
        *((f"::start n{n}" if n % 2 == 0 else f">answer {n}", 60.0 * n) for n in range(2, 60)),
    ]
    again = [(text, 4000 + n / 1000) for n, (text, _) in enumerate(said)]
    chat = Chat().say(*said).say(*again, ("new", 4100), (">yes", 4105))
    assert chat.end() == [*(text for text, _ in said), "new", ">yes"]


def test_a_short_answer_that_came_again_later_does_not_end_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """In what is not remembered any more, `ok` is not the later `ok`, behind which all that follows would be new."""
    monkeypatch.setattr(hashes, "_FIRST", 6)
    monkeypatch.setattr(hashes, "_LATEST", 10)
    said = [
        ("hello", 0.0),
        (">hi", 5.0),
        *((f"n{n}" if n % 2 == 0 else f">answer {n}", 60.0 * n) for n in range(2, 30)),
    ]
    said[11], said[-3] = (">ok", said[11][1]), (">ok", said[-3][1])
    again = [(text, 4000 + n / 1000) for n, (text, _) in enumerate(said)]
    chat = Chat().say(*said).say(*again, ("new", 4100), (">yes", 4105))
    assert chat.end() == [*(text for text, _ in said), "new", ">yes"]


def test_nothing_that_was_said_is_remembered_as_text() -> None:
    """What is kept of the history are keyed hashes: the same words have others in another session."""
    kept = json.dumps(history().echoes.kept())
    assert not any(text.strip(">:") in kept for text in SAID)
    hashes = []
    for name in ("s", "s", "other", "\ud800" + "x" * 90):
        echoes = Echoes(SessionKey("gemini", name))
        echoes.take((history().event(ev.USER_MESSAGE, "hello", 0),), "a.jsonl")
        hashes.append(echoes.kept()["known"]["first"])
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


@each(("limit", "value", "text", "waits"), [
    ("_MOST", 4, "x", [1, 2, 3, 4, 0]), ("_MOST", 256, "x" * 10, [1, 2, 3, 4, 5]),
    ("_LARGEST", 16, "x" * 4, [1, 2, 3, 0, 0]), ("_LARGEST", 17, "x" * 4, [1, 2, 3, 4, 0]),
])  # fmt: skip
def test_what_waits_is_bounded(limit: str, value: int, text: str, waits: list[int]) -> None:
    """Of too many events, or of too much text, an echo is not waited for."""
    chat = Chat().say(("hello", 0), (">hi", 5), ("hello", 130))
    found = []
    with mock.patch.object(echo, limit, value):
        for _ in range(5):
            found.append(len(chat.echoes.kept().get("waiting", ())))
            chat.take(chat.event(ev.TURN_END, text, 130))
    assert found == waits


def test_what_waits_is_of_a_source() -> None:
    """That of another one is not asked for."""
    chat = history()
    assert (Echoes(KEY).is_blank, chat.echoes.is_blank) == (True, False)
    chat.say(("hello", 180))
    assert [chat.echoes.has_pending(path) for path in ("a.jsonl", "b.jsonl", "")] == [True, False, True]


def test_a_record_that_is_written_again_while_it_waits_is_one() -> None:
    """It has the same id."""
    chat = history()
    event = chat.event(ev.USER_MESSAGE, "hello", 180)
    chat.take(chat.event(ev.USER_MESSAGE, "hello", 180))
    for _ in range(2):
        chat.take(event)
    assert chat.end() == [*SAID, "hello", "hello"]


def test_what_a_client_adds_to_prompts_is_no_prompt() -> None:
    """It says nothing by itself: that it comes again is no echo."""
    chat = history()
    for time in (150, 180):
        event = chat.event(ev.USER_MESSAGE, "the files of the project", time)
        chat.take(event._replace(payload=event.payload | {"subtype": "context"}, typed=False))
    assert not chat.echoes.has_pending()


@each(
    ("line", "waits"),
    [(0, False), (15, False), (16, True), (20, True), (23, True), (24, False), (39, False), (None, True)],
)
def test_of_a_long_prompt_its_first_and_last_lines_count(line: int | None, waits: bool) -> None:
    """It is the same prompt if those are, whatever is between them."""
    words = [f"line {number}" for number in range(40)]
    other = ["first" if number == line else one for number, one in enumerate(words)]
    chat = Chat().say(("\n".join(words), 0), (">hi", 5), ("\n".join(other), 130))
    assert chat.echoes.has_pending() is waits


@pytest.mark.parametrize("cut", mostly((35, 40, 59), range(33, 61)))
def test_a_refused_permission_of_gemini_starts_and_shows_nothing_again(world: World, cut: int) -> None:
    """Gemini CLI writes its history again; wherever a poll or a restart cuts it, each command acts once."""
    maker = Gemini(world)
    maker.path.write_bytes(b"".join(ROWS[:cut]))
    world.once()
    maker.path.write_bytes(b"".join(ROWS))
    world.once()
    written = world.written()
    answers = {name: re.findall(r"\(a\d+\)", text) for name, text in written.items()}
    assert answers == {"one.md": ["(a002)"], "two.md": [f"(a0{number:02})" for number in range(9, 14)]}
    world.cli("verify")


def test_what_passed_before_a_restart_is_known_of_the_session(world: World) -> None:
    """What is said twice waits, and what was read before it is read once more: a head has the model all the same."""
    chat = world.claude()
    chat.say(user("before"), user("one\n::start\ntwo"), user("before\n::stop\nbehind"))
    chat.say(calls("c1", "make"), result("c1", "ok"), user("before\n::stop\nbehind"))
    world.once()
    chat.say(user("before\n::export\nbehind"))
    world.once()
    [export] = [text for name, text in world.written().items() if "-before-" in name]
    assert 'model: "claude-opus-4-6"' in export


def test_what_passes_of_many_chats_is_as_in_the_golden_file() -> None:
    """Prompts and answers that come again: in order or not, at once or as slow as people are, with or without times."""
    now, was = echoes.text().splitlines(), echoes.GOLDEN.read_bytes().splitlines()
    wrong = [f"{old!r} became {new!r}" for new, old in zip(now, was, strict=True) if new != old]
    assert wrong == [], "if meant: python -m tests.golden.update"

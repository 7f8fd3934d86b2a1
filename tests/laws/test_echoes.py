"""A client that writes its history again, under whatever ids and times, types nothing and says nothing new.

What a person types is theirs, however often they typed it before. The messages are those of each agent's adapter; their
times are drawn.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, SessionKey
from katod.record.echo import Echoes, Message
from katod.record.translation import Translation
from tests.examples import examples
from tests.support.parts import lines
from tests.support.records import MAKERS, Maker, Said, calls, result, says, user

PATH = "/nowhere/s.jsonl"
# Their records do not tell an echo of one exchange from one that a person had twice: it counts for its commands alone.
SINGLE = {"antigravity"}
SAYING = {ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL}
BEGAN = datetime(2026, 2, 10, tzinfo=UTC).timestamp()
COMMANDS = ("::start one", "::stop", "::start one\nfix it", "::export copy\nas it is", "::start +tools")


class Timed(NamedTuple):
    """Something that is said, and when: seconds after the beginning of the session."""

    said: Said
    time: float


class Exchange(NamedTuple):
    """What a person typed, and what the agent did about it."""

    prompt: Said
    answer: tuple[Said, ...]

    @property
    def all(self) -> tuple[Said, ...]:
        return (self.prompt, *self.answer)


class Session:
    """One session as its agent writes it, with the times that are drawn."""

    def __init__(self, maker: type[Maker], home: Path) -> None:
        self.home = home
        self.maker, self.at = maker(self), 0
        self.nature = AGENTS[maker.agent].nature
        self.key = SessionKey(maker.agent, self.maker.session)
        self.translation = self.translated()
        self.echoes = Echoes(self.key)
        self.said: list[str] = []
        self.ids: set[str] = set()
        self.messages(*self.maker.opening())

    def translated(self) -> Translation:
        """Return a translation from the beginning."""
        return Translation(Origin(Identity(self.key), Path(PATH)), SessionMetadata(self.key), EventLog())

    def messages(self, *records: Any) -> list[Message]:
        """Return the new messages that these records make: of a document, the last one does not wait."""
        self.maker.write(*records)
        if rows := self.maker.document():
            whole = self.translated()
            found = [*whole.feed(lines(*rows)), *whole.finish()]
        else:
            rows = lines(*records, at=self.at)
            self.at = rows[-1].end if rows else self.at
            found = list(self.translation.feed(rows))
        new = {message[0].id: message for message in found if message[0].id not in self.ids}
        self.ids |= set(new)
        return list(new.values())

    def write(self, *things: Timed, restart: bool = False) -> list[str]:
        """Write what is said, and return the ids of all that says something; `said` has those that passed."""
        written: list[str] = []
        for said, time in things:
            moment = datetime.fromtimestamp(BEGAN + time, UTC).isoformat() if self.nature.has_times else ""
            for message in self.messages(*self.maker.records(said)):
                here = tuple(event._replace(time=moment) for event in message)
                written += [event.id for event in here if event.kind in SAYING]
                self.note(self.echoes.take(here, PATH))
                if restart:
                    self.echoes = Echoes(self.key, json.loads(json.dumps(self.echoes.kept())))
        return list(dict.fromkeys(written))

    def note(self, passed: list[Any]) -> None:
        """Remember what passed."""
        self.said += [one.event.id for one in passed if not one.is_echo and one.event.kind in SAYING]

    def end(self) -> list[str]:
        """Return all that passed, once the session is complete; a message may be written again under its own id."""
        self.note(self.echoes.settle())
        return list(dict.fromkeys(self.said))


@contextmanager
def session_of(maker: type[Maker]) -> Iterator[Session]:
    """Provide a session in a home of its own."""
    with TemporaryDirectory() as folder:
        yield Session(maker, Path(folder))


def paced(things: list[Said], since: float, gaps: list[float]) -> list[Timed]:
    """Return what is said with these pauses before each thing."""
    timed = []
    for number, said in enumerate(things):
        since += gaps[number % len(gaps)]
        timed.append(Timed(said, since))
    return timed


SLOW = st.lists(st.floats(1.5, 90), min_size=1, max_size=7)
ONCE = st.lists(st.floats(0, 0.01), min_size=1, max_size=5)


@st.composite
def exchanges(draw: Any) -> list[Exchange]:
    """Draw what is said once: each answer is one of its own, most prompts are commands."""
    found = [Exchange(user("hello there"), (says("what can I do?"),))]
    for number in range(draw(st.integers(1, 5))):
        prompt = draw(st.sampled_from([*COMMANDS, f"words {number}"]))
        answer = [says(f"answer {number}")]
        if draw(st.booleans()):
            answer = [calls(f"call-{number}", f"make {number}"), result(f"call-{number}", "done"), *answer]
        found.append(Exchange(user(prompt), tuple(answer)))
    return found


def spoken(*these: Exchange) -> list[Said]:
    """Return what is said in these exchanges."""
    return list(chain.from_iterable(one.all for one in these))


@st.composite
def again(draw: Any, before: list[Exchange]) -> list[Said]:
    """Draw what a person types that was typed before, not first in the session."""
    known = draw(st.sampled_from(before[1:]))
    other = Exchange(known.prompt, (says("something else"),))
    ritual = [user("::start one"), says("Understood."), user("::stop"), says("Understood.")]
    return draw(st.sampled_from([
        [known.prompt, *other.all],  # running
        spoken(other), spoken(other, other), spoken(known), spoken(known, known), ritual * 3,
    ]))  # fmt: skip


@st.composite
def echo(draw: Any, before: list[Exchange], more: list[Said]) -> list[Said]:
    """Draw what a client writes again: some of what was said, in order, from a prompt on, with something of the agent."""
    begin = draw(st.integers(0, len(before) - 1))
    kept = [one for one in before[begin + 1 :] if draw(st.booleans())]
    first = before[begin]
    answers = [said for said in first.answer if said.what != "result"]
    left = draw(st.sets(st.sampled_from(answers), max_size=len(answers) - 1))
    rest = [said for said in spoken(*kept) if said.what == "user" or draw(st.booleans())]
    rest += [said for said in more if draw(st.booleans())]
    return [first.prompt, *(said for said in first.answer if said not in left), *rest]


@pytest.fixture(params=MAKERS, ids=lambda maker: maker.__name__)
def make(request: pytest.FixtureRequest) -> type[Maker]:
    """Return each agent's maker in turn."""
    maker: type[Maker] = request.param
    return maker


@given(st.data())
@examples(3, 250)
def test_what_a_client_writes_again_says_nothing(make: type[Maker], data: Any) -> None:
    """An echo within milliseconds, or with the times of the past, passes nothing on, and what follows all passes.

    So it is right behind something that the person typed once more, of which the echo may be of an earlier part.
    """
    before, restart = data.draw(exchanges()), data.draw(st.booleans())
    if make.agent in SINGLE:
        before[0] = Exchange(user(data.draw(st.sampled_from(COMMANDS))), before[0].answer)
    typed = [] if make.agent in SINGLE else data.draw(st.one_of(st.just([]), again(before)))
    history = paced([*spoken(*before), *typed], 0, data.draw(SLOW))
    with session_of(make) as session:
        expected = session.write(*history, restart=restart)
        is_partial = session.nature.has_times and make.agent not in SINGLE and not make.WAITS_FOR_ENDS
        repeated = data.draw(echo(before, typed)) if is_partial else spoken(*before)
        since = history[-1].time + data.draw(st.sampled_from([0.001, 2, 900]))
        at_once = paced(repeated, since, data.draw(ONCE))
        if data.draw(st.booleans()):
            times = {id(said): time for said, time in history}
            at_once = [Timed(said, times[id(said)]) for said in repeated]
        cut = data.draw(st.integers(0, len(at_once)))
        session.write(*at_once[:cut], restart=restart)
        session.write(*at_once[cut:], restart=restart)
        more = [user(data.draw(st.sampled_from(COMMANDS))), says("the last answer"), user("bye"), says("see you")]
        expected += session.write(*paced(more, since + 100, data.draw(SLOW)), restart=restart)
        assert session.end() == expected


@given(st.data())
@examples(3, 250)
def test_what_a_person_types_again_is_theirs(make: type[Maker], data: Any) -> None:
    """The same command typed again, with the same words, with the same answer, running or much later, always passes."""
    before = data.draw(exchanges())
    things = [*spoken(*before), *data.draw(again(before))]
    if data.draw(st.booleans()):
        things += [user("other words"), says("another answer"), *data.draw(again(before))]
    with session_of(make) as session:
        written = session.write(*paced(things, 0, data.draw(SLOW)), restart=data.draw(st.booleans()))
        assert session.end() == written


@given(st.data())
@examples(3, 125)
def test_a_first_exchange_that_comes_again_is_an_echo(make: type[Maker], data: Any) -> None:
    """The first prompt of a session with its answer is one, at whatever pace, alone or with all that follows it."""
    before = data.draw(exchanges())
    before[0] = Exchange(user(data.draw(st.sampled_from(COMMANDS))), before[0].answer)
    before[1:] = [one for one in before[1:] if one.prompt != before[0].prompt]
    repeated = spoken(*before) if data.draw(st.booleans()) else spoken(before[0])
    with session_of(make) as session:
        history = paced(spoken(*before), 0, data.draw(SLOW))
        expected = session.write(*history)
        session.write(*paced(repeated, history[-1].time + 2, data.draw(st.one_of(SLOW, ONCE))))
        expected += session.write(*paced([user("go on"), says("with what?")], 99_000, [5]))
        assert session.end() == expected

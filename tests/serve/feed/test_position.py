"""How far viewers are in sessions of several sources that grow in turns: each is sent every message once."""

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from katod.model import Identity, Options, SessionKey
from katod.serve.feed import tail as tails
from katod.serve.feed.channel import Channel, Lost
from katod.serve.feed.position import Position, SentMessage, SourcePosition, between, located
from katod.serve.feed.reader import MessageReader
from katod.serve.feed.tail import Tail
from katod.serve.index.entry import SessionContent
from katod.serve.page.reader import PageReader
from tests.examples import examples
from tests.serve.steps import items, outcome
from tests.support.records import SESSION, Claude
from tests.support.world import World

KEY = SessionKey("claude", SESSION)
Growth = list[int]  # which sources get a message each, in this order


class Worker:
    """Reads at once."""

    async def run(self, job: Any) -> Any:
        """Return the result of a job."""
        return job()

    async def last(self, steps: Iterable[Any]) -> Any:
        """Return what the steps come to."""
        return outcome(iter(steps))

    async def stream(self, found: Iterable[Any]) -> AsyncGenerator[list[Any], None]:
        """Yield one item at a time."""
        for item in found:
            yield [item]


class Files:
    """A session of several files. `order` is that in which they are read."""

    def __init__(self, world: World, home: Path, order: Iterable[int]) -> None:
        self._maker = Claude(world)
        self.paths = [home / f"{number}" / f"{SESSION}.jsonl" for number in sorted(order)]
        self.order = list(order)
        for path in self.paths:
            path.parent.mkdir()
            path.touch()

    def grow(self, sources: Growth) -> None:
        """Append a message to each of these files, or what is sent without an id (a negative number)."""
        for number in sources:
            text = "[Request interrupted by user]" if number < 0 else f"said {self._maker.count}"
            record = self._maker.user([{"type": "text", "text": text}] if number < 0 else text)
            with self.paths[abs(number) % len(self.paths)].open("a") as file:
                file.write(json.dumps(record) + "\n")

    def content(self) -> SessionContent:
        """Return the files as a server knows them."""
        return SessionContent(KEY, tuple((str(self.paths[number]), Identity(KEY)) for number in self.order))


class Viewer:
    """A page, or a client: what it has been sent, and what it names when it comes back."""

    def __init__(self, files: Files, *, is_page: bool, most: int = 999) -> None:
        self._files, self._is_page = files, is_page
        self._most = most  # messages that it takes before it leaves
        self.seen: list[str] = []
        self.position = Position()
        self.channel = self._opened()

    def _make(self, content: Any) -> Any:
        return PageReader(content, Options()) if self._is_page else MessageReader(content, 0)

    def _opened(self) -> Channel:
        return Channel(self._files.content, Worker(), self._make)  # type: ignore[arg-type]

    async def load(self) -> None:
        """Show all that there is, as a page does by itself and a client by the history."""
        self.seen.clear()
        if not self._is_page:
            await self.channel.ready()
            self.position = self.channel.tail.position()
        tail, again, more = Tail(), self._make(self._files.content), True
        while more:
            batch = again.sent()
            tail.extend(batch.sent)
            self._see(batch.sent)
            more = batch.more
        self.position = tail.position() if self._is_page else self.position

    async def follow(self, turns: Iterable[Growth], *, lags: bool) -> None:
        """Follow while the files grow; `lags` if it takes nothing before the end."""
        left = iter(turns)
        while True:
            try:
                await self._follow(left, lags=lags)
            except Lost:  # a client begins again: states of the agent, which it may be at, follow from the order
                assert not self._is_page
                await self.load()
            else:
                return

    async def _follow(self, turns: Iterator[Growth], *, lags: bool) -> None:
        self._end = -1
        async with aclosing(self.channel.follow(self.position, in_order=not self._is_page)) as coming:
            await self._take(coming)
            for turn in turns:
                self._files.grow(turn)
                await self.channel.catch_up()
                if not lags:
                    await self._take(coming)
            if lags:
                await self._take(coming)

    async def _take(self, coming: AsyncGenerator[SentMessage | None, None]) -> None:
        if self._end == self.channel.tail.end:
            return  # there is nothing, and it would wait for it
        self._end = self.channel.tail.end
        while self._most and (sent := await asyncio.wait_for(anext(coming), 5)) is not None:
            self._most -= 1
            self.position = self.position.after(sent)
            self._see([sent])

    def _see(self, messages: Iterable[SentMessage]) -> None:
        """Note what was said; what else there is, as states of the agent, follows from the order."""
        self.seen += [sent.id for sent in messages if "said " in sent.text]

    async def come_back(self, *, restarted: bool) -> None:
        """Name what it has, to the server that it knows or another one; begin again if that is not enough."""
        if restarted:
            self.channel = self._opened()
        self._most = 999
        await self.channel.catch_up()
        ids = self.position.ids
        try:
            if not ids:
                self.position = Position()
            elif self._is_page:
                self.position = await self.channel.find_all(ids)
            else:
                self.position = await self.channel.find(self.position.last)
        except Lost:
            assert not self._is_page
            await self.load()


class Life:
    """What happens to a viewer and the files, in three parts."""

    def __init__(self, files: Files, *, is_page: bool) -> None:
        self.files, self.is_page = files, is_page

    async def live(
        self, growths: tuple[Growth, list[Growth], Growth], *, lags: bool, restarted: bool, most: int
    ) -> list[str]:
        """Return what a viewer has that came when there was something, stayed, left, and came back."""
        self.files.grow(growths[0])
        viewer = Viewer(self.files, is_page=self.is_page, most=most)
        await viewer.channel.ready()
        await viewer.load()
        await viewer.follow(growths[1], lags=lags)
        self.files.grow(growths[2])
        if restarted:
            self.files.order.reverse()  # another server may know the files in another order
        await viewer.come_back(restarted=restarted)
        await viewer.follow([], lags=False)
        return viewer.seen


growth = st.lists(st.integers(-3, 3), max_size=5)


@examples(12, 400)
@given(
    count=st.integers(1, 3), growths=st.tuples(growth, st.lists(growth, max_size=5), growth),
    is_page=st.booleans(), lags=st.booleans(), restarted=st.booleans(), kept=st.sampled_from([1, 2, 512]),
    most=st.integers(0, 20),
)  # fmt: skip
@example(count=2, growths=([0, 0, 1], [[0], [1]], [0]), is_page=True, lags=False, restarted=True, kept=512, most=20)
@example(count=2, growths=([0, 0, 1], [[0], [1]], [0]), is_page=False, lags=False, restarted=True, kept=512, most=20)
@example(
    count=2, growths=([0, 0, 1], [[0], [1], [0]], [0]), is_page=True, lags=False, restarted=True, kept=512, most=20
)
@example(
    count=2, growths=([0, 0, 1], [[0], [1], [0, 0]], [0]), is_page=False, lags=True, restarted=False, kept=1, most=20
)
@example(
    count=3, growths=([], [[0, 0, 0], [0, 0, 0, -1, 1], [0, 1, 2, -3], [0, -1]], []), is_page=False, lags=True,
    restarted=False, kept=1, most=19,
)  # fmt: skip
@example(count=3, growths=([], [[1, 2], [-1, -3]], []), is_page=False, lags=False, restarted=False, kept=512, most=7)
def test_each_message_comes_once_however_the_sources_grow(count, growths, is_page, lags, restarted, kept, most):
    """Whatever the order, wherever the viewer stopped, and whether the server is the same: all messages, each once."""
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "MOST", kept)
        files = Files(World(Path(home) / "world", patch), Path(home), range(count))
        seen = asyncio.run(Life(files, is_page=is_page).live(growths, lags=lags, restarted=restarted, most=most))
        everything = Viewer(files, is_page=is_page)
        asyncio.run(everything.load())
        assert sorted(seen) == sorted(everything.seen)
        assert len(set(seen)) == len(seen)


def messages(text: str) -> list[SentMessage]:
    """Return messages: letters are ids, and signs are messages without one; capitals and `!` are of another source."""
    return [
        SentMessage(one, (one,) if one.isalpha() else (), "B" if one.isupper() or one == "!" else "a") for one in text
    ]


@examples(30, 1000)
@given(order=st.permutations("abcABC..!"), other=st.permutations("abcABC..!"), ends=st.tuples(*[st.integers(0, 9)] * 2))
def test_what_is_between_two_positions_is_the_same_in_any_order(order, other, ends):
    """In each source, that is what was sent between them; how the sources take turns does not matter."""
    sent, marks = messages("".join(order)), [Position()]
    for one in sent:
        marks.append(marks[-1].after(one))
    begin, end = sorted(ends)
    of = {source: iter([one for one in sent if one.source == source]) for source in "aB"}
    turns = [next(of[one.source]) for one in messages("".join(other))]
    found = list(items(between(turns, marks[begin], marks[end])))
    assert sorted(one.text for one in found) == sorted(one.text for one in sent[begin:end])
    assert list(items(between(turns, marks[end], marks[begin]))) == []


def test_a_place_that_is_not_there_has_nothing_after_it():
    """Nor is it found by its name; a call that was copied is where it was last."""
    assert (
        list(
            items(between(messages("ab"), Position((SourcePosition("a", "x"),)), Position((SourcePosition("a", "b"),))))
        )
        == []
    )
    assert outcome(located(["x"], messages("ab"))) is None
    assert outcome(located(["a", "x"], messages("ab"))) is None
    assert outcome(located([], messages("ab"))) is None
    calls = [SentMessage("", ("1", "call"), "a"), SentMessage("", ("2", "call"), "a")]
    assert outcome(located(["call"], calls)) == Position((SourcePosition("a", "2"),))


def test_who_names_one_message_of_several_sources_is_told_to_begin_again_unless_it_just_came():
    """Which messages of the other sources it had before is known of those that came while the session was open."""
    reader = SimpleNamespace(located=lambda names: located(names, messages("abAB")), content=lambda: None)
    tail = Tail()
    tail.extend(messages("abA"))
    tail.set_read()
    tail.extend(messages("B"))
    channel = Channel(lambda: None, Worker(), lambda _: None, (reader, tail))  # type: ignore[arg-type,return-value]
    assert asyncio.run(channel.find("B")).ids == ("b", "B")
    assert asyncio.run(channel.find_all(["a", "A"])).ids == ("a", "A")
    with pytest.raises(Lost):
        asyncio.run(channel.find("A"))

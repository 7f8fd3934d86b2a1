"""What the index, the list and its changes are in a long story, step by step, by a clock of its own: a golden file."""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import orjson
import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import find_roots
from katod.formats.stream import bridge
from katod.search.query import Query
from katod.serve.feed import reader
from katod.serve.feed.position import Position, SentMessage, SourcePosition
from katod.serve.feed.reader import MessageReader
from katod.serve.index import sessions
from katod.serve.index.entry import SessionContent
from katod.serve.index.sessions import IndexScope, SessionIndex
from katod.serve.index.subscriptions import Subscription, Subscriptions
from katod.serve.page import recording, sessionlist
from katod.serve.page.listfilter import ListFilter
from katod.serve.page.listwatch import ListChanges
from katod.serve.page.sessionlist import SessionList
from katod.serve.page.trigrams import TrigramIndex
from katod.service import pause
from tests.golden.facts import FACTS, digest_of
from tests.serve.steps import items, outcome
from tests.support.records import OTHER, SESSION, Claude, Codex, GeminiDocument, OpenCode, calls, result, says, user
from tests.support.world import World

GOLDEN: Final = FACTS / "served-story.json"
NOW: Final = 1_800_000_000.0
_DAY: Final = 86_400.0
_FILTERS: Final = (
    ListFilter(agent="Codex"), ListFilter(project="shop"), ListFilter(label="later"), ListFilter(days="1"),
    ListFilter(starred="1"), ListFilter(recorded="1"), ListFilter(state="working"),
)  # fmt: skip
_WORDS: Final = ("basket", "b", "ask", "bas OR logins", "gone again", "ÜBER", "nowhere", "x y z")


class Shelf:
    """An index with its list, and what the last look found."""

    def __init__(self, world: World, *, everything: bool) -> None:
        scope = IndexScope(world.state, tuple(find_roots(Settings(), AGENTS)), everything)
        self.index = SessionIndex(scope, redact=True)
        self.list = SessionList(self.index, redact=everything, halted=lambda: recording.halted(world.state))
        self.changes = ListChanges()
        self.trigrams = TrigramIndex()
        self.subscriptions = Subscriptions(self.index)
        self.subscription = Subscription()
        self.subscriptions.begin()
        self._looks = 0
        self._read: dict[bytes, list[Any]] = {}

    def look(self) -> dict[str, Any]:
        """Return all that can be seen of it now."""
        entries = dict(self.index.all())
        before = self.changes.number
        rows = self.list.look()
        self.changes.take(rows)
        changed, gone = self.changes.since(before)
        maybe = {words: self._maybe(words) for words in _WORDS}
        self._looks += 1
        told: list[Any] = self.subscriptions.look(is_due=self._looks % 2 == 0)
        self.subscription.add(told)
        if self._looks % 3 == 0 and told:
            told = [told, asyncio.run(self.subscription.take())]
        list(self.trigrams.take(entries.values()))
        return {
            "list": [row.name for row in rows], "older": self.list.older, "gone": gone,
            "changed": [row._asdict() for row in changed], "told": told,
            **{name: self._seen(entry) for name, entry in entries.items()},
            **{f"messages of {name}": self._messages(entry) for name, entry in entries.items()},
            **{chosen.address("/"): [row.name for row in self.list.page("", chosen)[0]] for chosen in _FILTERS},
            "named": [row.name for row in list(self.list.named(Query(["shop"]), ListFilter()))[-1]],
            "newest": [found and found.name for found in map(self.index.newest, ("/home/me/app", "/home/me/shop", "/x"))],
            "maybe": maybe, "indexed": {words: self._maybe(words) for words in _WORDS},
        }  # fmt: skip

    def _messages(self, entry: Any) -> list[Any]:
        if entry.stats not in self._read:
            self._read[entry.stats] = _messages(self.index.content(entry.name))
        return self._read[entry.stats]

    def _maybe(self, words: str) -> list[str]:
        """Return the sessions that may have some words, as far as the index of trigrams tells."""
        found = self.trigrams.narrowed(Query.parse(words.split()).groups, self.index.all().values())
        return sorted(entry.name for entry in found)

    def _seen(self, entry: Any) -> list[Any]:
        index = self.index
        beside = [
            [found and found.name for found in self.list.beside(entry, is_older=older)][-1:] for older in (True, False)
        ]
        family, more = self.list.family(entry)
        return [
            entry.number, entry.is_open, entry.count, entry.changed_ns, sorted(map(os.path.basename, entry.paths)),
            index.is_recording(entry), index.main_of(entry).name, sorted(index.started(entry.key.agent)),
            index.about(entry), index.brief(entry), index.said(entry), index.content(entry.name).size,
            beside, [[depth, row.name] for depth, row in family], more,
        ]  # fmt: skip


def _messages(content: SessionContent) -> list[Any]:
    """Return the messages of a session, and how many there are after each of them, and after some more."""
    found = list(reader.messages(content))
    names = ["", "nobody", *(message["id"] for message in reader.streamed(content))]
    left = [[len(_after(content, name, more)) for more in (0, 1, 2, 9)] for name in names]
    hidden = [len(list(reader.messages(content, number))) for number in range(len(found) + 1)]
    again = MessageReader(lambda: content)
    meant = [
        outcome(again.located([one])).last for message in reader.streamed(content) for one in bridge.cursors_of(message)
    ]
    return [digest_of(found), left, hidden, meant]


def _after(content: SessionContent, name: str, more: int) -> list[SentMessage]:
    """Return what follows a message and so many without an id after it, in the source that it is in."""
    again, end, left = MessageReader(lambda: content), Position(), True
    while left:
        batch = again.sent()
        for sent in (*batch.hidden, *batch.sent):
            end = end.after(sent)
        left = batch.more
    at = outcome(again.located([name])) if name else Position()
    if at is None:
        return []
    marks = at.marks or [SourcePosition(mark.source) for mark in end.marks]
    return list(items(again.between(Position(tuple(mark._replace(more=more) for mark in marks)), end)))


class Story:
    """A world in which things are done, and two indexes that look at it."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.now = NOW
        clock = SimpleNamespace(time=lambda: self.now, monotonic=lambda: self.now - NOW)
        for module in (sessions, sessionlist):
            patch.setattr(module, "time", clock)
        patch.setattr("tests.support.records.base.time", SimpleNamespace(time_ns=lambda: round(self.now * 1e9)))
        patch.setattr(
            "tests.support.records.base.datetime",
            SimpleNamespace(now=lambda zone: datetime.fromtimestamp(self.now, zone)),
        )
        self.world = World(home, patch)
        self.shelves = {True: Shelf(self.world, everything=True), False: Shelf(self.world, everything=False)}
        self.rows: list[Any] = []
        self._before: dict[bool, dict[str, Any]] = {}

    def step(self, name: str, *acts: Callable[[], Any], after: float = 20.0, hints: tuple[Path, ...] = ()) -> None:
        """Do something, let time pass, tell the indexes of some files, and note what they have."""
        for act in acts:
            act()
        self.now += after
        for path in (path for path in self.world.home.rglob("*") if not path.is_relative_to(self.world.state)):
            if abs(path.stat().st_mtime - self.now) > 3 * _DAY:  # written now, by the clock of the machine
                os.utime(path, (self.now,) * 2)
        for everything, shelf in self.shelves.items():
            told = sorted(shelf.index.take_up(map(str, hints)))
            now, before = shelf.look(), self._before.get(everything, {})
            self._before[everything] = now
            new = {key: value for key, value in now.items() if before.get(key) != value}
            self.rows.append([name, everything, told, new, sorted(before.keys() - now.keys())])

    def text(self) -> bytes:
        """Return what was noted, a line for each look."""
        lines = [orjson.dumps(row, default=str).decode().replace(str(self.world.home), "HOME") for row in self.rows]
        return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


def text() -> bytes:
    """Return what the golden file contains."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        story = Story(Path(folder) / "home", patch)
        _tell(story)
        return story.text()


def _tell(story: Story) -> None:
    world = story.world
    one, other = Claude(world), Claude(world, OTHER)
    codex = Codex(world, cwd="/home/me/shop")
    helper = Claude(world, SESSION, subagent="a1")
    gemini, tree = GeminiDocument(world), OpenCode(world)
    story.step("nothing")
    story.step("first words", lambda: one.say(user("Where is the basket?"), says("In the cart.")))
    story.step("a hint of a new one", lambda: other.say(user("Another, über all")), after=5.0, hints=(other.path,))
    story.step("no hint", lambda: codex.say(user("Add logins"), says("Soon.")), after=5.0)
    story.step("a sweep finds it", after=20.0)
    story.step(
        "others",
        lambda: gemini.say(user("Gone again"), says("b")),
        lambda: tree.say(user("ask"), says("bas")),
    )
    story.step("a sub-agent", lambda: helper.say(user("Do a part"), says("Done.")))
    story.step("at work", lambda: one.say(user("Go on"), calls("c1", "make")), after=1.5, hints=(one.path,))
    story.step("less than a second", lambda: one.say(result("c1", "ok"), says("Made.")), after=0.5, hints=(one.path,))
    story.step("a moment later", after=1.0)
    story.step("recorded", lambda: other.say(user("::start\nRecord this"), says("Yes.")), world.once)
    story.step("without a name", lambda: codex.say(user("::start")), world.once, after=2.0)
    story.step("paused", lambda: pause.pause(world.state, "2027-01-15T08:00:00.000Z"))
    story.step("resumed", lambda: pause.resume(world.state))
    story.step("words of one's own", lambda: world.cli("rename", OTHER, "A title of mine"), lambda: world.cli("star", OTHER),
               lambda: world.cli("label", codex.session, "later"))  # fmt: skip
    story.step("named", lambda: codex.say(user("Its name"), says("Nice.")), world.once)
    story.step(
        "a name by the agent",
        lambda: one.write({"type": "custom-title", "customTitle": "By the agent", "sessionId": one.session}),
    )
    story.step("stopped", lambda: other.say(user("::stop")), world.once, after=0.5)
    story.step("in the second after", after=0.6)
    started = Codex(world, "00000009-8a53-4c3e-9b5e-0a1d5f8f2c11", cwd="/home/me/shop/")
    started.parent = codex.session
    story.step("started by an agent", lambda: started.say(user("Do this"), says("Done.")))
    orphan = Codex(world, "00000008-8a53-4c3e-9b5e-0a1d5f8f2c11")
    orphan.parent = "00000007-8a53-4c3e-9b5e-0a1d5f8f2c11"
    story.step("started by one that is gone", lambda: orphan.say(user("Do that"), calls("c1", "make")))
    story.step("a day later", after=_DAY + 10)
    story.step("gone", gemini.path.unlink, helper.path.unlink)
    story.step("forgotten", lambda: world.cli("forget", OTHER, "--yes"), hints=(other.path,))
    story.step("said afterwards", lambda: other.say(user("go on"), says("no")), hints=(other.path,))
    story.step("a row is gone", lambda: _without(tree))
    story.step("something else", lambda: (world.home / ".claude/projects/-home-me-app/notes.jsonl").write_text("{}\n"))


def _without(tree: OpenCode) -> None:
    with closing(sqlite3.connect(str(tree.path).partition("#")[0])) as db, db:
        db.execute("DELETE FROM session")

"""The changes of a list that is shown."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from katod.serve.page import listwatch
from katod.serve.page.listwatch import ListChanges, ListWatch
from katod.serve.page.sessionlist import ListRow


def test_a_list_that_is_as_it_was_did_not_change() -> None:
    """What is new, changed or gone since a look is told; nothing is told twice."""
    changes, one, two = ListChanges(), ListRow("one", since=1.0), ListRow("two", since=2.0)
    assert changes.take([one, two])
    assert not changes.take([two, one])
    seen = changes.number
    assert changes.take([one._replace(title="renamed")])
    assert changes.since(seen) == ([one._replace(title="renamed")], ["two"])
    assert changes.since(changes.number) == ([], [])
    assert changes.take([one._replace(title="renamed"), two])
    assert changes.since(seen) == ([one._replace(title="renamed"), two], [])


class Hub:
    """A hub whose news come when the test says so."""

    def __init__(self) -> None:
        self.news: asyncio.Queue[None] = asyncio.Queue()
        self.reading = self

    async def run(self, work: Any) -> Any:
        return work()

    @asynccontextmanager
    async def subscribed(self) -> Any:
        yield SimpleNamespace(take=self.news.get)


def test_the_list_is_looked_at_while_somebody_watches(monkeypatch: Any) -> None:
    """Once before, then at each change, for all who watch; and again for those who come when nobody did any more."""
    monkeypatch.setattr(listwatch, "_PAUSE", 0.0)
    rows, looks = [ListRow("one")], [0]

    def look() -> list[ListRow]:
        looks[0] += 1
        return list(rows)

    async def follow() -> None:
        hub = Hub()
        watch: Any = ListWatch(hub, SimpleNamespace(look=look))  # type: ignore[arg-type]
        for number in (1, 2):
            async with watch.watching(), watch.watching():
                assert watch.changes.since(0)[0] == rows
                rows.append(ListRow(f"more {number}", since=number))
                seen = looks[0]
                hub.news.put_nowait(None)
                await watch.tick()
                assert watch.changes.since(0)[0] == rows
                assert looks[0] == seen + 1
            rows.pop(0)

    asyncio.run(follow())

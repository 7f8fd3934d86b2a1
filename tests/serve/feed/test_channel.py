"""A session that has viewers: what a viewer is sent that is no longer kept."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from katod.serve.feed.channel import Channel, Lost
from katod.serve.feed.tail import Position, SentMessage, Tail


class Worker:
    """Reads at once."""

    async def stream(self, found: Iterable[Any]) -> AsyncGenerator[list[Any], None]:
        """Yield all."""
        yield list(found)


def missed(kept: str, after: str) -> list[Any]:
    """Return what is sent of these messages, of which some are kept; at last the number of the first one of these."""
    tail = Tail()
    tail.extend(SentMessage(name, (name,)) for name in kept)
    reader = SimpleNamespace(after=lambda _position: [SentMessage(name, (name,)) for name in after])
    worker: Any = Worker()
    channel = Channel(lambda: None, worker, lambda _: None, (reader, tail))  # type: ignore[arg-type,return-value]

    async def work() -> list[Any]:
        return [one if isinstance(one, int) else one.text async for one in channel.missed(Position("a"))]

    return asyncio.run(work())


def test_what_is_no_longer_kept_is_read_again_up_to_what_is() -> None:
    """A viewer then goes on with that."""
    assert missed("def", "bcdef") == ["b", "c", 0]
    assert missed("def", "ef") == [1]


def test_a_viewer_whose_place_is_gone_is_told() -> None:
    """What is kept does not come after it: the files were rewritten, so it begins anew."""
    for after in ("", "bc"):
        with pytest.raises(Lost):
            missed("def", after)

"""A session that has viewers: what a viewer is sent that is no longer kept."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from katod.serve.feed import tail as tails
from katod.serve.feed.channel import Channel, Lost
from katod.serve.feed.position import Position, SentMessage, between
from katod.serve.feed.tail import Tail


class Worker:
    """Reads at once."""

    async def stream(self, found: Iterable[Any]) -> AsyncGenerator[list[Any], None]:
        """Yield all."""
        yield list(found)


def messages(names: str) -> list[SentMessage]:
    """Return messages that are named by letters."""
    return [SentMessage(name, (name,)) for name in names]


def followed(sent: str, kept: int, files: str, after: str = "a") -> list[str]:
    """Return what a viewer is sent after a message, of these that were sent; some are kept, and the files have these."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "MOST", kept)
        tail = Tail()
        tail.extend(messages(sent))
    reader = SimpleNamespace(between=lambda begin, end: between(messages(files), begin, end))
    worker: Any = Worker()
    channel = Channel(lambda: None, worker, lambda _: None, (reader, tail))  # type: ignore[arg-type,return-value]

    async def work() -> list[str]:
        found, coming = [], channel.follow(Position().after(SentMessage("", (after,))))
        while (one := await anext(coming)) is not None:
            found.append(one.text)
        await coming.aclose()
        return found

    return asyncio.run(work())


def test_what_is_no_longer_kept_is_read_again_up_to_what_is() -> None:
    """A viewer then goes on with that; one that has all that is no longer kept goes on at once."""
    assert followed("abcdef", 3, "abcdef") == ["b", "c", "d", "e", "f"]
    assert followed("abcdef", 3, "nothing", after="c") == ["d", "e", "f"]
    assert followed("abcdef", 3, "nothing", after="e") == ["f"]


def test_a_viewer_whose_place_is_gone_is_told() -> None:
    """What is kept does not come after it: the files were rewritten, so it begins anew."""
    for files in ("", "ab", "bcdef"):
        with pytest.raises(Lost):
            followed("abcdef", 3, files)

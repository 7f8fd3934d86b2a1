"""The thread that reads: what it is asked for in turn, and how much may wait for it."""

import asyncio
import threading

import pytest

from katod.serve import worker
from katod.serve.worker import Busy, WorkerThread


def run(work):
    """Return what some work with a worker returns."""

    async def within():
        one = WorkerThread("test")
        try:
            async with asyncio.timeout(10):
                return await work(one)
        finally:
            one.close()

    return asyncio.run(within())


def test_the_thread_has_the_name_that_it_was_given():
    """It is what a list of threads shows."""

    async def work(one):
        return await one.run(lambda: threading.current_thread().name)

    assert run(work) == "test"


def test_what_waits_is_bounded(monkeypatch):
    """More is refused at once, so that memory and the time that others wait are bounded; what waits is done in turn."""
    monkeypatch.setattr(worker, "_MOST", 3)
    gate, begun = threading.Event(), threading.Event()

    async def work(one):
        jobs = [asyncio.create_task(one.run(lambda: begun.set() or gate.wait(5)))]
        await asyncio.to_thread(begun.wait, 5)
        jobs += [asyncio.create_task(one.run(lambda number=number: number)) for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await one.run(lambda: "too much")
        gate.set()
        return await asyncio.gather(*jobs), await one.run(lambda: "again")

    assert run(work) == ([True, 0, 1, 2], "again")


def test_a_job_that_fails_fails_where_it_was_asked_for():
    """The next one is done all the same."""

    async def work(one):
        with pytest.raises(ZeroDivisionError):
            await one.run(lambda: 1 // 0)
        return await one.run(lambda: "done")

    assert run(work) == "done"


def test_items_come_in_order_and_their_iterator_is_closed():
    """Also if whoever asked for them has enough."""
    closed = threading.Event()

    def items():
        try:
            yield from range(10_000)
        finally:
            closed.set()

    async def work(one):
        found = [item async for some in one.stream(iter(range(1000))) for item in some]
        stream = one.stream(items())
        first = (await anext(stream))[0]
        await stream.aclose()
        await asyncio.to_thread(closed.wait, 5)
        return found, first, await one.last(iter([None, None, "the last"])), await one.last(iter([None]))

    assert run(work) == ([*range(1000)], 0, "the last", None)
    assert closed.is_set()


def test_what_can_be_closed_is_closed_in_its_turn():
    """An iterator that cannot be closed is read all the same; one whose end fails stops nothing."""

    class Rows:
        closed = 0

        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration

        def close(self):
            self.closed += 1
            raise OSError

    async def work(one):
        rows = Rows()
        found = [some async for some in one.stream(iter([1, 2]))] + [some async for some in one.stream(rows)]
        return found, await one.run(lambda: rows.closed)

    assert run(work) == ([[1, 2]], 1)

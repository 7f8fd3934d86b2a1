"""Pieces of work in other processes: in order, whatever happens to a process, and nothing is left behind."""

import fcntl
import os
import signal
from tempfile import TemporaryFile

import pytest

from katod import processes
from katod.processes import Done, OrderedWork, cores, done_elsewhere, each_elsewhere


@pytest.fixture
def pool():
    """Return a function that starts processes, which end with the test."""
    pools = []

    def start(work, total, count=2, size=1, held=()):
        pools.append(OrderedWork(work, [size] * total, count, held))
        return pools[-1]

    yield start
    for one in pools:
        one.close()


def test_each_result_comes_in_its_turn(pool):
    """However long another one takes, and in whichever process it was done."""
    done = pool(lambda number: Done((number * number, os.getpid())), 40)
    found = [done.result(number).value for number in range(40)]
    assert [value for value, _ in found] == [number * number for number in range(40)]
    assert os.getpid() not in {process for _, process in found}


def test_a_large_result_is_an_open_file(pool):
    """It has no name, so nothing is left on the disk."""

    def work(number):
        file = TemporaryFile()  # noqa: SIM115 - the test closes it
        file.write(b"x" * number * 100_000)
        file.seek(0)
        return Done("text", file)

    done = pool(work, 3)
    for number in range(3):
        found = done.result(number)
        with found.file:
            assert (found.value, len(found.file.read())) == ("text", number * 100_000)


@pytest.mark.parametrize("how", ["fails", "is killed", "says so"])
def test_what_cannot_be_done_there_is_to_be_done_here(pool, how):
    """A piece of which nothing comes costs no other one, not even if all processes are gone."""

    def work(number):
        if number % 3 == 0 and how == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if number % 3 == 0 and how == "fails":
            raise MemoryError
        return Done(number) if number % 3 else None

    done = pool(work, 10)
    found = [done.result(number) for number in range(10)]
    assert all(found[number] is None for number in (0, 3, 6, 9))
    if how != "is killed":
        assert [one.value for one in found if one] == [1, 2, 4, 5, 7, 8]


def test_only_a_few_pieces_are_done_before_their_turn(pool, tmp_path):
    """What comes of them takes room."""

    def work(number):
        (tmp_path / str(number)).touch()
        return Done(number)

    done = pool(work, 1000)
    for number in range(3):
        done.result(number)
    done.close()
    assert len(list(tmp_path.iterdir())) <= 3 + 2 * processes._AHEAD


def test_large_pieces_wait_for_their_turn(pool, tmp_path):
    """One that is larger than all that may wait is done when nothing else does."""

    def work(number):
        (tmp_path / str(number)).touch()
        return Done(number)

    done = pool(work, 10, size=processes._ROOM + 1)
    for number in range(3):
        assert done.result(number).value == number
    done.close()
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(("there", "total"), [(1, 9), (2, 4), (2, 0)])
def test_there_are_no_processes_where_they_gain_nothing(monkeypatch, there, total):
    """With one processor, or for little work, all is done here."""
    monkeypatch.setattr(processes, "cores", lambda: there)
    monkeypatch.setattr(processes, "OrderedWork", None)  # using it fails
    with done_elsewhere(lambda _: Done(1), [10] * total, 50) as result:
        assert result(0) is None


def test_a_process_of_others_has_none_itself(pool, monkeypatch):
    """They would not end with it: there, too, all is done here."""
    monkeypatch.setattr(processes, "cores", lambda: 2)

    def work(_):
        with done_elsewhere(lambda _: Done(1), [1] * 9, 0) as result:
            return Done(result(0))

    assert pool(work, 1).result(0) == Done(None)


@pytest.mark.parametrize("at", [1, 2])
def test_what_cannot_begin_is_no_failure(pool, monkeypatch, at):
    """Where there may be no further process, those that there are do the work, or this one."""
    began, real = [], os.fork

    def fork():
        began.append(None)
        if len(began) >= at:
            raise BlockingIOError
        return real()

    monkeypatch.setattr(os, "fork", fork)
    done = pool(Done, 5)
    found = [done.result(number) for number in range(5)]
    assert found == ([None] * 5 if at == 1 else [Done(number) for number in range(5)])


def test_an_answer_that_cannot_be_sent_or_taken_is_no_failure(pool, monkeypatch):
    """Something that has no form for others, or a file of too many."""

    def work(number):
        file = TemporaryFile() if number == 2 else None  # noqa: SIM115 - it goes with this process
        return Done(print if number else lambda: None, file)

    def refuse(_):
        raise RuntimeError("received 0 items of ancdata")

    done = pool(work, 4)
    monkeypatch.setattr(processes, "recv_handle", refuse)
    assert done.result(0) is None
    assert done.result(1) == Done(print)
    assert done.result(2) is None
    assert done.result(3) == Done(print)


def test_processes_hold_no_lock_of_the_first_one(pool, tmp_path):
    """Its lock is free once it is gone, however long they work."""
    lock = (tmp_path / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    # one of them: another one, which is still starting, would have it for a moment
    done = pool(lambda _: Done(os.path.realpath(f"/dev/fd/{lock.fileno()}")), 1, count=1, held=[lock.fileno()])
    assert done.result(0).value == os.devnull
    lock.close()
    with (tmp_path / "lock").open("w") as again:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_processes_end_with_the_work(monkeypatch):
    """Also if the work is given up in the middle."""
    monkeypatch.setattr(processes, "cores", lambda: 2)
    with done_elsewhere(lambda _: Done(os.getpid()), [1] * 100, 0) as result:
        process = result(0).value
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_the_processors_are_those_that_may_be_used(monkeypatch):
    """A container, or `taskset`, may allow fewer than there are; macOS does not say."""
    assert cores() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1


@pytest.mark.parametrize("sizes", [[], [0], [1, 2], [400], [100] * 10, [0, 500, 0, 0, 299, 1, 0]])
def test_small_work_is_done_in_larger_pieces(monkeypatch, sizes):
    """In order, and a piece ends as soon as it is large enough."""
    monkeypatch.setattr(processes, "_PIECE", 300)
    pieces = processes._pieces(sizes)
    assert [number for piece in pieces for number in piece] == list(range(len(sizes)))
    assert all(sum(sizes[number] for number in piece[:-1]) < 300 for piece in pieces)


def test_what_comes_of_small_work_is_given_back_one_by_one(monkeypatch):
    """Some of it may be left out; what fails, and all with it in its piece, is to be done here."""
    monkeypatch.setattr(processes, "_PIECE", 3)
    monkeypatch.setattr(processes, "cores", lambda: 2)
    with each_elsewhere(lambda number: 100 // (number - 7), [1] * 20, 0) as done:
        asked = (0, 2, 4, 6, 7, 8, 9, 19)
        assert [done(number) for number in asked] == [-15, -20, -34, None, None, None, 50, 8]

"""Requests from the shell: left in the state directory, polled by the daemon, answered."""

import errno
import os
import stat
import subprocess

import pytest

from katod import durable
from katod.model import Command, SessionKey
from katod.service import control
from katod.service.control import Inbox, Request
from tests.support.world import CUT, in_new_process

REQUEST = Request(("claude", "x", ""), "start", "n", "2026-02-10T23:00:00.000Z")


@pytest.fixture
def closed_files(monkeypatch):
    """Return a list; if it has a file suffix, files with it cannot be opened for lack of descriptors."""
    read, closed = control.read_small, []

    def read_small(path, limit):
        if closed and path.name.endswith(closed[0]):
            raise OSError(errno.EMFILE, "Too many open files")
        return read(path, limit)

    monkeypatch.setattr(control, "read_small", read_small)
    return closed


def test_a_request_arrives_as_it_was_left(tmp_path):
    """Session, command, name and time are those that the shell wrote."""
    answer = control.enqueue(tmp_path, REQUEST)
    [(path, found)] = Inbox(tmp_path).poll()
    assert found == REQUEST
    assert (found.key, found.command) == (SessionKey("claude", "x", ""), Command("start", "n"))
    assert path.with_suffix(answer.suffix) == answer


def test_requests_are_taken_in_their_order(tmp_path):
    """The oldest request comes first, whatever its file name is."""
    for name in ("one", "two", "three"):
        control.enqueue(tmp_path, Request(REQUEST.session, "start", name, REQUEST.time))
    assert [request.name for _, request in Inbox(tmp_path).poll()] == ["one", "two", "three"]


def test_requests_and_answers_are_private(tmp_path):
    """Requests name sessions, so only their owner can read them."""
    answer = control.enqueue(tmp_path, REQUEST)
    [(path, _)] = Inbox(tmp_path).poll()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    Inbox(tmp_path).answer(path, "no")
    assert stat.S_IMODE(answer.stat().st_mode) == 0o600


def test_an_answer_takes_its_request_away(tmp_path):
    """The reason is where the shell looks for it, and the request is removed."""
    answer = control.enqueue(tmp_path, REQUEST)
    [(path, _)] = Inbox(tmp_path).poll()
    Inbox(tmp_path).answer(path, "no such session")
    assert answer.read_text() == "no such session"
    assert list(Inbox(tmp_path).poll()) == []
    assert list(answer.parent.iterdir()) == [answer]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"{}", b'{"session":["a","b"],"word":"start","name":"","time":""}',
     b'{"session":["a","b",""],"word":"rm","name":"","time":""}',
     b'{"session":["a","b",""],"word":"restore","name":"n.md","time":""}',
     b'{"session":["a","b",""],"word":"keep","name":"","time":"","count":0}',
     b'{"session":["a","b",""],"word":"keep","name":"","time":"","count":100}',
     b'{"session":["a","b",""],"word":"keep","name":"","time":"","count":1e999}'],
)  # fmt: skip
def test_a_file_that_is_no_request_is_refused(tmp_path, content):
    """It is answered and removed."""
    folder = Inbox(tmp_path).make()
    (folder / "odd.request").write_bytes(content)
    assert list(Inbox(tmp_path).poll()) == []
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"odd.answer": "not a valid request"}


@pytest.mark.fault("file that never ends or waits")
def test_a_fifo_or_an_endless_file_is_refused(tmp_path):
    """Whatever is named like a request is answered and removed without waiting."""
    folder = Inbox(tmp_path).make()
    os.mkfifo(folder / "fifo.request")
    (folder / "large.request").write_bytes(b"[" * 100_000)
    (folder / "nested.request").write_bytes(b"[" * 60_000)
    (folder / "zero.request").symlink_to("/dev/zero")
    assert list(Inbox(tmp_path).poll()) == []
    assert sorted(os.listdir(folder)) == ["fifo.answer", "large.answer", "nested.answer", "zero.answer"]
    assert {path.read_text() for path in folder.iterdir()} == {"not a valid request"}


def test_without_a_folder_nothing_waits(tmp_path):
    """A state directory without requests has an empty inbox."""
    assert list(Inbox(tmp_path).poll()) == []


def test_a_request_that_cannot_be_read_now_waits(tmp_path, closed_files):
    """The request is neither answered nor removed, and polled again later."""
    control.enqueue(tmp_path, REQUEST)
    closed_files.append(".request")
    assert list(Inbox(tmp_path).poll()) == []
    closed_files.clear()
    assert [request for _, request in Inbox(tmp_path).poll()] == [REQUEST]


def test_an_answer_that_cannot_be_written_is_given_at_the_next_poll(tmp_path, monkeypatch):
    """The answer is kept and written later, and the request is not carried out a second time."""
    answer, inbox = control.enqueue(tmp_path, REQUEST), Inbox(tmp_path)

    def no_space(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    [(path, _)] = inbox.poll()
    with monkeypatch.context() as full:
        full.setattr(durable, "rename", no_space)
        inbox.answer(path, "refused")
    assert list(inbox.poll()) == []
    assert answer.read_text() == "refused"


def test_what_a_killed_shell_left_of_a_request_goes_at_once(tmp_path):
    """It names a session. One that is being written stays."""
    folder = Inbox(tmp_path).make()
    ended = subprocess.Popen(["true"])
    ended.wait()
    for pid in (ended.pid, os.getpid()):
        (folder / f"0a1b.{pid}.part").write_bytes(b"{")
    Inbox(tmp_path).clean()
    assert [path.name for path in folder.iterdir()] == [f"0a1b.{os.getpid()}.part"]


def test_katod_removes_it_when_it_starts(world, monkeypatch):
    """And no later than when it forgets a session."""
    folder = Inbox(world.state).make()
    monkeypatch.setattr(control.durable, "rename", lambda *_: os._exit(CUT))
    assert in_new_process(lambda: control.enqueue(world.state, REQUEST), ends=(0, CUT)) == CUT
    monkeypatch.undo()
    assert [path.suffix for path in folder.iterdir()] == [".part"]
    world.once()
    assert list(folder.iterdir()) == []

"""Bringing a folder up to date, from within: what is loaded, what ends a run, and what a run says."""

import errno
import os
import sys
from dataclasses import replace

import pytest

from katod.archive import sessiontext, update
from katod.archive.drop import drop
from katod.archive.folder import opened
from katod.archive.update import bring_up_to_date
from katod.cli.context import Context
from katod.config import load
from katod.discover.found import FoundSession
from katod.errors import OutputError, SourceGone
from katod.model import Identity, SessionKey, Stat
from katod.record.policy import Policy
from tests.support.records.base import says, user
from tests.support.versions import set_format_version

pytestmark = pytest.mark.usefixtures("reading_place")


@pytest.fixture
def run(world):
    """Return a function that brings a folder up to date."""

    def run(progress=lambda tasks: tasks, form="markdown"):
        policy = Policy.of(load(world.config), ())
        found = Context(None).found().values()
        with opened(world.home / "all") as folder:
            return bring_up_to_date(folder, found, policy, form, policy.options(), progress)

    return run


def test_the_formats_are_loaded_only_to_write(world, run, monkeypatch):
    """They take longer than all else when nothing has changed."""
    world.session(1).say(user("words"))
    assert run().counts == {"wrote": 1}
    monkeypatch.setitem(sys.modules, "katod.archive.writer", None)  # importing it fails
    assert run().counts == {"unchanged": 1}


def test_progress_is_of_what_has_to_be_written(world, run):
    """Unchanged sessions are not part of it; parents come before their sub-agents."""
    one = world.session(1).say(user("words"))
    world.session(2).say(user("words"))
    run()
    one.say(says("more"))
    seen = []
    run(lambda tasks: seen.extend(tasks) or tasks)
    assert [task.found.key.id for task in seen] == [one.session]


def test_what_is_not_understood_is_kept_in_jsonl(world, run):
    """A session of nothing else is empty as a transcript, and said to be strange."""
    one = world.session(1)
    one.append(*({"type": "from-the-future", "sessionId": one.session, "uuid": str(n)} for n in range(3)))
    result = run()
    assert result.counts == {"empty": 1}
    assert result.notes == [f"claude:{one.session}: no message was found, and 3 records are not understood"]
    assert run(form="jsonl").counts == {"wrote": 1}
    assert run().notes == []


@pytest.mark.whole
@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_every_file_that_was_ever_made_of_a_session_is_listed(world, run, form):
    """However often it loses something, grows, or says nothing more: all of them are forgotten with it."""
    one = world.session(1).say(*(turn for n in range(9) for turn in (user(f"words {n}"), says("answer"))))
    root = world.home / "all"
    for _ in range(3):
        run(form=form)
        one.rewrite(lambda number, _: number != 3)
        run(form=form)
        one.say(user("more"))
    run(form=form)
    one.rewrite(lambda *_: False)
    run(form=form)
    made = {str(path.relative_to(root)) for path in root.rglob("[!.]*") if path.is_file()}
    assert len(made) == 4
    with opened(root) as folder:
        assert folder.manifest.names() == made
    assert drop(root, lambda key: key.id == one.session) == []
    assert not (root / "app").exists()


def test_a_session_that_vanishes_meanwhile_is_no_failure(world, run, monkeypatch):
    """Agents delete their sessions."""

    def gone(*_, **__):
        raise SourceGone("no longer exists")

    world.session(1).say(user("words"))
    monkeypatch.setattr(sessiontext, "replay", gone)
    result = run()
    assert (dict(result.counts), result.failures) == ({}, [])


@pytest.mark.parametrize(("number", "ends"), [(errno.ENOSPC, True), (errno.EROFS, True), (errno.EACCES, False)])
def test_what_makes_all_writing_impossible_ends_the_run(world, run, monkeypatch, number, ends):
    """Anything else is a failure of one session, however it was wrapped."""
    world.session(1).say(user("words"))
    world.session(2).say(user("words"))

    def fail(*_, **__):
        raise OutputError("cannot be written", path="x") from OSError(number, os.strerror(number))

    monkeypatch.setattr(sessiontext, "picture_folder", fail)
    if ends:
        with pytest.raises(OutputError):
            run()
    else:
        assert run().counts == {"failed": 2}


def test_every_version_counts(monkeypatch, world):
    """Another adapter, format, option or version of katod makes another export."""
    options = Policy.of(load(world.config), ()).options()
    made = [update._made("claude", "html", one) for one in (options, replace(options, recorder="katod 99"))]
    set_format_version(monkeypatch, "html", 99)
    made.append(update._made("claude", "html", options))
    monkeypatch.setattr(update.AGENTS["claude"].adapter, "version", 99)
    made.append(update._made("claude", "html", options))
    assert len(set(made)) == 4


def test_what_makes_a_session_another():
    """The numbers of disks change with a restart; in a database, they count rows."""
    status = Stat(1, 2, 3, 4)
    for key, path, number in (("claude", "/a.jsonl", 0), ("opencode", "/a.db#ses_1", 3)):
        found = FoundSession(SessionKey(key, "ses_1"))
        found.files.append((path, Identity(found.key), status))
        assert update.sources_of(found) == [[path, 1, 2, 4, number]]

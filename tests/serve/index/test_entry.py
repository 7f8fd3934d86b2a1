"""What a server knows of a session, in few bytes: nothing is lost."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.model import Identity, SessionKey, Stat
from katod.serve.index.entry import SessionEntry
from tests.examples import texts
from tests.looping import each

KEY = SessionKey("codex", "019b8938-bd7b-75c8-8035-9e144eae720a")
NUMBERS = st.integers(-(2**63), 2**63 - 1)
STATS = st.builds(Stat, NUMBERS, NUMBERS.map(abs).filter(lambda number: number < 2**63), NUMBERS, NUMBERS)
FILES = st.lists(
    st.tuples(texts(), st.builds(Identity, st.just(KEY), st.sampled_from(["", "r1"])), STATS),
    max_size=4, unique_by=lambda file: file[0],
)  # fmt: skip


@pytest.mark.slow
@given(FILES, FILES)
def test_files_are_what_was_noted_last(first, then):
    """In the order in which they were met, with what each is now."""
    entry = SessionEntry(KEY)
    entry.take(first)
    entry.take(then)
    expected = {path: (identity, stat) for path, identity, stat in first}
    for path, identity, stat in then:
        expected[path] = expected.get(path, (identity,))[0], stat
    assert entry.files == [(path, *rest) for path, rest in expected.items()]
    assert list(entry.paths) == list(expected)
    assert entry.changed_ns == max((stat.mtime_ns for _, stat in expected.values()), default=0)


def test_only_a_file_of_the_session_is_renewed():
    """Its stat is another one then, and those of its other files stay."""
    old, new = Stat(1, 2, 3, 4), Stat(5, 6, 7, 8)
    entry = SessionEntry(KEY)
    entry.take([("/a", Identity(KEY), old), ("/b", Identity(KEY), old)])
    assert [entry.renew(path, new) for path in ("/b", "/c")] == [True, False]
    assert entry.files == [("/a", Identity(KEY), old), ("/b", Identity(KEY), new)]


def test_a_file_that_was_moved_keeps_its_place(tmp_path):
    """One that is new, or that nobody finds, comes last; one that is gone is dropped once it has not come back."""
    first, second, new = (tmp_path / name / f"rollout-2026-02-10T22-36-00-{KEY.id}.jsonl" for name in "abc")
    entry, stat = SessionEntry(KEY), Stat(1, 2, 3, 4)
    for path in (first, second, new):
        path.parent.mkdir()
        path.touch()
    entry.take([(str(path), Identity(KEY), stat) for path in (first, second)])
    first.rename(new)
    entry.take([("/d.jsonl", Identity(KEY), stat)])
    assert entry.paths == (str(first), str(second), "/d.jsonl")
    entry.take([(str(new), Identity(KEY), stat)])
    assert entry.paths == (str(new), str(second), "/d.jsonl")
    entry.drop_gone()
    assert entry.paths == (str(new), str(second))
    second.unlink()
    new.unlink()
    entry.drop_gone()
    assert entry.paths == (str(new), str(second))
    assert entry.is_gone()


def test_what_a_session_is_about_is_kept_without_its_calls():
    """Title, start, model and times; many sessions take few bytes each."""
    entry = SessionEntry(KEY)
    assert entry.metadata is None
    entry.set_metadata({"title": "A title", "cwd": "/home/me", "calls": {"c": "Bash"}, "last": "x"})
    assert (entry.metadata.title, entry.metadata.cwd, entry.metadata.calls) == ("A title", "/home/me", {})
    assert entry.beginning() == {"title": "A title", "cwd": "/home/me"}
    assert sys.getsizeof(entry._about[0]) < 120


def test_the_id_of_a_session_is_kept_only_if_it_has_a_longer_one():
    """A path may have only the beginning of an id; otherwise it is known."""
    entry = SessionEntry(KEY)
    entry.set_metadata({"title": "A title", "session": KEY.id})
    assert entry.beginning() == {"title": "A title"}
    entry.set_metadata({"title": "A title", "session": f"{KEY.id}-more"})
    assert entry.beginning()["session"] == f"{KEY.id}-more"


def test_a_count_is_exact_as_long_as_the_files_are_as_counted():
    """One without what was counted never is; a file that changes makes it an estimate again."""
    entry = SessionEntry(KEY)
    entry.take([("/a", Identity(KEY, ""), Stat(1, 2, 3, 4))])
    entry.set_count(5)
    assert (entry.count, entry.is_counted) == (5, False)
    entry.set_count(6, entry.stats)
    assert (entry.count, entry.is_counted) == (6, True)
    entry.take([("/a", Identity(KEY, ""), Stat(2, 3, 3, 4))])
    assert not entry.is_counted


@each("times", [(), (5,), (0,), (7, 9), (9, 7, 8), (-3, -2)])
def test_a_session_changed_when_the_last_of_its_files_did(times):
    """Never, which is 0, if it has none."""
    entry = SessionEntry(KEY)
    entry.take((f"/{number}", Identity(KEY), Stat(1, time, 3, 4)) for number, time in enumerate(times))
    assert entry.changed_ns == max(times, default=0)

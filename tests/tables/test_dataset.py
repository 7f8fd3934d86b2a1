"""What katod knows of a data set."""

import pytest

from katod import durable
from katod.archive.drop import copies_in
from katod.archive.machine import Machine
from katod.archive.manifest import MANIFEST, Entry
from katod.errors import AlreadyRunning
from katod.model import SessionKey
from katod.tables.address import Partition
from katod.tables.dataset import ask_to_forget, is_going, is_list_damaged, known_sets, opened_set
from katod.tables.schema import EVENTS, TABLES, USAGE
from katod.write.whole import FileStamp

LAPTOP, MONTH = Machine("laptop", "a" * 32), Partition("claude", "2026-02")
KEY = SessionKey("claude", "1")


def test_what_is_noted_is_known_the_next_time(tmp_path):
    """Of sessions and of files; both may be of another machine's name by then."""
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        assert not data.is_complete
        data.note(Entry(data.slot(KEY), "made", [["/a", 1, 2, 3, 4]], str(MONTH), said="1:", cwd="/home"))
        data.begin(MONTH)
        assert not data.is_noted(MONTH, EVENTS)
        data.end(MONTH, EVENTS, FileStamp(10, 20))
        data.end(MONTH, USAGE, FileStamp(1, 2), "digest")
        data.save()
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        assert data.is_complete
        assert data.partitions() == {MONTH}
        assert data.session(KEY).name == str(MONTH)
        assert [table.name for table in TABLES if data.is_noted(MONTH, table)] == ["events", "usage"]
        assert data.stamp(MONTH, EVENTS) == FileStamp(10, 20)
        assert data.part(MONTH, USAGE).digest == "digest"
    with opened_set(tmp_path, "/place", LAPTOP._replace(name="desktop")) as data:
        assert not data.is_noted(MONTH, EVENTS)
        data.leave(MONTH)
        assert data.partitions() == set()


def test_a_data_set_is_known_by_its_address(tmp_path):
    """Each has what is known of it in a private folder of its own."""
    assert known_sets(tmp_path) == []
    for address in ("/place", "s3://bucket/prefix"):
        with opened_set(tmp_path, address, LAPTOP):
            pass
    assert {address for address, _ in known_sets(tmp_path)} == {"/place", "s3://bucket/prefix"}
    assert {root.stat().st_mode & 0o777 for _, root in known_sets(tmp_path)} == {0o700}


def test_only_one_run_at_a_time(tmp_path):
    """The second one is told where."""
    with (
        opened_set(tmp_path, "s3://bucket", LAPTOP),
        pytest.raises(AlreadyRunning, match=r"^s3://bucket: another katod"),
    ):
        opened_set(tmp_path, "s3://bucket", LAPTOP).__enter__()


def test_a_forgotten_session_is_known_until_its_rows_are_gone(tmp_path):
    """And then not at all."""
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        data.note(Entry(data.slot(KEY), "made", [["/a", 1, 2, 3, 4]], str(MONTH), said="1:", cwd="/home"))
        data.forget([KEY])
        assert data.known(KEY) is None
        assert data.session(KEY)[1:5] == ("forgotten", (), str(MONTH), 0)
        data.settle(Partition("claude", "2026-03"))
        assert data.session(KEY) is not None
        data.settle(MONTH)
        assert data.session(KEY) is None
        data.save()
        assert b"/home" not in (data.state / ".katod-export.jsonl").read_bytes()


def _noted(folder, *keys):
    """Open a data set with rows of these sessions for the first time, and return where what is known of it is."""
    with opened_set(folder, "/place", LAPTOP) as data:
        for key in keys:
            data.note(Entry(data.slot(key), "made", [], str(MONTH)))
        data.save()
        return data.state


def test_a_request_that_comes_while_another_one_is_done_is_not_lost(tmp_path, monkeypatch):
    """Whatever is asked for between reading the requests and removing them waits for the next run."""
    other = SessionKey("claude", "2")
    _noted(tmp_path, KEY, other)
    ask_to_forget(tmp_path, "/place", [KEY])
    real = durable.remove

    def remove(path, **options):
        if "to-forget-" in str(path):
            monkeypatch.undo()
            ask_to_forget(tmp_path, "/place", [other])
        real(path, **options)

    monkeypatch.setattr("katod.tables.dataset.durable.remove", remove)
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        assert (data.known(KEY), data.known(other) is None) == (None, False)
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        assert data.known(other) is None
        assert not list(data.state.glob("to-forget*"))


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'[["claude"]]', b'[["claude", 1, ""]]'])
def test_a_damaged_request_is_kept(tmp_path, content):
    """Others are done nevertheless."""
    path = _noted(tmp_path, KEY) / "to-forget-0.json"
    path.write_bytes(content)
    ask_to_forget(tmp_path, "/place", [KEY])
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        assert data.damaged_requests == [path]
        assert data.known(KEY) is None
        assert list(data.state.glob("to-forget*")) == [path]


@pytest.mark.parametrize("how", ["lost", "damaged"])
def test_a_list_that_was_lost_is_known_to_lack_something_until_it_was_completed(tmp_path, how):
    """Also if it is opened, which mends it, without anything being looked up."""
    root = _noted(tmp_path, KEY)
    assert not is_list_damaged(root)
    if how == "lost":
        (root / MANIFEST).unlink()
    else:
        (root / MANIFEST).write_bytes((root / MANIFEST).read_bytes() + b"damaged\n")
    assert is_list_damaged(root)
    for _ in range(2):
        with opened_set(tmp_path, "/place", LAPTOP) as data:
            assert data.is_damaged
            assert not data.is_complete
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        data.complete()
    assert not is_list_damaged(root)


def test_a_session_whose_first_rows_were_never_complete_is_only_known_to_go(tmp_path):
    """Its rows may be in some of the files: `forget` finds them, and what is not written again is dropped."""
    new, old = SessionKey("claude", "2"), SessionKey("claude", "3")
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        data.note(Entry(data.slot(KEY), "made", [], str(MONTH)))
        data.begin(MONTH, [Entry(data.slot(key), "made", [], str(MONTH)) for key in (KEY, new, old)])
        assert data.begun() == {MONTH}
        assert data.known(KEY) is not None
        assert data.known(new) is None
        assert {key.id for key in (KEY, new, old) if is_going(data.session(key))} == {"2", "3"}
    assert {entry.name for entry in copies_in(data.state, lambda key: key == new)} == {str(MONTH)}
    with opened_set(tmp_path, "/place", LAPTOP) as data:
        data.note(Entry(data.slot(new), "made", [], str(MONTH)))
        data.settle(MONTH)
        assert [data.session(key) is None for key in (KEY, new, old)] == [False, False, True]


def test_a_request_of_which_only_a_part_was_written_goes_with_the_next_one(tmp_path, monkeypatch):
    """It has the id of a session. Others may be written at this moment."""
    root = _noted(tmp_path, KEY)

    def killed(*_):
        raise KeyboardInterrupt

    for key in (KEY, SessionKey("claude", "2")):
        with monkeypatch.context() as patched:
            patched.setattr("katod.smallfile.durable.rename", killed)
            with pytest.raises(KeyboardInterrupt):
                ask_to_forget(tmp_path, "/place", [key])
    ask_to_forget(tmp_path, "/place", [KEY])
    [left] = root.glob("*.part")
    assert b'"2"' in left.read_bytes()

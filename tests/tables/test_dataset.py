"""What katod knows of a data set."""

import pytest

from katod.archive.machine import Machine
from katod.archive.manifest import Entry
from katod.errors import AlreadyRunning
from katod.model import SessionKey
from katod.tables.address import Partition
from katod.tables.dataset import known_sets, opened_set
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
        data.forget(KEY)
        assert data.known(KEY) is None
        assert data.session(KEY)[1:5] == ("forgotten", (), str(MONTH), 0)
        data.settle(Partition("claude", "2026-03"))
        assert data.session(KEY) is not None
        data.settle(MONTH)
        assert data.session(KEY) is None
        data.save()
        assert b"/home" not in (data.state / ".katod-export.jsonl").read_bytes()

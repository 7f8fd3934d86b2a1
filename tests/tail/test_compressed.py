"""Compressed session files: the same session as the uncompressed file."""

import pytest
import zstandard

from katod.errors import SourceError, SourceUnusable
from katod.model import Cursor
from katod.tail import reader
from katod.tail.reader import open_source
from tests.support.inprocess import InProcess
from tests.support.outputs import counts, only
from tests.support.records import THREAD, Codex, line


def pack(path, content):
    """Compress a file in two frames, as a writer that appends does."""
    half = len(content) // 2
    path.write_bytes(zstandard.compress(content[:half]) + zstandard.compress(content[half:]))
    return path


def test_lines_come_as_they_were(tmp_path):
    """Offsets are those of the decompressed content."""
    path = pack(tmp_path / "a.jsonl.zst", b'{"a":1}\n{"b":2}\n')
    with open_source(str(path)) as file:
        batch = file.read(Cursor(), 1000)
    assert [(line.offset, line.data) for line in batch.lines] == [(0, b'{"a":1}'), (8, b'{"b":2}')]


@pytest.mark.usefixtures("no_descriptor_is_left")
def test_what_is_no_zstd_is_a_source_error(tmp_path):
    """The error names the file, and no descriptor stays open."""
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"no zstd at all")
    with pytest.raises(SourceError, match="cannot be decompressed"), open_source(str(path)):
        pass


@pytest.mark.parametrize("content", [b"", zstandard.compress(b"x" * 9000)[:20]])
def test_a_file_that_is_cut_short_gives_what_it_holds(tmp_path, content):
    """A truncated file gives its complete lines only."""
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(content)
    with open_source(str(path)) as file:
        assert not file.read(Cursor(), 1000).lines


@pytest.mark.slow
@pytest.mark.fault("decompression bomb")
@pytest.mark.usefixtures("no_descriptor_is_left")
def test_a_bomb_is_given_up_early(tmp_path, monkeypatch):
    """No more is decompressed than the text of a session of this size can be."""
    monkeypatch.setattr(reader, "_ALWAYS_ALLOWED", 2_000_000)
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(zstandard.compress(b"x" * 50_000_000))
    with pytest.raises(SourceUnusable, match="the limit is 2000000 bytes"), open_source(str(path)):
        pass


def test_a_bomb_is_tried_again_only_when_it_changes(world, monkeypatch):
    """The loop goes on, and the file is shown as a problem."""
    opened = []
    original = reader.decompressed
    monkeypatch.setattr(reader, "decompressed", lambda fd, path: opened.append(path) or original(fd, path))
    folder = world.codex().path.parent
    folder.mkdir(parents=True, exist_ok=True)
    name = f"rollout-2026-02-10T22-36-00-{THREAD}.jsonl.zst"
    (folder / name).write_bytes(b"no zstd at all")
    run = InProcess(world)
    for _ in range(5):
        run.turn(later=1_000)
    assert len(opened) <= 2
    make = Codex()
    pack(folder / name, line(make.meta()) + line(make.user("hello")))
    run.turn()
    assert not [known.problem for known in run._discovery.catalog.sources.values() if known.problem]
    run.stop()


def test_a_rollout_that_is_compressed_meanwhile_is_the_same_session(world):
    """Nothing is written twice, and earlier messages can be exported."""
    make, source = Codex(), world.codex()
    source.append(make.meta(), make.user("::start n\none"), make.says("two"))
    world.once()
    pack(source.path.with_suffix(".jsonl.zst"), source.path.read_bytes())
    source.path.unlink()
    world.once()
    assert counts(only(world), "one", "two") == [1, 1]
    world.assert_live_is_batch()
    assert counts(world.cli("export", "latest"), "one", "two") == [1, 1]

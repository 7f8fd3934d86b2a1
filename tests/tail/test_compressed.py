"""Compressed session files: the same session as the uncompressed file."""

import pytest
import zstandard

from katod.errors import SourceError
from katod.model import Cursor
from katod.tail.source import open_source
from tests.support.outputs import counts, only
from tests.support.records import Codex


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

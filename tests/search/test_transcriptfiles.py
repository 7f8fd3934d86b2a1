"""Which files are searched as transcripts."""

import os

from katod.search.transcriptfiles import transcripts_below


def test_a_folder_is_searched_without_hidden_files_and_links(tmp_path):
    """Files of the formats' extensions at any depth; what cannot be read, or is written for machines, is left out."""
    (tmp_path / "app").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("app/a.md", "b.jsonl", "b.stream.jsonl", "c.txt", ".git/d.md", ".e.md"):
        (tmp_path / name).touch()
    os.symlink(tmp_path / "app", tmp_path / "link")
    os.symlink(tmp_path / "b.jsonl", tmp_path / "link.md")
    assert sorted(found.path for found in transcripts_below(tmp_path)) == [tmp_path / "app/a.md", tmp_path / "b.jsonl"]
    assert list(transcripts_below(tmp_path / "nowhere")) == []

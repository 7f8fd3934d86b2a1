"""`katod export --all -f parquet`: its usage, and what it says where it cannot begin; tests/tables has the rest."""

import os
from importlib import util

import pytest

from tests.support.records.base import user


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-f", "parquet", "-o", "x"), "add --all"),
        (("latest", "-f", "parquet"), "add --all"),
        (("--all", "-f", "parquet"), "add -o DIRECTORY or -o s3://"),
        (("--all", "-f", "parquet", "-o", "x", "--for", "pr"), "cannot be combined with --all"),
        (("--all", "-f", "parquet", "-o", "x", "--thinking"), "omit --thinking"),
        (("--all", "-f", "parquet", "-o", "x", "--tools", "full"), "omit --thinking"),
        (("--all", "-f", "parquet", "-o", "x", "--base", "https://example.com"), "--base is for pages"),
        (("--all", "-o", "s3://bucket/x"), "add -f parquet"),
        (("--all", "-f", "jsonl", "-o", "s3://bucket/x"), "add -f parquet"),
        (("--all", "-f", "parquet", "-o", "gs://bucket/x"), "'gs://bucket/x' is neither a path nor s3://"),
        (("--all", "-f", "parquet", "-o", "S3://KEY:secret@bucket/x"), "'S3://…@bucket/x' is neither"),
        (("--all", "-o", "gs://bucket/x"), "is neither a path nor s3://"),
        (("latest", "-o", "https://example.com/x.md"), "is neither a path nor s3://"),
        (("latest", "-o", "s3://bucket/x.md"), "add --all -f parquet"),
        (("--all", "-o", "all.parquet"), "add -f parquet"),
    ],
)
def test_wrong_usage(world, options, said):
    """One line, and nothing is written."""
    world.session(1).say(user("words"))
    before = {*os.listdir()}
    world.cli("export", *options, code=2)
    assert said in world.said
    assert "secret" not in world.said
    assert {*os.listdir()} == before
    assert not (world.state / "tables").exists()


def test_an_address_that_is_none(world):
    """Nothing is connected to."""
    world.cli("export", "--all", "-f", "parquet", "-o", "s3://", code=1)
    assert world.said.startswith("s3://: is not an address of a bucket")


def test_the_extra_is_named_if_it_is_missing(world, monkeypatch):
    """With the command that installs it; only if something has to be written."""
    place = ("export", "--all", "-f", "parquet", "-o", str(world.home / "tables"))
    real = util.find_spec
    monkeypatch.setattr("katod.tables.update.find_spec", lambda name: None if name == "pyarrow" else real(name))
    assert world.cli(*place) == "no sessions found\n"
    world.session(1).say(user("words"))
    assert "fast,tables" in world._invoke(place, 1).exception.hint
    assert not (world.home / "tables").exists()


@pytest.mark.parametrize("name", ["katod/chats", "state/x", ".claude/x"])
def test_where_tables_may_not_be(world, name):
    """As for all exports: not among recordings, and not in what is not katod's to write."""
    world.session(1).say(user("words"))
    (world.home / name).parent.mkdir(exist_ok=True)
    world.cli("export", "--all", "-f", "parquet", "-o", str(world.home / name), code=1)
    assert "is in" in world.said


def test_it_is_listed_with_the_formats(world):
    """With what it is for."""
    assert "parquet" in world.cli("export", "-f")

"""Where a data set is, and what its files are called."""

import pytest

from katod.errors import TablesError
from katod.tables.address import (
    BucketAddress,
    Partition,
    bucket_address,
    has_scheme,
    partition_of,
    without_credentials,
)
from katod.tables.schema import TABLES


@pytest.mark.parametrize(
    ("text", "bucket", "prefix"),
    [
        ("s3://bucket", "bucket", ""),
        ("s3://bucket/", "bucket", ""),
        ("s3://my-bucket.eu/a/b c/", "my-bucket.eu", "a/b c"),
    ],
)
def test_an_address_is_a_bucket_and_a_prefix(text, bucket, prefix):
    """It is printed without the slash at its end."""
    address = bucket_address(text)
    assert address == BucketAddress(bucket, prefix)
    assert str(address) == text.rstrip("/")
    assert bucket_address(str(address)) == address


@pytest.mark.parametrize(
    "text",
    [
        "s3://",
        "s3://B",
        "s3://bucket/../x",
        "s3://bucket/a//x",
        "s3://key:secret@bucket/x",
        "s3://bucket/a?b",
        "s3://b/\n",
    ],
)
def test_anything_else_is_refused(text):
    """Before anything is connected to."""
    with pytest.raises(TablesError, match="is not an address of a bucket"):
        bucket_address(text)


@pytest.mark.parametrize("text", ["s3://KEY:secret@bucket/x", "s3://KEY:se/cr@et@bucket/x", "s3://secret@"])
def test_credentials_are_never_shown(text):
    """Not even to the person who typed them: errors are kept in logs."""
    with pytest.raises(TablesError) as failed:
        bucket_address(text)
    for word in ("KEY", "secret", "se/cr"):
        assert word not in str(failed.value)
    assert without_credentials("s3://bucket/x") == "s3://bucket/x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("s3://b", True), ("S3://b", True), ("gs://b", True), ("a+b-c.d://", True), ("/a://b", False), ("a:/b", False)],
)
def test_an_address_is_told_from_a_path(text, expected):
    """By its scheme."""
    assert has_scheme(text) is expected


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("partition", [Partition("claude", "2026-11"), Partition("pi", "unknown")])
def test_the_name_of_a_file_says_what_is_in_it(table, partition):
    """Read back, it gives the partition."""
    name = partition.part(table, "laptop")
    assert name == f"{table.name}/machine=laptop/agent={partition.agent}/month={partition.month}/part.parquet"
    assert partition_of(name) == partition == Partition.named(str(partition))
    assert partition_of(name + "x") is None

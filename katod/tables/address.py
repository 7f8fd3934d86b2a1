"""Where a data set is, and the names of its files. Pure."""

import re
from typing import Final, NamedTuple

from katod.errors import TablesError
from katod.tables.schema import TableSpec

S3: Final = "s3://"
PART: Final = "part.parquet"
LOCAL: Final = "local"  # a machine without a name
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_SEGMENT: Final = re.compile(r"[A-Za-z0-9!_'()*@&$+,;~ -][A-Za-z0-9!_'()*@&$+,;~. -]*")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_CREDENTIALS: Final = re.compile(r"://.*@", re.DOTALL)  # a key may have any character
_PART_NAME: Final = re.compile(r"[a-z]+/machine=[^/]+/agent=([a-z]+)/month=(\d{4}-\d{2}|unknown)/part\.parquet")


class Partition(NamedTuple):
    """Sessions whose rows are in one file of each table: those of one agent that began in one month (UTC)."""

    agent: str
    month: str

    def __str__(self) -> str:
        """Return its name, as the manifest has it."""
        return f"{self.agent}/{self.month}"

    @classmethod
    def named(cls, name: str) -> "Partition":
        """Return the partition of a name."""
        agent, _, month = name.partition("/")
        return cls(agent, month)

    def part(self, table: TableSpec, machine: str) -> str:
        """Return the name of the file that has its rows of a table, below the data set."""
        return f"{folder_of(table, machine)}/agent={self.agent}/month={self.month}/{PART}"


def folder_of(table: TableSpec, machine: str) -> str:
    """Return the folder of a machine's rows of a table, below the data set."""
    return f"{table.name}/machine={machine}"


def partition_of(name: str) -> Partition | None:
    """Return the partition whose file has this name, None if it is no such name."""
    found = _PART_NAME.fullmatch(name)
    return Partition(found[1], found[2]) if found else None


class BucketAddress(NamedTuple):
    """A bucket, and the prefix of the names of all objects, without a slash at its end."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        """Return it as it is typed."""
        return S3 + self.root

    @property
    def root(self) -> str:
        """The bucket with the prefix."""
        return f"{self.bucket}/{self.prefix}" if self.prefix else self.bucket


def has_scheme(text: str) -> bool:
    """Return whether a place is given as an address, such as `s3://bucket`, and not as a path."""
    return _SCHEME.match(text) is not None


def without_credentials(text: str) -> str:
    """Return an address as it may be shown: without what was typed in front of an `@`."""
    return _CREDENTIALS.sub("://…@", text, count=1)


def bucket_address(text: str) -> BucketAddress:
    """Return the address of `s3://bucket/prefix`. Raises TablesError if it is none."""
    bucket, _, prefix = text.removeprefix(S3).partition("/")
    prefix = prefix.strip("/")
    if not _BUCKET.fullmatch(bucket) or not all(map(_SEGMENT.fullmatch, prefix.split("/") if prefix else ())):
        raise TablesError(
            "is not an address of a bucket", path=without_credentials(text), hint="such as s3://bucket/prefix"
        )
    return BucketAddress(bucket, prefix)

"""The files of a data set in a bucket, over S3. Loads pyarrow, whose own client this is."""

import mmap
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryFile
from typing import IO, Any, Final

from pyarrow import fs

from katod.errors import OutputReplaced, TablesError
from katod.tables.address import PART, BucketAddress
from katod.write.whole import FileStamp

_REGION: Final = "us-east-1"  # what servers of other makers expect, too
_CONNECT: Final = 5  # seconds
_SILENCE: Final = 15  # seconds in which nothing arrives
_TRIES: Final = 2
_PIECE: Final = 1024 * 1024  # bytes that are read at once
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_SERVER: Final = re.compile(r"(https?)://((?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)/?", re.IGNORECASE)
_CODE: Final = re.compile(r"AWS Error ([A-Z][A-Z_0-9]*)")
_NAME: Final = re.compile(r"Unable to parse ExceptionName: (\w+)")  # of a server that knows more errors than the client
_STATUS: Final = re.compile(r"HTTP status (\d{3})")
_REFUSED: Final = (
    "the credentials are refused",
    "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what they permit",
)
_MISSING: Final = ("there is no such bucket", "create it, or name another one")
_UNREACHABLE: Final = ("the server does not answer", "check the network and AWS_ENDPOINT_URL, and run it again")
_BUSY: Final = ("the server takes nothing now", "run it again later: it continues where it stopped")
_FULL: Final = ("the server has no space left", "make space, and run it again: it continues where it stopped")
_OTHER: Final = ("the server refuses a request", "check the credentials, AWS_ENDPOINT_URL and AWS_REGION")
_MEANINGS: Final = {
    **dict.fromkeys(
        ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "INVALID_CLIENT_TOKEN_ID", "INVALID_SIGNATURE",
         "MISSING_AUTHENTICATION_TOKEN", "SIGNATURE_DOES_NOT_MATCH", "UNRECOGNIZED_CLIENT", "EXPIRED_TOKEN",
         "REQUEST_EXPIRED", "OPT_IN_REQUIRED"),
        _REFUSED,
    ),
    "NO_SUCH_BUCKET": _MISSING,
    **dict.fromkeys(("NETWORK_CONNECTION", "REQUEST_TIMEOUT"), _UNREACHABLE),
    **dict.fromkeys(("INTERNAL_FAILURE", "SERVICE_UNAVAILABLE", "SLOW_DOWN", "THROTTLING"), _BUSY),
}  # fmt: skip
_NAMES: Final = {
    "ExpiredToken": _REFUSED, "InvalidToken": _REFUSED, "TokenRefreshRequired": _REFUSED, "QuotaExceeded": _FULL,
    "XMinioStorageFull": _FULL, "XMinioAdminBucketQuotaExceeded": _FULL,
}  # fmt: skip
_STATUSES: Final = {"401": _REFUSED, "403": _REFUSED, "404": _MISSING, "429": _BUSY, "503": _BUSY, "507": _FULL}


def connected(address: BucketAddress, environment: Mapping[str, str]) -> "BucketPlace":
    """Return a bucket that answers. Credentials and endpoint come from the environment alone.

    Raises TablesError, in bounded time.
    """
    scheme, host = _endpoint(environment, address)
    key, secret = (environment.get(name, "") for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    if not key or not secret:
        hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment"
        raise TablesError("no credentials are given", path=str(address), hint=hint)
    # The library asks the machines of a cloud for what it is not told. katod opens no connection but this one.
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    system = fs.S3FileSystem(
        access_key=key, secret_key=secret, session_token=environment.get("AWS_SESSION_TOKEN") or None,
        region=environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or _REGION,
        scheme=scheme, endpoint_override=host, connect_timeout=_CONNECT, request_timeout=_SILENCE,
        background_writes=False, allow_delayed_open=True,  # small files take one request, large ones are not copied
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_TRIES),
    )  # fmt: skip
    place = BucketPlace(address, system)
    place.require()
    return place


def _endpoint(environment: Mapping[str, str], address: BucketAddress) -> tuple[str, str | None]:
    """Return the scheme and the host of the server, None for that of AWS. Raises TablesError."""
    given = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL") or ""
    if not given:
        return "https", None
    scheme, host = _server(given)
    hint = "such as https://storage.example.com; http only for this machine"
    if not host:
        raise TablesError("AWS_ENDPOINT_URL is not the address of a server", path=str(address), hint=hint)
    if scheme == "http" and host.rpartition(":")[0] not in _LOOPBACK and host not in _LOOPBACK:
        raise TablesError("AWS_ENDPOINT_URL is not encrypted", path=str(address), hint=hint)
    return scheme, host


def _server(given: str) -> tuple[str, str]:
    """Return the scheme and the host, with its port, of an address that has nothing else; empty for any other."""
    found = _SERVER.fullmatch(given)
    return (found[1].lower(), found[2].lower()) if found else ("", "")


class BucketPlace:
    """A bucket. An object is replaced by one upload, which is complete or leaves the old one."""

    def __init__(self, address: BucketAddress, system: Any) -> None:
        self._address = address
        self._system = system

    def require(self) -> None:
        """Raise TablesError unless there is such a bucket, and it may be used."""
        with self._asking():
            info = self._system.get_file_info(self._address.bucket)
        if info.type == fs.FileType.NotFound:
            raise TablesError(_MISSING[0], path=str(self._address), hint=_MISSING[1])

    def address(self, name: str) -> str:
        """Return the address of an object."""
        return f"{self._address}/{name}"

    def stamp(self, name: str) -> FileStamp | None:
        """Return the stamp of an object, None if there is none. Raises TablesError."""
        with self._asking():
            info = self._system.get_file_info(self._path(name))
        return FileStamp(info.size, info.mtime_ns) if info.type == fs.FileType.File else None

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes] | None]:
        """Copy an object to this machine and open it; None if there is none. Raises TablesError or OSError."""
        if self.stamp(name) is None:
            yield None
            return
        with TemporaryFile() as file:
            for data in self._pieces(name):
                file.write(data)
            file.seek(0)
            yield file

    @contextmanager
    def draft(self) -> Iterator["_BucketDraft"]:
        """Yield an empty draft, which is on this machine until it is published. Raises OSError."""
        with TemporaryFile() as file:
            yield _BucketDraft(self, file)

    def upload(self, name: str, file: IO[bytes], expected: FileStamp | None) -> FileStamp:
        """Put an object in place of one with this stamp; return its stamp. Raises OutputReplaced or TablesError."""
        if self.stamp(name) != expected:
            raise OutputReplaced("was changed while it was exported", path=self.address(name))
        file.flush()
        # As one piece: what ends halfway is never closed well, so that no half of an object is ever complete.
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content, self._asking():
            stream = self._system.open_output_stream(self._path(name))
            stream.write(content)
            stream.close()
        there = self.stamp(name)
        if there is None:
            raise OutputReplaced("was removed while it was exported", path=self.address(name))
        return there

    def remove(self, name: str) -> None:
        """Delete an object. Raises TablesError."""
        with self._asking():
            self._system.delete_file(self._path(name))

    def parts(self, folder: str) -> list[str]:
        """Return the names of all parts below a folder. Raises TablesError."""
        with self._asking():
            found = self._system.get_file_info(
                fs.FileSelector(self._path(folder), allow_not_found=True, recursive=True)
            )
        begin = len(self._address.root) + 1
        return sorted(info.path[begin:] for info in found if info.path.endswith(f"/{PART}"))

    def _pieces(self, name: str) -> Iterator[bytes]:
        with self._asking():
            stream = self._system.open_input_stream(self._path(name))
        with stream:
            while data := self._read(stream):
                yield data

    def _read(self, stream: Any) -> bytes:
        with self._asking():
            data: bytes = stream.read(_PIECE)
        return data

    def _path(self, name: str) -> str:
        return f"{self._address.root}/{name}"

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise TablesError for whatever the server or the network says, without a word of it."""
        try:
            yield
        except OSError as error:
            what, hint = _meaning(str(error))
            raise TablesError(what, path=str(self._address), hint=hint) from None


def _meaning(text: str) -> tuple[str, str]:
    """Return what an error means, and what to do, by the code that the client gives it."""
    for form, meanings in ((_CODE, _MEANINGS), (_NAME, _NAMES), (_STATUS, _STATUSES)):
        if (found := form.search(text)) and found[1] in meanings:
            return meanings[found[1]]
    return _OTHER


class _BucketDraft:
    """A draft in a file without a name."""

    def __init__(self, place: BucketPlace, file: IO[bytes]) -> None:
        self._place = place
        self._file = file
        self.write = file.write

    def publish(self, name: str, expected: FileStamp | None) -> FileStamp:
        """Put it into the bucket. Raises OutputReplaced or TablesError."""
        return self._place.upload(name, self._file, expected)

"""Where recordings are delivered to: the sections of the configuration that say so, and what is checked of them."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_SERVER: Final = r"https?://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_URL: Final = re.compile(_SERVER + "/?")
# What spans are sent to may have a path, to which another one is appended.
_ENDPOINT: Final = re.compile(_SERVER + r"(?:/[A-Za-z0-9._~%-]+)*/?")
TRACES: Final = "/v1/traces"  # the path of spans, which is part of an address in the documents of some backends
_WITH_TRACES: Final = re.compile(rf"(?<=[^/]){TRACES}$")
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_ROOM: Final = re.compile(r"![!-~]{1,254}")
_NOT_ENCRYPTED: Final = "must start with https, except on this machine"
_RELATIVE: Final = "must be an absolute path, or start with ~/"
Problem = tuple[str, str]  # a key, and what is wrong with it


class MatrixSettings(NamedTuple):
    """`[matrix]`: the room that recordings are delivered to, if all three are set."""

    homeserver: str = ""
    token_file: str = ""
    room: str = ""

    @property
    def is_on(self) -> bool:
        """Whether recordings are delivered."""
        return bool(self.homeserver and self.token_file and self.room)

    @property
    def parts(self) -> tuple[str, ...]:
        """The room, the homeserver and the token file, nothing if nothing is delivered."""
        return (self.room, self.homeserver, self.token_file) if self.is_on else ()

    @property
    def destination(self) -> str:
        """The room, an empty string if nothing is delivered."""
        return self.room if self.is_on else ""

    @property
    def server(self) -> str:
        """The homeserver."""
        return self.homeserver

    def problems(self) -> Iterator[Problem]:
        """Yield what types cannot express."""
        address = self.homeserver
        if address and _URL.fullmatch(address) is None:
            yield "homeserver", "must be the address of a server alone: https://matrix.example.org"
        if not _is_safe(address):  # it is sent a token
            yield "homeserver", _NOT_ENCRYPTED
        if self.token_file and not is_absolute(self.token_file):
            yield "token_file", _RELATIVE
        if self.room and _ROOM.fullmatch(self.room) is None:
            yield "room", "must be the id of a room, which starts with `!`, not an alias or a name"


class OtlpSettings(NamedTuple):
    """`[otlp]`: the collector that spans of recordings are sent to, if there is an endpoint."""

    endpoint: str = ""
    headers_file: str = ""
    content: bool = False

    @property
    def is_on(self) -> bool:
        """Whether spans are sent."""
        return bool(self.endpoint)

    @property
    def parts(self) -> tuple[str, ...]:
        """The collector, the file with headers, and whether there is content; nothing if nothing is sent."""
        return (self.destination, self.headers_file, "content" if self.content else "") if self.is_on else ()

    @property
    def destination(self) -> str:
        """The address of the collector without the path of spans, an empty string if nothing is sent."""
        return _WITH_TRACES.sub("", self.endpoint.rstrip("/")).rstrip("/")

    @property
    def server(self) -> str:
        """The collector."""
        return self.destination

    def problems(self) -> Iterator[Problem]:
        """Yield what types cannot express."""
        address = self.endpoint
        if address and _ENDPOINT.fullmatch(address) is None:
            yield "endpoint", "must be the address of a collector: https://otlp.example.org"
        if not _is_safe(address):
            yield "endpoint", _NOT_ENCRYPTED
        if self.headers_file and not is_absolute(self.headers_file):
            yield "headers_file", _RELATIVE


DeliverySettings = MatrixSettings | OtlpSettings


def is_loopback(address: str) -> bool:
    """Return whether the address of a server is one of this machine."""
    found = _ENDPOINT.fullmatch(address)
    return found is not None and _LOOPBACK.fullmatch(found["host"]) is not None


def is_absolute(path: str) -> bool:
    """Return whether a path says where it begins: at the root, or in the home directory."""
    return path.startswith(("/", "~/")) or path == "~"


def _is_safe(address: str) -> bool:
    return not address or address.startswith("https:") or is_loopback(address)

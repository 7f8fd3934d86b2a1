"""Requests to a server that recordings are delivered to: each is made once, without following redirects.

What a server says is bounded in bytes and time. It is never shown or logged, but for its status.
"""

import os
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from katod.delivery.bounds import RequestBounds
from katod.destinations import is_loopback
from katod.errors import DeliveryError, DeliveryStopped, safe_message, with_extra
from katod.smallfile import read_small

_TIMEOUT: Final = 20.0  # seconds for a connection, and for each part of an answer
_LARGEST: Final = 1024 * 1024  # bytes of an answer
_FRAMING: Final = 2  # times as many may be read: a body in chunks has their sizes in between
_MOST_PATIENCE: Final = 3600.0  # seconds to wait at most before asking again, whatever the server says
_PLAIN: Final = ("", "identity")
_PROXIES: Final = frozenset({"all_proxy", "http_proxy", "https_proxy"})


class HttpAnswer(NamedTuple):
    """The status of an answer, its body, and the headers that say when to ask again and what the body is."""

    status: int
    body: bytes
    retry_after: str = ""
    kind: str = ""  # of the body: its media type, without parameters

    @property
    def wait(self) -> float | None:
        """How many seconds the server asks to wait, None if it does not say: a number, or a date (RFC 9110, 10.2.3)."""
        said = self.retry_after
        if said.isascii() and said.isdigit():
            return bounded(float(said))
        try:
            return bounded(max(0.0, parsedate_to_datetime(said).timestamp() - time.time()))
        except (ValueError, OverflowError):
            return None


def bounded(seconds: float) -> float:
    """Return how long a server may make katod wait."""
    return min(seconds, _MOST_PATIENCE)


def require_httpx(extra: str) -> ModuleType:
    """Return httpx. Raises DeliveryStopped if it is not installed, naming the extra that has it."""
    try:
        import httpx  # noqa: PLC0415 - in extras: only those who deliver recordings need it
    except ImportError as error:
        raise missing_extra(extra) from error
    return httpx


def missing_extra(extra: str) -> DeliveryStopped:
    """Return the error for an extra that is not installed."""
    return DeliveryStopped(f"the extra `{extra}` is not installed", hint=with_extra(extra))


def read_private(path: Path, what: str, most: int) -> str:
    """Return the ASCII text of a file that nobody else has access to; other text is empty. Raises DeliveryStopped."""
    try:
        return read_small(path.expanduser(), most, private=True).decode("ascii")
    except OSError as error:
        hint = "chmod 600 it" if "access to it" in (error.strerror or "") else ""
        raise DeliveryStopped(f"the {what} cannot be used: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError:
        return ""


class HttpServer:
    """A server at an address; `who` is what messages call it."""

    def __init__(self, httpx: ModuleType, who: str, address: str, headers: Mapping[str, str]) -> None:
        """Open nothing yet. Raises DeliveryStopped if a proxy of the environment cannot be used."""
        self._httpx = httpx
        self._who = who
        self._bounds = RequestBounds(who)
        try:
            self._http = httpx.Client(
                base_url=address,
                headers={**headers, "Accept-Encoding": "identity"},
                timeout=_TIMEOUT,
                follow_redirects=False,
                trust_env=not is_loopback(address),  # a proxy is for other machines
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:  # SOCKS needs a library; other schemes are unknown
            names = " or ".join(name for name in os.environ if name.lower() in _PROXIES) or "a proxy"
            what = f"the proxy that the environment names ({names}) cannot be used"
            raise DeliveryStopped(what, hint="unset it for katod, or name a proxy of HTTP there") from error

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "") -> HttpAnswer:
        """Return the answer to a request. Raises DeliveryError if there is none that can be read."""
        headers = {"Content-Type": kind} if kind else {}
        traced = {"trace": self._bounds.trace}
        self._bounds.begin(len(body))
        try:
            with self._http.stream(method, path, content=body or None, headers=headers, extensions=traced) as response:
                self._bounds.extend(_FRAMING * _LARGEST)
                if response.headers.get("Content-Encoding", "").strip().lower() not in _PLAIN:
                    raise DeliveryError(f"{self._who}'s answer is compressed, which nobody asked for")
                data = self._body(response.iter_raw())
                kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
                return HttpAnswer(response.status_code, data, response.headers.get("Retry-After", ""), kind)
        except (self._httpx.HTTPError, self._httpx.InvalidURL, OSError) as error:
            raise DeliveryError(f"{self._who} cannot be reached: {safe_message(error)}") from error

    def _body(self, parts: Any) -> bytes:
        """Return the body of an answer. Raises DeliveryError if it is too large."""
        data = b""
        for part in parts:
            data += part
            if len(data) > _LARGEST:
                raise DeliveryError(f"{self._who}'s answer is too large")
        return data

"""The few requests that katod makes of a homeserver. Each is made once, without following redirects.

What a server says is never shown or logged, but for its status and its error code.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import orjson

from katod.delivery.http import HttpAnswer, HttpServer, bounded, read_private, require_httpx
from katod.destinations import MatrixSettings
from katod.errors import DeliveryError, DeliveryRefused, DeliveryStopped

_WHO: Final = "the homeserver"
_CLIENT: Final = "/_matrix/client/v3"
_UPLOAD: Final = "/_matrix/media/v3/upload"
_LARGEST_TOKEN: Final = 16 * 1024
_CODE: Final = re.compile(r"M_[A-Z_]{1,60}|[A-Z][A-Z0-9_.]{1,80}")
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,60}")
_NEVER: Final = frozenset({400, 403, 404, 413})
_TOKEN: Final = re.compile(r"[!-~]+")
# What a server makes, as it is kept and shown: an id has at most 255 bytes.
_NAMES: Final = {
    "user_id": re.compile(r"@[!-~]{1,254}"), "event_id": re.compile(r"\$[!-~]{1,254}"),
    "content_uri": re.compile(r"mxc://[!-~]{1,249}"),
}  # fmt: skip


class Response(NamedTuple):
    """An answer of a homeserver, and its JSON object (empty if it is none)."""

    answer: HttpAnswer
    row: dict[str, Any]

    @classmethod
    def of(cls, answer: HttpAnswer) -> "Response":
        """Return an answer with what is in its body."""
        return cls(answer, _object(answer.body))

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.answer.status

    @property
    def code(self) -> str:
        """The error code, if it is one."""
        code = self.row.get("errcode")
        return code if isinstance(code, str) and _CODE.fullmatch(code) else ""

    @property
    def is_final(self) -> bool:
        """Whether the same request would be refused again: by the homeserver itself, or by a proxy for its size."""
        return self.status in _NEVER and bool(self.code or self.status == 413)

    @property
    def problem(self) -> str:
        """What can be shown of an answer that is not the one that was hoped for."""
        return f"{_WHO} answers {' '.join(filter(None, (str(self.status), self.code)))}"

    @property
    def wait(self) -> float | None:
        """How many seconds the server asks to wait, None if it does not say."""
        milliseconds = self.row.get("retry_after_ms")
        if isinstance(milliseconds, int | float) and milliseconds >= 0:
            return bounded(float(milliseconds) / 1000)
        return self.answer.wait


def read_token(path: Path) -> str:
    """Return the access token in a file that nobody else has access to. Raises DeliveryStopped."""
    token = read_private(path, "token file", _LARGEST_TOKEN).strip()
    if _TOKEN.fullmatch(token) is None:
        raise DeliveryStopped("the token file has no access token", hint="it must contain only the token, on one line")
    return token


class Client:
    """A connection to a homeserver, as the account of a token."""

    def __init__(self, settings: MatrixSettings) -> None:
        """Open nothing yet. Raises DeliveryStopped without the extra, or without a token."""
        httpx = require_httpx("matrix")
        headers = {"Authorization": f"Bearer {read_token(Path(settings.token_file))}"}
        self._server = HttpServer(httpx, _WHO, settings.homeserver, headers)
        self._room = quote(settings.room, safe="")

    def close(self) -> None:
        """Close the connection."""
        self._server.close()

    def user(self) -> str:
        """Return the id of the account. Raises DeliveryStopped if the token is not valid, DeliveryError."""
        return _name(self._get("/account/whoami"), "user_id")

    def check_room(self) -> None:
        """Raise DeliveryStopped if the account is not in the room, or the room is encrypted; DeliveryError."""
        answer = self._get(f"/rooms/{self._room}/state/m.room.encryption")
        if answer.status == 200 and answer.row:
            raise DeliveryStopped(
                "the room is encrypted, and katod can send only unencrypted events", hint="choose an unencrypted room"
            )
        if answer.status == 404 and answer.code == "M_NOT_FOUND":
            answer = self._get(f"/rooms/{self._room}/state/m.room.create")  # 404 is also said of an unknown room
            if answer.status == 200:
                return
        if answer.is_final:
            raise DeliveryStopped(
                f"the account is not in the room, or there is no such room: {answer.problem}",
                hint="invite it, and join",
            )
        raise DeliveryError(answer.problem)

    def send(self, txn: str, event_type: str, content: Mapping[str, Any], state_key: str | None = None) -> str:
        """Send an event and return the server's id; the same transaction again returns the same id.

        Raises DeliveryRefused, DeliveryStopped, DeliveryError.
        """
        if state_key is None:
            path = f"/rooms/{self._room}/send/{event_type}/{quote(txn, safe='')}"
        else:
            path = f"/rooms/{self._room}/state/{event_type}/{quote(state_key, safe='')}"
        answer = self._ask("PUT", _CLIENT + path, orjson.dumps(content), "application/json")
        return _made(answer, "event_id")

    def upload(self, data: bytes, media_type: str) -> str:
        """Upload content and return its address; the same again gets another one. Raises what `send` raises."""
        kind = media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream"
        return _made(self._ask("POST", _UPLOAD, data, kind), "content_uri")

    def _get(self, path: str) -> Response:
        return self._ask("GET", _CLIENT + path, b"", "")

    def _ask(self, method: str, path: str, body: bytes, kind: str) -> Response:
        """Return the answer to a request. Raises DeliveryStopped for 401, DeliveryError for 429 or if there is none."""
        answer = Response.of(self._server.ask(method, path, body, kind))
        if answer.status == 401:
            raise DeliveryStopped(f"the access token is not accepted: {answer.problem}")
        if answer.status == 429:
            raise DeliveryError("the homeserver limits how many events it takes", wait=answer.wait or 0.0)
        return answer


def _made(answer: Response, key: str) -> str:
    """Return what the server made. Raises DeliveryRefused if it never will, DeliveryError if it did not."""
    if answer.is_final:
        raise DeliveryRefused(answer.problem, status=answer.status)
    return _name(answer, key)


def _name(answer: Response, key: str) -> str:
    """Return an id or an address of an answer. Raises DeliveryError if there is none."""
    name = answer.row.get(key)
    if answer.status != 200 or not isinstance(name, str) or _NAMES[key].fullmatch(name) is None:
        raise DeliveryError(answer.problem if answer.status != 200 else f"the homeserver's answer has no {key}")
    return name


def _object(data: bytes) -> dict[str, Any]:
    try:
        row = orjson.loads(data)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}

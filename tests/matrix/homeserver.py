"""A homeserver on loopback: it keeps what is sent to one room, and fails as it is told to.

It knows as much of Matrix as katod uses. As a real one does, it returns the event that it has for a transaction that it
knows, and refuses relations to events that it does not have.
"""

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import unquote, urlsplit

from tests.support.world import World

ROOM: Final = "!room:localhost"
TOKEN: Final = "syt_token_of_the_fake_homeserver"
THREAD: Final = "m.thread"

# What happens to one request, by its number, method and path: empty for nothing, or what the server does instead.
#   limit      429 with retry_after_ms           cut        does it, and closes the connection without an answer
#   broken     500                               half       does it, and closes the connection within the answer
#   refuse     400                               nonsense   does it, and answers with something that is no JSON
#   forbid     403                               slow       does it after a while
#   revoke     401                               proxy      502 with HTML
Fault = Callable[[str, str], str]
_ERRORS: Final = {
    "broken": (500, "M_UNKNOWN"), "refuse": (400, "M_BAD_JSON"), "forbid": (403, "M_FORBIDDEN"),
    "revoke": (401, "M_UNKNOWN_TOKEN"), "large": (413, "M_TOO_LARGE"),
}  # fmt: skip


class Homeserver:
    """One server and its room; within the block it listens, and it can go away and come back at the same address."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.uploads: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.kinds: list[str] = []  # of the content of these
        self.fault: Fault = lambda _method, _path: ""
        self.encrypted = False
        self.joined = True
        self.retry_after_ms = 20
        self.slowness = 0.3
        self.coding = ""
        self.token = TOKEN
        self.lock = threading.Lock()
        self.connections: list[socket.socket] = []
        self._transactions: dict[str, str] = {}
        self._listening: ThreadingHTTPServer | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, at the same address as before."""
        server = self

        class Handler(_Handler):
            homeserver = server

        self._listening = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._listening.daemon_threads = True
        self._port = self._listening.server_port
        threading.Thread(target=self._listening.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """Refuse connections, and end those that are open."""
        if self._listening is not None:
            self._listening.shutdown()
            self._listening.server_close()
            self._listening = None
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def configure(self, world: World, **settings: Any) -> None:
        """Let katod in a world deliver to the room."""
        token = world.home / "token"
        token.write_text(f"{TOKEN}\n")
        token.chmod(0o600)
        world.configure(homeserver=self.url, **{"matrix.token_file": str(token)}, room=ROOM, **settings)

    # -- what it has ------------------------------------------------------------------------------------

    def types(self) -> list[str]:
        """Return what kind each event is, without the prefix of the protocol."""
        return [event["type"].removeprefix("foundation.protocols.ai.claude.") for event in self.events]

    def texts(self) -> list[str]:
        """Return the texts of prompts and responses, in order."""
        return [event["content"]["text"] for event in self.events if "text" in event["content"]]

    def assert_each_once(self) -> None:
        """Assert that no record of a session is in the room twice, and that each event is in the thread of its session."""
        sources = Counter(
            (
                event["type"],
                json.dumps(event["content"].get("katod_source")),
                json.dumps(event["content"], sort_keys=True),
            )
            for event in self.events
        )
        assert [found for found, number in sources.items() if number > 1] == []
        known: dict[str, str] = {}
        for event in self.events:
            relation = event["content"].get("m.relates_to", {})
            for reference in (relation.get("event_id"), relation.get("m.in_reply_to", {}).get("event_id")):
                assert reference is None or reference in known, event
            known[event["event_id"]] = event["type"]
            if relation.get("rel_type") == THREAD:
                assert known[relation["event_id"]].endswith(".session.start"), event

    def put(self, path: str, content: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Store an event; return the answer."""
        _, _, _, _, _, room, what, kind, last = map(unquote, (*path.split("/"), "", "")[:9])
        if room != ROOM:
            return 404, {"errcode": "M_NOT_FOUND"}
        with self.lock:
            if what == "send" and path in self._transactions:
                return 200, {"event_id": self._transactions[path]}
            event = {"type": kind, "content": content} | ({"state_key": last} if what == "state" else {})
            if "$katod:" in json.dumps(content.get("m.relates_to", {})):
                return 400, {"errcode": "M_BAD_JSON"}
            same = [one for one in self.events if one["type"] == kind and one.get("state_key") is not None]
            if what == "state" and same and same[-1]["content"] == content:
                return 200, {"event_id": same[-1]["event_id"]}
            name = f"${len(self.events)}:localhost"
            self.events.append(event | {"event_id": name})
            if what == "send":
                self._transactions[path] = name
            return 200, {"event_id": name}

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        """Return the answer to a GET."""
        if path.endswith("/account/whoami"):
            return 200, {"user_id": "@katod:localhost"}
        if ROOM not in unquote(path) or not self.joined:
            return 403, {"errcode": "M_FORBIDDEN"}
        if path.endswith("/m.room.create"):
            return 200, {"room_version": "12"}
        if path.endswith("/m.room.encryption") and self.encrypted:
            return 200, {"algorithm": "m.megolm.v1.aes-sha2"}
        return 404, {"errcode": "M_NOT_FOUND"}

    def upload(self, data: bytes) -> tuple[int, dict[str, Any]]:
        """Keep content; each upload gets an address of its own."""
        address = f"mxc://localhost/{len(self.uploads)}"
        self.uploads[address] = data
        return 200, {"content_uri": address}


class _Handler(BaseHTTPRequestHandler):
    homeserver: Homeserver
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are written one after the other

    def setup(self) -> None:
        """Note the connection."""
        super().setup()
        self.homeserver.connections.append(self.connection)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._handle(lambda path, _: self.homeserver.get(path))

    def do_PUT(self) -> None:
        self._handle(lambda path, body: self.homeserver.put(path, json.loads(body)))

    def do_POST(self) -> None:
        self._handle(lambda _, body: self.homeserver.upload(body))

    def _handle(self, act: Callable[[str, bytes], tuple[int, dict[str, Any]]]) -> None:
        server, path = self.homeserver, urlsplit(self.path).path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server.requests.append(f"{self.command} {path}")
        server.kinds.append(self.headers.get("Content-Type", ""))
        fault = server.fault(self.command, path)
        if self.headers.get("Authorization") != f"Bearer {server.token}":
            fault = "revoke"
        if fault == "limit":
            self._answer(429, {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": server.retry_after_ms})
        elif fault == "proxy":
            self._raw(502, b"<html>bad gateway</html>")
        elif fault in _ERRORS:
            status, code = _ERRORS[fault]
            self._answer(status, {"errcode": code, "error": "words that nobody is to see"})
        else:
            if fault == "slow":
                time.sleep(server.slowness)
            self._answered(fault, *act(path, body))

    def _answered(self, fault: str, status: int, row: dict[str, Any]) -> None:
        """Answer a request that was carried out, if the answer is to arrive."""
        if fault == "cut":
            self.close_connection = True
        elif fault == "half":
            self._raw(status, json.dumps(row).encode(), missing=7)
            self.close_connection = True
        elif fault == "nonsense":
            self._raw(status, b"<html>welcome</html>")
        else:
            self._answer(status, row)

    def _answer(self, status: int, row: dict[str, Any]) -> None:
        self._raw(status, json.dumps(row).encode())

    def _raw(self, status: int, data: bytes, *, missing: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if self.homeserver.coding:
            self.send_header("Content-Encoding", self.homeserver.coding)
        with suppress(OSError):  # katod has gone
            self.end_headers()
            self.wfile.write(data[: len(data) - missing])


def in_order(faults: Iterable[str], method: str = "PUT") -> Fault:
    """Return faults for the next requests with a method, one after the other; then nothing."""
    left = list(faults)
    return lambda found, _path: left.pop(0) if found == method and left else ""

"""Arize Phoenix on loopback, from a virtual environment of its own, with a home of its own."""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.support.live import until

VARIABLE: Final = "KATOD_PHOENIX"  # names its Python
_PATIENCE: Final = 90.0


class Phoenix:
    """One server: its spans are what its API says of them."""

    def __init__(self, python: Path, folder: Path) -> None:
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        own = {"HOME": str(folder), "PHOENIX_WORKING_DIR": str(folder / "work"), "PHOENIX_HOST": "127.0.0.1"}
        own |= {"PHOENIX_PORT": str(port), "PHOENIX_GRPC_PORT": str(_free_port()), "PHOENIX_TELEMETRY_ENABLED": "false"}
        environment = own | {"PATH": os.environ["PATH"], "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false"}
        command = [python, "-m", "phoenix.server.main", "serve"]
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        until(self._is_up, "Phoenix", _PATIENCE, 0.2)

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(30)

    def take(self, body: bytes) -> None:
        """Give it a request of spans, as a collector does that hands on what it took."""
        headers = {"Content-Type": "application/x-protobuf"}
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.url}/v1/traces", body, headers), timeout=30
        ) as answer:
            assert answer.status == 200

    def spans(self) -> list[dict[str, Any]]:
        """Return all spans."""
        return list(self._pages())

    def sums(self) -> dict[str, Any]:
        """Return what it counts over all spans."""
        fields = "traceCount recordCount tokenCountPrompt tokenCountCompletion"
        query = {"query": f"{{projects{{edges{{node{{{fields}}}}}}}}}"}
        found: dict[str, Any] = self._ask("/graphql", query)["data"]["projects"]["edges"][0]["node"]
        return found

    def until_spans(self, number: int) -> None:
        """Wait until it has so many spans: it takes them first, and stores them soon after."""
        until(lambda: self._has_project() and len(self.spans()) >= number, f"{number} spans", _PATIENCE, 0.5)
        time.sleep(1.0)  # for more to come than there should be

    def _is_up(self) -> bool:
        assert self._process.poll() is None, "Phoenix ended"
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _has_project(self) -> bool:
        return bool(self._ask("/v1/projects")["data"])

    def _pages(self) -> Iterator[dict[str, Any]]:
        cursor = ""
        while True:
            page = self._ask(f"/v1/projects/default/spans?limit=500{cursor}")
            yield from page["data"]
            if not page["next_cursor"]:
                return
            cursor = f"&cursor={page['next_cursor']}"

    def _ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port

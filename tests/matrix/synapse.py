"""A real Synapse on loopback, in a virtual environment of its own: installed once per run, started and killed by tests."""

import hashlib
import hmac
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest

from tests.support.live import until

_PATIENCE: Final = 60.0
_PREFIX: Final = "foundation.protocols.ai.claude."
_PASSWORD: Final = "correct horse battery staple"
_DEVICE: Final = "KATOD"


def installed(folder: Path) -> Path:
    """Return a Python that has Synapse; skip the test if it cannot be installed."""
    if named := os.environ.get("KATOD_SYNAPSE"):
        return Path(named)
    python = folder / "bin/python"
    commands = (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "-q", "matrix-synapse"],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, check=False, timeout=600)
        if done.returncode:
            pytest.skip(f"Synapse cannot be installed here: {done.stderr.decode(errors='replace')[-200:]}")
    return python


class Synapse:
    """One homeserver with one account and the rooms that it makes."""

    def __init__(self, python: Path, folder: Path, *, limited: bool = False) -> None:
        self._python, self._folder = python, folder
        self._port = _free_port()
        self._config = folder / "homeserver.yaml"
        self._process: subprocess.Popen[bytes] | None = None
        self._generate(limited=limited)
        self.start()
        self.token = self._register("katod")

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def _generate(self, *, limited: bool) -> None:
        self._run("--server-name", "localhost", "--generate-config", "--report-stats=no")
        text = self._config.read_text()
        secret = re.search(r'registration_shared_secret: "(.*)"', text)
        assert secret is not None
        self._secret = secret[1]
        text = re.sub(r"(?ms)^listeners:.*?(?=^\w)", "", text)
        text = re.sub(r"(?m)^trusted_key_servers:\n(?:  .*\n|- .*\n)+", "", text)
        limits = "" if limited else "rc_message: {per_second: 1000, burst_count: 1000}\n"
        self._config.write_text(
            f"{text}\nlisteners:\n- {{port: {self._port}, bind_addresses: ['127.0.0.1'], type: http, tls: false,"
            " resources: [{names: [client, media], compress: false}]}\n"
            "trusted_key_servers: []\nfederation_domain_whitelist: []\npresence: {enabled: false}\n"
            "url_preview_enabled: false\nrc_login: {address: {per_second: 100, burst_count: 100}}\n" + limits
        )

    def _run(self, *arguments: str) -> None:
        command = [str(self._python), "-m", "synapse.app.homeserver", "--config-path", str(self._config), *arguments]
        subprocess.run(command, cwd=self._folder, check=True, capture_output=True, timeout=_PATIENCE)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(self._python), "-m", "synapse.app.homeserver", "--config-path", str(self._config)]
        with (self._folder / "said").open("ab") as said:
            self._process = subprocess.Popen(command, cwd=self._folder, stdout=said, stderr=said)
        until(self._is_up, "Synapse", _PATIENCE, 0.2)

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_PATIENCE)

    def _register(self, name: str) -> str:
        """Return the access token of a new account that may use the administrators' interface."""
        path = f"{self.url}/_synapse/admin/v1/register"
        nonce = httpx.get(path).json()["nonce"]
        said = b"\0".join([nonce.encode(), name.encode(), _PASSWORD.encode(), b"admin"])
        mac = hmac.new(self._secret.encode(), said, hashlib.sha1).hexdigest()
        row = {"nonce": nonce, "username": name, "password": _PASSWORD, "admin": True, "mac": mac}
        httpx.post(path, json=row).raise_for_status()
        login = {
            "type": "m.login.password", "identifier": {"type": "m.id.user", "user": name},
            "password": _PASSWORD, "device_id": _DEVICE,
        }  # fmt: skip
        return str(self.ask("POST", "/login", login, token="")["access_token"])

    def ask(self, method: str, path: str, row: Any = None, *, token: str | None = None) -> dict[str, Any]:
        """Return the answer to a request of the account."""
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"} if token != "" else {}
        answer = httpx.request(method, f"{self.url}/_matrix/client/v3{path}", json=row, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def room(self, *, encrypted: bool = False) -> str:
        """Return the id of a new room."""
        state = [{"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}]
        return str(self.ask("POST", "/createRoom", {"initial_state": state if encrypted else []})["room_id"])

    def events(self, room: str) -> list[dict[str, Any]]:
        """Return the protocol's events in a room, oldest first."""
        found: list[dict[str, Any]] = []
        start = ""
        while True:
            page = self.ask("GET", f"/rooms/{quote(room)}/messages?dir=f&limit=200{start}")
            found += [event for event in page["chunk"] if event["type"].startswith(_PREFIX)]
            if "end" not in page:
                return found
            start = f"&from={page['end']}"

    def thread(self, room: str, root: str) -> set[str]:
        """Return the ids of the events in a thread."""
        found: set[str] = set()
        start = ""
        while True:
            path = f"/rooms/{quote(room)}/relations/{quote(root)}/m.thread?limit=200{start}"
            answer = httpx.get(
                f"{self.url}/_matrix/client/v1{path}", headers={"Authorization": f"Bearer {self.token}"}, timeout=30
            ).json()
            found |= {event["event_id"] for event in answer["chunk"]}
            if "next_batch" not in answer:
                return found
            start = f"&from={answer['next_batch']}"

    def download(self, address: str) -> bytes:
        """Return what was uploaded."""
        path = f"{self.url}/_matrix/client/v1/media/download/{address.removeprefix('mxc://')}"
        return httpx.get(path, headers={"Authorization": f"Bearer {self.token}"}, timeout=30).content


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])

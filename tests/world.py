"""A world for tests: a home of its own, sessions that grow in it, katod that comes and goes."""

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from katod.cli import app
from katod.config import load
from katod.daemon import start
from katod.log import EventLog
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow

SESSION = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
THREAD = "01a1f89e-eea5-7302-86e3-f8e0f705330a"


class World:
    """One home with its agents, its state directory and its configuration."""

    def __init__(self, home: Path, monkeypatch: Any, *, seen_empty: bool = True) -> None:
        self.home = home
        self.state = home / "state"
        self.config = home / "katod.toml"
        self.project = home / "app"
        self.said = ""
        self.project.mkdir(parents=True)
        self.config.write_text('[output]\ntime_zone = "Europe/Berlin"\n')
        for name in (
            "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "CURSOR_DATA_DIR", "GEMINI_CLI_HOME", "NOTIFY_SOCKET",
            "OPENCODE_DB", "PI_CODING_AGENT_DIR", "TZ", "XDG_DATA_HOME", "XDG_STATE_HOME", "ZOT_HOME",
        ):  # fmt: skip
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("KATOD_STATE_DIR", str(self.state))
        monkeypatch.setenv("KATOD_CONFIG", str(self.config))
        if seen_empty:
            self.once()  # what comes from now on is not history

    # -- katod --------------------------------------------------------------------------------------

    def once(self) -> None:
        """A new process sweeps, processes everything and exits."""
        in_new_process(self.process)

    def process(self) -> None:
        """Sweep and process everything, in this process."""
        start(load(self.config), self.config, self.state, EventLog(), once=True)

    def cli(self, *arguments: str, code: int = 0) -> str:
        """What a command prints; its exit code is checked, and `said` is what it told on stderr."""
        result = CliRunner().invoke(app, list(arguments))
        failed = result.exception if result.exit_code != code else None
        if code == 0 and failed is not None and not isinstance(failed, SystemExit):
            raise failed
        assert result.exit_code == code, result.output
        self.said = result.stderr + (str(result.exception) if result.exception else "")
        return result.stdout

    def outputs(self) -> list[OutputRow]:
        """The outputs that the ledger knows, in the order in which they were made."""
        ledger = Ledger.read(self.state)
        assert ledger is not None
        try:
            return ledger.outputs()
        finally:
            ledger.close()

    def written(self) -> dict[str, str]:
        """Every file below the output directory, by its name."""
        folder = self.home / "katod"
        return {path.name: path.read_text(errors="replace") for path in sorted(folder.rglob("*")) if path.is_file()}

    def assert_live_is_batch(self) -> int:
        """Every output equals the export of its recording, byte for byte; returns how many there are."""
        rows = [row for row in self.outputs() if row.made]
        for row in rows:
            assert row.path.read_bytes() == self.cli("export", "--recording", str(row.id)).encode(), row.path
        return len(rows)

    # -- sessions -------------------------------------------------------------------------------------

    def claude(self, session: str = SESSION, *, folder: str = "-home-me-app") -> "SessionFile":
        """A Claude Code session file, not there yet."""
        return SessionFile(self.home / ".claude" / "projects" / folder / f"{session}.jsonl")

    def codex(self, thread: str = THREAD, *, folder: str = "2026/02/10", rollout: str = "") -> "SessionFile":
        """A Codex rollout, not there yet."""
        name = f"rollout-2026-02-10T23-36-18-{thread}{f'_{rollout}' if rollout else ''}.jsonl"
        return SessionFile(self.home / ".codex" / "sessions" / folder / name)


class SessionFile:
    """A session file that grows."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, *records: dict[str, Any] | bytes | str) -> "SessionFile":
        """Append records (objects become lines) or raw bytes."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            for record in records:
                file.write(line(record))
        return self


def line(record: dict[str, Any] | bytes | str) -> bytes:
    """One record as the agent writes it."""
    if isinstance(record, bytes):
        return record
    if isinstance(record, str):
        return record.encode()
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Claude:
    """Makes the records of one Claude Code session, each a minute after the one before."""

    def __init__(self, session: str = SESSION, *, cwd: str = "/home/me/app", start: int = 0) -> None:
        self.session, self.cwd, self.count = session, cwd, start

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A record with the envelope that all have."""
        self.count += 1
        minutes = 36 + self.count
        return {
            "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "2.1.39", "gitBranch": "main", "type": kind,
            "uuid": f"{self.session[:8]}-0000-4000-8000-{self.count:012d}",
            "timestamp": f"2026-02-10T{22 + minutes // 60:02d}:{minutes % 60:02d}:18.000Z",
        } | fields  # fmt: skip

    def user(self, text: Any, **fields: Any) -> dict[str, Any]:
        """What the person typed (or a list of blocks)."""
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def says(self, *blocks: Any, **fields: Any) -> dict[str, Any]:
        """What the assistant says: texts or blocks."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {
            "id": f"msg_{self.count + 1}", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
            "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5},
        }  # fmt: skip
        return self.record("assistant", message=message | fields.pop("message", {}), **fields)

    def calls(self, call: str, name: str, **arguments: Any) -> dict[str, Any]:
        """A tool call."""
        return self.says({"type": "tool_use", "id": call, "name": name, "input": arguments})

    def result(self, call: str, content: Any, *, error: bool = False, **fields: Any) -> dict[str, Any]:
        """The result of a tool call."""
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        return self.user([block | ({"is_error": True} if error else {})], **({"toolUseResult": content} | fields))


class Codex:
    """Makes the records of one Codex rollout, legacy or paginated."""

    def __init__(self, thread: str = THREAD, *, paginated: bool = True, start: int = 0, **meta: Any) -> None:
        self.thread, self.paginated, self.count = thread, paginated, start
        self.meta_fields = meta

    def record(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """A record with its envelope."""
        row: dict[str, Any] = {"timestamp": f"2026-02-10T22:{36 + self.count // 60:02d}:{self.count % 60:02d}.000Z"}
        if self.paginated:
            row["ordinal"] = self.count
        self.count += 1
        return row | {"type": kind, "payload": payload}

    def meta(self, **fields: Any) -> dict[str, Any]:
        """The first record of a rollout."""
        payload = {
            "id": self.thread, "timestamp": "2026-02-10T22:36:00.000Z", "cwd": "/home/me/app", "originator": "codex-tui",
            "cli_version": "0.169.0", "source": "cli", "thread_source": "user",
        }  # fmt: skip
        mode = {"history_mode": "paginated"} if self.paginated else {}
        return self.record("session_meta", payload | mode | self.meta_fields | fields)

    def user(self, text: str) -> dict[str, Any]:
        """What the person typed, in the form that counts."""
        if not self.paginated:
            return self.record("event_msg", {"type": "user_message", "message": text})
        item = {"type": "UserMessage", "id": f"item-{self.count}", "content": [{"type": "text", "text": text}]}
        return self.record("event_msg", {"type": "item_completed", "thread_id": self.thread, "item": item})

    def says(self, text: str) -> dict[str, Any]:
        """What the assistant says, in the form that counts."""
        if not self.paginated:
            block = {"type": "output_text", "text": text}
            return self.record("response_item", {"type": "message", "role": "assistant", "content": [block]})
        item = {"type": "AgentMessage", "id": f"item-{self.count}", "content": [{"type": "Text", "text": text}]}
        return self.record("event_msg", {"type": "item_completed", "thread_id": self.thread, "item": item})


def in_new_process(act: Callable[[], None], ends: tuple[int, ...] = (0,)) -> int:
    """Do something in a process of its own, which begins with nothing of katod's state; its failure is ours.

    Returns its exit code, one of `ends`.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the log of the child
            act()
            code = 0
        except BaseException:  # noqa: BLE001 - told to the parent, which raises
            os.write(writer, traceback.format_exc().encode()[-8000:])
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in ends, said
    return code


def markers(text: str, names: list[str]) -> Iterator[str]:
    """Yield the given names in the order in which they stand in a text, as often as they do."""
    found = sorted((at, name) for name in names for at in _places(text, name))
    yield from (name for _, name in found)


def _places(text: str, name: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        yield at
        at = text.find(name, at + len(name))

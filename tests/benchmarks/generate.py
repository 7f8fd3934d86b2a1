"""Sessions of Claude Code and Codex of any size, generated from a seed: the same seed gives the same bytes."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson

from tests.benchmarks.texts import Texts
from tests.support.records import Claude, CodexLegacy

Row = dict[str, Any]
CWD: Final = "/home/me/lantern"
_START: Final = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
_POOL_SEED: Final = 7


@cache
def _texts() -> Texts:
    return Texts(_POOL_SEED)


class Session:
    """What the sessions of both agents share: an id, an advancing clock, random choices."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.texts = _texts()
        self._now = _START
        self.id = self.uuid()

    def uuid(self) -> str:
        """Return a new UUID in its usual form."""
        text = f"{self.random.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"

    def tick(self) -> str:
        """Return the time of the next record."""
        self._now += timedelta(milliseconds=self.random.randint(5, 4000))
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def name(self) -> str:
        """Return the name of the session's file."""
        raise NotImplementedError

    def opening(self) -> list[Row]:
        """Return the records at the start of a session."""
        raise NotImplementedError

    def asked(self, text: str) -> list[Row]:
        """Return a message that a person typed."""
        raise NotImplementedError

    def said(self, text: str) -> list[Row]:
        """Return a message of the agent."""
        raise NotImplementedError

    def worked(self) -> list[Row]:
        """Return a tool call and its result."""
        raise NotImplementedError

    def turn(self) -> list[Row]:
        """Return a request and everything that the agent does in response."""
        rows = self.asked(self.texts.request())
        for _ in range(self.random.randint(2, 12)):
            if self.random.random() < 0.5:
                rows += self.said(self.texts.prose())
            rows += self.worked()
        return rows + self.said(self.texts.prose())


class GeneratedClaude(Session):
    """A session file of Claude Code."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._make = Claude(session=self.id, cwd=CWD)
        self._parent: str | None = None
        self._message = ""

    def name(self) -> str:
        return f"{self.id}.jsonl"

    def opening(self) -> list[Row]:
        return [{"type": "permission-mode", "permissionMode": "default", "sessionId": self.id}]

    def asked(self, text: str) -> list[Row]:
        message = {"role": "user", "content": text}
        row = self._row("user", message=message, promptSource="typed", permissionMode="default")
        kept = {"messageId": row["uuid"], "trackedFileBackups": {}, "timestamp": row["timestamp"]}
        snapshot = {"messageId": row["uuid"], "snapshot": kept, "isSnapshotUpdate": False}
        return [{"type": "file-history-snapshot"} | snapshot, row]

    def said(self, text: str) -> list[Row]:
        self._message = f"msg_{self.random.getrandbits(96):024x}"
        rows: list[Row] = []
        if self.random.random() < 0.3:
            thinking = {"type": "thinking", "thinking": self.texts.prose(), "signature": self.texts.sealed(300)}
            rows.append(self._assistant(thinking))
        return [*rows, self._assistant({"type": "text", "text": text})]

    def worked(self) -> list[Row]:
        self._message = f"msg_{self.random.getrandbits(96):024x}"
        call = f"toolu_{self.random.getrandbits(96):024x}"
        name, given, text, extra = self.random.choice((self._read, self._run, self._run, self._edit))()
        asked = self._assistant({"type": "tool_use", "id": call, "name": name, "input": given})
        result = {"tool_use_id": call, "type": "tool_result", "content": text, "is_error": False}
        answered = self._row("user", message={"role": "user", "content": [result]}, toolUseResult=extra)
        rows = [asked, answered]
        if self.random.random() < 0.15:
            hook = {"type": "hook_success", "hookName": f"PostToolUse:{name}", "toolUseID": call, "stdout": text[:900]}
            rows.append(self._row("attachment", attachment=hook))
        return rows

    def _read(self) -> tuple[str, Row, str, Row]:
        path, text = f"{CWD}/{self.texts.path()}", self.texts.source()
        lines = text.split("\n")
        numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))
        file = {"filePath": path, "content": text, "numLines": len(lines), "startLine": 1, "totalLines": len(lines)}
        return "Read", {"file_path": path}, numbered, {"type": "text", "file": file}

    def _run(self) -> tuple[str, Row, str, Row]:
        text = self.texts.printed()
        given = {"command": f"cd {CWD} && pytest -q {self.texts.path()}", "description": "Run the tests"}
        return "Bash", given, text, {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}

    def _edit(self) -> tuple[str, Row, str, Row]:
        path, source = f"{CWD}/{self.texts.path()}", self.texts.source()
        old = "\n".join(source.split("\n")[:12])
        new = old.replace("token", "cursor") + "\n    return None"
        given = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        lines = [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
        patch = [{"oldStart": 1, "oldLines": 12, "newStart": 1, "newLines": 13, "lines": lines}]
        extra = {"filePath": path, "oldString": old, "newString": new, "originalFile": source, "structuredPatch": patch}
        return "Edit", given, f"The file {path} has been updated.\n{new}", extra

    def _assistant(self, block: Row) -> Row:
        read = self.random.randint(9_000, 180_000)
        usage = {
            "input_tokens": 3, "cache_creation_input_tokens": 812, "cache_read_input_tokens": read,
            "output_tokens": self.random.randint(5, 900), "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 812, "ephemeral_5m_input_tokens": 0},
        }  # fmt: skip
        message = {"model": "claude-sonnet-4-5", "id": self._message, "usage": usage}
        said = self._make.says(block, message=message, requestId=f"req_{self.random.getrandbits(96):024x}")
        return self._placed(said)

    def _row(self, kind: str, **more: Any) -> Row:
        return self._placed(self._make.record(kind, **more))

    def _placed(self, row: Row) -> Row:
        """Return a record linked to the previous one, with the next time."""
        before, self._parent = self._parent, self.uuid()
        return row | {"parentUuid": before, "uuid": self._parent, "timestamp": self.tick()}


class GeneratedCodex(Session):
    """A Codex rollout in the legacy format, which contains everything twice."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.id = f"019b8{self.id[5:14]}7{self.id[15:]}"  # a UUID of version 7, from January 2026
        self._make = CodexLegacy(session=self.id, cwd=CWD)
        self._used = 0

    def name(self) -> str:
        return f"rollout-2026-01-05T08-00-00-{self.id}.jsonl"

    def opening(self) -> list[Row]:
        git = {"commit_hash": self.uuid().replace("-", ""), "branch": "main"}
        meta = self._make.meta(timestamp=self.tick(), base_instructions={"text": self.texts.source()}, git=git)
        return [meta | {"timestamp": self.tick()}]

    def asked(self, text: str) -> list[Row]:
        turn = self.uuid()
        mode = {"mode": "default", "settings": {"developer_instructions": self.texts.prose()}}
        context = {"turn_id": turn, "cwd": CWD, "model": "gpt-5.4", "effort": "medium", "collaboration_mode": mode}
        content = [{"type": "input_text", "text": text}]
        return [
            self._row("event_msg", {"type": "task_started", "turn_id": turn, "model_context_window": 258_400}),
            self._row("turn_context", context),
            self._row("response_item", {"type": "message", "role": "user", "content": content}),
            self._row("event_msg", {"type": "user_message", "message": text, "images": [], "local_images": []}),
        ]

    def said(self, text: str) -> list[Row]:
        thought = {"type": "reasoning", "summary": [], "encrypted_content": self.texts.sealed(700)}
        content = [{"type": "output_text", "text": text}]
        return [
            self._row("response_item", thought),
            self._row("event_msg", {"type": "agent_message", "message": text, "phase": "commentary"}),
            self._row("response_item", {"type": "message", "role": "assistant", "content": content}),
        ]

    def worked(self) -> list[Row]:
        call = f"call_{self.random.getrandbits(96):024x}"
        text = self.texts.printed() if self.random.random() < 0.7 else self.texts.source()
        given = orjson.dumps({"cmd": f"sed -n 1,200p {self.texts.path()}", "workdir": CWD}).decode()
        output = f"Chunk ID: {call[-6:]}\nWall time: 0.2959 seconds\nProcess exited with code 0\nOutput:\n{text}"
        rows = [
            self._row(
                "response_item", {"type": "function_call", "name": "exec_command", "arguments": given, "call_id": call}
            ),
            self._row("response_item", {"type": "function_call_output", "call_id": call, "output": output}),
        ]
        if self.random.random() < 0.3:
            ended = {"type": "exec_command_end", "call_id": call, "exit_code": 0, "aggregated_output": text[:2000]}
            rows.insert(1, self._row("event_msg", ended))
        return [*rows, self._tokens()]

    def _tokens(self) -> Row:
        last = {"input_tokens": self.random.randint(900, 90_000), "output_tokens": 351, "reasoning_output_tokens": 74}
        self._used += last["input_tokens"]
        info = {"total_token_usage": last | {"input_tokens": self._used}, "last_token_usage": last}
        limits = {"primary": {"used_percent": 10.0, "window_minutes": 300, "resets_at": 1_781_750_650}}
        return self._row("event_msg", {"type": "token_count", "info": info, "rate_limits": limits})

    def _row(self, kind: str, payload: Row) -> Row:
        return self._make.record(kind, payload) | {"timestamp": self.tick()}


AGENTS: Final = {"claude": GeneratedClaude, "codex": GeneratedCodex}


def lines(rows: list[Row]) -> bytes:
    """Return the records as lines of a session file."""
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


def session(agent: str, size: int, seed: int) -> Iterator[bytes]:
    """Yield a session of about `size` bytes, turn by turn."""
    made = AGENTS[agent](seed)
    data = lines(made.opening())
    while data:
        yield data
        size -= len(data)
        data = lines(made.turn()) if size > 0 else b""


def corpus(folder: Path, size: int, each: int = 1_500_000) -> list[tuple[str, Path]]:
    """Write sessions of about `size` bytes in total, half of each agent; return their agents and paths."""
    made: list[tuple[str, Path]] = []
    for agent, kind in AGENTS.items():
        target = folder / agent
        target.mkdir(parents=True)
        for seed in range(1, max(1, size // 2 // each) + 1):
            path = target / kind(seed).name()
            path.write_bytes(b"".join(session(agent, min(each, size // 2), seed)))
            made.append((agent, path))
    return made

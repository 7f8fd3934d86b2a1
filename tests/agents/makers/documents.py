"""Makers of the agents whose records change: Gemini CLI and OpenCode."""

import json
import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from katod.agents import AGENTS
from katod.model import Cursor as Position
from tests.agents.makers.base import CWD, Maker, Record, Said, milliseconds, moment


class Gemini(Maker):
    """Gemini CLI, lines."""

    agent = "gemini"

    def place(self) -> str:
        """A file a session, its name tells eight digits of the id."""
        chats = self.world.home / ".gemini/tmp/app/chats"
        chats.mkdir(parents=True, exist_ok=True)
        (chats.parent / ".project_root").write_text(CWD)
        if self.subagent:
            return f".gemini/tmp/app/chats/{self.session}/{self.subagent}.jsonl"
        return f".gemini/tmp/app/chats/session-2026-02-10T22-36-{self.session[:8]}.jsonl"

    def begin(self) -> None:
        """The header."""
        kind = "subagent" if self.subagent else "main"
        self.put({"sessionId": self.session, "projectHash": "0" * 64, "startTime": moment(), "kind": kind})

    def records(self, said: Said) -> list[Record]:
        """A message; one with a call comes again when the call has ended."""
        row: Record = {"id": f"m{self.next()}", "timestamp": moment()}
        match said.what:
            case "user":
                return [row | {"type": "user", "content": [{"text": said.text}]}, {"$set": {"lastUpdated": moment()}}]
            case "assistant":
                tokens = {"input": 10, "output": 5, "cached": 0, "thoughts": 0, "tool": 0, "total": 15}
                return [row | {"type": "gemini", "content": said.text, "tokens": tokens, "model": "gemini-2.5-pro"}]
            case "call":
                self.open: Record = row | {"type": "gemini", "content": "", "model": "gemini-2.5-pro"}
                return [self.open]
            case "result":
                response = {"functionResponse": {"id": said.call, "response": {"output": said.text}}}
                call = {"id": said.call, "name": "run_shell_command", "args": {"command": "make"}, "status": "success"}
                return [self.open | {"toolCalls": [call | {"result": [response], "timestamp": moment()}]}]
        return [row | {"type": "never-seen", "note": said.text}]

    def wrapped(self, text: str) -> list[Record]:
        """The preamble."""
        content = [{"text": f"<session_context>\n{text}\n</session_context>"}]
        return [{"id": f"m{self.next()}", "timestamp": moment(), "type": "user", "content": content}]


class GeminiDocument(Gemini):
    """Gemini CLI before 0.39: one document, rewritten in place."""

    ABSENT: ClassVar[dict[str, str]] = {
        "torn": "a document that is half written is left until it is whole",
        "sub-agent": "its sub-agents were sessions of their own",
    }

    def place(self) -> str:
        """A document a session."""
        return super().place().removesuffix("l")

    def put(self, *records: Record) -> "Maker":
        """Change the document: a message that comes again replaces itself."""
        for record in records:
            known = [n for n, item in enumerate(self.items) if "id" in item and item["id"] == record.get("id")]
            if known:
                self.items[known[0]] = record
            elif "$set" not in record:
                self.items.append(record)
        return self._write()

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> "Maker":
        """Write the document with what is kept of it."""
        self.items = [record for n, record in enumerate(self.items) if keep(n, record)]
        return self._write()

    def document(self) -> list[Record]:
        """The document."""
        return [json.loads(self.path.read_text())]

    def _write(self) -> "Maker":
        self.path.parent.mkdir(parents=True, exist_ok=True)
        head, *messages = self.items
        self.path.write_text(json.dumps(head | {"lastUpdated": moment(), "messages": messages}, indent=2))
        return self


class OpenCode(Maker):
    """OpenCode, a session in the database."""

    agent = "opencode"
    ABSENT: ClassVar[dict[str, str]] = {
        "torn": "a database holds no torn rows",
        "sub-agent": "a sub-agent is a session that names its parent",
    }

    def place(self) -> str:
        """The database; the session is one in it."""
        self.id = f"ses_{self.session[:8]}"
        return ".local/share/opencode/opencode.db"

    def begin(self) -> None:
        """The tables and the session."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.prompt, self.created = "", milliseconds()
        self.run(
            "PRAGMA journal_mode=WAL",
            "CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT,"
            " version TEXT, revert TEXT, time_created INTEGER, time_updated INTEGER)",
            "CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,"
            " time_updated INTEGER, data TEXT)",
            "CREATE TABLE IF NOT EXISTS part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,"
            " time_created INTEGER, time_updated INTEGER, data TEXT)",
            (
                "INSERT INTO session VALUES (?,NULL,?,'t','1.18.33',NULL,?,?)",
                (self.id, CWD, self.created, self.created),
            ),
        )

    def run(self, *statements: str | tuple[str, tuple[Any, ...]]) -> None:
        """Write to the database as its owner, who stays."""
        if not hasattr(self, "database"):
            self.database = sqlite3.connect(self.path, isolation_level=None)
        for statement in statements:
            self.database.execute(*([statement] if isinstance(statement, str) else statement))

    def put(self, *records: Record) -> "Maker":
        """Insert or update rows: a message with its parts, or one part."""
        for record in records:
            table, name, data = record["table"], record["id"], json.dumps(record["data"])
            self.items.append(record)
            if table == "message":
                values = (name, self.id, milliseconds(), milliseconds(), data)
            else:
                values = (name, record["message"], self.id, milliseconds(), milliseconds(), data)
            self.run((f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(values))})", values))
        return self

    def document(self) -> list[Record]:
        """The session as it is exported."""
        with AGENTS["opencode"].open(f"{self.path}#{self.id}") as file:
            return [json.loads(line.data) for line in file.read(Position(), 0).lines]

    def age(self) -> "Maker":
        """Have it all be of 1970."""
        for record in self.items:
            record["data"] |= {"time": {"created": 1, "start": 1, "end": 2, "completed": 2}}
        self.rewrite()
        self.run(*(f"UPDATE {table} SET time_updated = 2" for table in ("session", "message", "part")))
        self.run("UPDATE session SET time_created = 1")
        return self

    def tells(self, moment: str) -> bool:
        """Whether a time stands in a row."""
        told = round(datetime.fromisoformat(moment).timestamp() * 1000)
        kept = [row[0] for row in self.database.execute("SELECT data FROM message UNION ALL SELECT data FROM part")]
        return str(told) in " ".join(kept) or told == self.created

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> "Maker":
        """Delete and insert all rows."""
        kept = [record for n, record in enumerate(self.items) if keep(n, record)]
        self.items = []
        self.run("DELETE FROM message", "DELETE FROM part")
        return self.put(*kept)

    def message(self, role: str, **data: Any) -> Record:
        """A message's row."""
        times = {"created": milliseconds()} | data.pop("time", {})
        name = f"msg_{self.next():08d}"
        return {"table": "message", "id": name, "data": {"role": role, "time": times} | data}

    def part(self, message: Record, **data: Any) -> Record:
        """A part's row."""
        return {"table": "part", "id": f"prt_{self.next():08d}", "message": message["id"], "data": data}

    def records(self, said: Said) -> list[Record]:
        """A message with one part each; a tool's part changes until it has ended."""
        if said.what == "user":
            row = self.message("user")
            self.prompt = row["id"]
            return [row, self.part(row, type="text", text=said.text)]
        if said.what == "result":
            state = {"status": "completed", "input": self.tool["data"]["state"]["input"], "output": said.text}
            done = self.tool | {"data": self.tool["data"] | {"state": state}}
            row = self.row | {"data": self.row["data"] | {"time": {"created": 1, "completed": milliseconds()}}}
            return [done, row]
        tokens = {"input": 10, "output": 5, "cache": {"read": 0, "write": 0}}
        row = self.message("assistant", parentID=self.prompt, modelID="glm-5", tokens=tokens, finish="tool-calls")
        if said.what == "call":
            state = {"status": "running", "input": {"command": said.text}}
            self.row, self.tool = row, self.part(row, type="tool", tool="bash", callID=said.call, state=state)
            return [row, self.tool]
        empty = self.part(row, type="text", text="", time={"start": 1})
        if said.what == "unknown":
            empty = self.part(row, type="never-seen", note=said.text)
            whole = empty
        else:
            whole = empty | {"data": empty["data"] | {"text": said.text, "time": {"start": 1, "end": 2}}}
        ended = row | {"data": row["data"] | {"time": {"created": 1, "completed": milliseconds()}, "finish": "stop"}}
        return [row, empty, whole, ended]

    def wrapped(self, text: str) -> list[Record]:
        """What the client adds to a prompt."""
        row = self.message("user")
        self.prompt = row["id"]
        return [row, self.part(row, type="text", text=text, synthetic=True)]

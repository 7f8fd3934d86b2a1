"""OpenCode: all sessions in one database, whose rows change until they are complete."""

import json
import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar, Self

from katod.agents import AGENTS
from katod.model import Cursor as Position
from tests.support.collected import close_later
from tests.support.records.base import Home, Maker, Record, Said, milliseconds

_SESSION = (
    " (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT,"
    " time_created INTEGER, time_updated INTEGER)"
)


class OpenCode(Maker):
    """An OpenCode session; this process is its owner and keeps the database open."""

    agent = "opencode"
    IS_DOCUMENT = True
    JOINS_RESULTS = True
    VERSION: ClassVar[str] = "1.18.33"
    TABLE: ClassVar[str] = "session"
    MESSAGES: ClassVar[tuple[str, ...]] = ("message", "part")
    SCHEMA: ClassVar[tuple[str, ...]] = (
        f"session{_SESSION}",
        "message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT)",
        (
            "part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER,"
            " data TEXT)"
        ),
    )
    ABSENT: ClassVar[dict[str, str]] = {
        "torn": "a database holds no torn rows",
        "sub-agent": "a sub-agent is a session that names its parent",
    }

    def __init__(self, world: Home, session: str = "", **named: Any) -> None:
        super().__init__(world, session, **named)
        self.prompt, self.created = "", milliseconds()
        self.database = sqlite3.connect(self.path, isolation_level=None)
        close_later(self, self.database.close)  # the owner ends with the test
        self.run(
            "PRAGMA journal_mode=WAL",
            *(f"CREATE TABLE IF NOT EXISTS {table}" for table in self.SCHEMA),
            (
                (
                    f"INSERT INTO {self.TABLE} (id, directory, title, version, time_created, time_updated)"
                    " VALUES (?,?,'t',?,?,?)"
                ),
                (self.id, self.cwd, self.VERSION, self.created, self.created),
            ),
        )

    def place(self, database: str = ".local/share/opencode/opencode.db") -> str:
        """Return the path of the database, which contains the session."""
        self.id = f"ses_{self.session[:8]}"
        return database

    def run(self, *statements: str | tuple[str, tuple[Any, ...]]) -> None:
        """Execute statements, each with its values if it has any."""
        for statement in statements:
            self.database.execute(*([statement] if isinstance(statement, str) else statement))

    def write(self, *records: Record) -> Self:
        """Insert or update rows: a message with its parts, or one part."""
        for record in records:
            table, name, data = record["table"], record["id"], json.dumps(record["data"], ensure_ascii=False)
            self.items.append(record)
            if table == "message":
                values = (name, self.id, milliseconds(), milliseconds(), data)
            else:
                values = (name, record["message"], self.id, milliseconds(), milliseconds(), data)
            self.run((f"INSERT OR REPLACE INTO {table} VALUES ({','.join('?' * len(values))})", values))
        return self

    def document(self) -> list[Record]:
        """Return the session as katod reads it."""
        with AGENTS["opencode"].open(f"{self.path}#{self.id}") as file:
            return [json.loads(line.data) for line in file.read(Position(), 0).lines]

    def age(self) -> Self:
        """Date everything to 1970."""
        for record in self.items:
            record["data"] |= {"time": {"created": 1, "start": 1, "end": 2, "completed": 2}}
        self.rewrite()
        self.run(*(f"UPDATE {table} SET time_updated = 2" for table in (self.TABLE, *self.MESSAGES)))
        self.run(f"UPDATE {self.TABLE} SET time_created = 1")
        return self

    def tells(self, moment: str) -> bool:
        """Return whether a row contains this time."""
        told = round(datetime.fromisoformat(moment).timestamp() * 1000)
        rows = (self.database.execute(f"SELECT data FROM {table}") for table in self.MESSAGES)
        kept = [row[0] for found in rows for row in found]
        return str(told) in " ".join(kept) or told == self.created

    def rewrite(self, keep: Callable[[int, Record], bool] = lambda *_: True) -> Self:
        """Delete all rows and insert the ones to keep."""
        kept = [record for n, record in enumerate(self.items) if keep(n, record)]
        self.items = []
        self.run(*(f"DELETE FROM {table}" for table in self.MESSAGES))
        return self.write(*kept)

    def message(self, role: str, **data: Any) -> Record:
        """Return the row of a message."""
        times = {"created": milliseconds()} | data.pop("time", {})
        name = f"msg_{self.next():08d}"
        return {"table": "message", "id": name, "data": {"role": role, "time": times} | data}

    def part(self, message: Record, **data: Any) -> Record:
        """Return the row of a part."""
        return {"table": "part", "id": f"prt_{self.next():08d}", "message": message["id"], "data": data}

    def records(self, said: Said) -> list[Record]:
        """Return a message with one part; a tool's part changes until the tool has ended."""
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

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a compaction with the answer that is its summary."""
        asked = self.message("user")
        self.prompt = asked["id"]
        told = self.records(Said("assistant", text))
        for row in told:
            if row["table"] == "message":
                row["data"] |= {"summary": True, "mode": "compaction"}
        return {"summary": [asked, self.part(asked, type="compaction", auto=False), *told]}

    @property
    def source(self) -> str:
        """What `katod export` takes for this session."""
        return self.id

    def child(self) -> "OpenCode":
        """Return a session that names this one as its parent."""
        session = type(self)(self.world, "99999999", start=100)  # ids are those of one database
        session.run((f"UPDATE {self.TABLE} SET parent_id = ? WHERE id = ?", (self.id, session.id)))
        return session

    def wrapped(self, text: str) -> list[Record]:
        """Return text that the client adds to a prompt."""
        row = self.message("user")
        self.prompt = row["id"]
        return [row, self.part(row, type="text", text=text, synthetic=True)]


class OpenCode2(OpenCode):
    """A session of OpenCode 2: a message is one row, which changes in place until it is complete."""

    VERSION = "2.0.12"
    TABLE = "session_v2"
    MESSAGES = ("session_message",)
    SCHEMA = (
        f"session_v2{_SESSION}",
        (
            "session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER, time_created INTEGER,"
            " time_updated INTEGER, data TEXT)"
        ),
    )

    def write(self, *records: Record) -> Self:
        """Insert messages, or update them in place."""
        for record in records:
            self.items.append(record)
            now, data = milliseconds(), json.dumps(record["data"], ensure_ascii=False)
            values = (record["id"], self.id, record["type"], record["seq"], now, now, data)
            changes = "data = excluded.data, time_updated = excluded.time_updated"
            insert = "INSERT INTO session_message VALUES (?,?,?,?,?,?,?)"
            self.run((f"{insert} ON CONFLICT (id) DO UPDATE SET {changes}", values))
        return self

    def row(self, kind: str, **data: Any) -> Record:
        """Return the row of a message."""
        seq, times = self.next(), {"created": milliseconds()} | data.pop("time", {})
        return {"id": f"msg_{-seq % 97:02}{seq}", "type": kind, "seq": seq, "data": {"time": times} | data}

    def changed(self, row: Record, **data: Any) -> Record:
        """Return a later form of a row."""
        return row | {"data": row["data"] | data}

    def records(self, said: Said) -> list[Record]:
        """Return a message; the one with a tool changes until the tool has ended."""
        if said.what == "user":
            return [self.row("user", text=said.text)]
        if said.what == "unknown":
            return [self.row("never-seen", note=said.text)]
        if said.what == "result":
            call = self.call["data"]["content"][0]
            state = call["state"] | {"status": "completed", "content": [{"type": "text", "text": said.text}]}
            return [self.changed(self.call, content=[call | {"state": state}], finish="tool-calls")]
        tokens = {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        row = self.row("assistant", agent="build", model={"id": "glm-5", "providerID": "z"}, content=[], tokens=tokens)
        if said.what == "call":
            state = {"status": "running", "input": {"command": said.text}}
            self.call = self.changed(row, content=[{"type": "tool", "id": said.call, "name": "bash", "state": state}])
            return [row, self.call]
        half, whole = ({"type": "text", "text": text} for text in (said.text[:3], said.text))
        return [row, self.changed(row, content=[half]), self.changed(row, content=[whole], finish="stop")]

    def between(self, text: str) -> dict[str, list[Record]]:
        """Return a compaction with its summary."""
        return {"summary": [self.row("compaction", summary=text)]}

    def wrapped(self, text: str) -> list[Record]:
        """Return text that the client writes itself."""
        return [self.row("synthetic", text=text)]

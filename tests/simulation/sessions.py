"""Sessions of further agents in the simulation, with the words of those of Claude Code and Codex."""

import json

from tests.support.records import Codex, Gemini, OpenCode, Pi, calls, line, milliseconds, result, says, user


class CodexSession(Codex):
    """A session of Codex: like real ones, it has ids that no other session has, unless that was copied from it."""

    def _item(self, kind, **fields):
        return super()._item(kind, **fields, id=f"{self.session[:8]}-{self.count}")


class _OneRecord:
    """A session in which each message is one record."""

    def typed(self, text):
        return self.records(user(text))[0]

    def says(self, text):
        return self.records(says(text))[0]


class PiSession(_OneRecord, Pi):
    """A session of Pi, whose records form a tree."""

    def thinks(self, text):
        [record] = self.records(says(""))
        record["message"]["content"] = [{"type": "thinking", "thinking": text}]
        return record

    def runs(self, call, command):
        return self.records(calls(call, command))[0]

    def result(self, call, text, *, error=False):
        [record] = self.records(result(call, text))
        record["message"]["isError"] = error
        return record


class GeminiSession(_OneRecord, Gemini):
    """A session of Gemini CLI, which writes a message again once its call has ended, and when it last changed."""

    def thinks(self, text):
        [record] = self.records(says(""))
        return record | {"thoughts": [{"subject": "", "description": text, "timestamp": record["timestamp"]}]}

    def runs(self, call, command):
        self.command = command
        return self.records(calls(call, command))[0]

    def result(self, call, text, *, error=False):
        [record] = self.records(result(call, text))
        [made] = record["toolCalls"]
        made |= {"args": {"command": self.command}, "status": "error" if error else "success"}
        return record

    @staticmethod
    def is_empty(record):
        """Whether it is written of a message before there is anything in it."""
        said = (record.get("content"), record.get("thoughts"), record.get("toolCalls"))
        return record.get("type") == "gemini" and not any(said)

    def lines(self, record):
        """Return what it writes of a record, whose parts have times of their own."""
        for part in (*record.get("thoughts", ()), *record.get("toolCalls", ())):
            part["timestamp"] = record["timestamp"]
        if record.get("type") != "user":
            return line(record)
        return line(record) + line({"$set": {"lastUpdated": record["timestamp"]}})


class OpenCodeSession(OpenCode):
    """A session of OpenCode: rows of a database. A prompt counts once it is answered."""

    def __init__(self, world, session):
        super().__init__(world, session, start=int(session[:8], 16) * 10_000)  # its ids are those of one database
        self._begun = b""  # of a row that is not inserted yet

    def _record(self, said):
        """Return the rows of what is said, whose times are those of now."""
        rows = self.records(said)
        for row in rows:
            row["data"] |= {"time": dict.fromkeys(row["data"].get("time", ()), milliseconds())}
        return {"rows": rows}

    def typed(self, text):
        return self._record(user(text))

    def says(self, text):
        return self._record(says(text))

    def thinks(self, text):
        record = self._record(says(text))
        for part in record["rows"][1:3]:
            part["data"]["type"] = "reasoning"
        return record

    def runs(self, call, command):
        return self._record(calls(call, command))

    def result(self, call, text, *, error=False):
        record = self._record(result(call, text))
        state = record["rows"][0]["data"]["state"]
        if error:
            state |= {"status": "error", "error": state.pop("output")}
        return record

    @staticmethod
    def is_empty(record):
        """Whether it is written of a message before there is anything in it."""
        return record["rows"][-1]["data"].get("state", {}).get("status") == "running"

    @staticmethod
    def lines(record):
        """Return its rows, in the order in which they are written."""
        return b"".join(map(line, record["rows"]))

    def append(self, data):
        """Write rows, once they are there as a whole."""
        *whole, self._begun = (self._begun + data).split(b"\n")
        return self.write(*map(json.loads, whole))

    @property
    def exists(self):
        """Whether it is in the database."""
        return self.database.execute("SELECT 1 FROM session WHERE id = ?", [self.id]).fetchone() is not None

    def remove(self):
        """Delete it, as its person does in the agent."""
        for table, name in (("part", "session_id"), ("message", "session_id"), ("session", "id")):
            self.run((f"DELETE FROM {table} WHERE {name} = ?", (self.id,)))

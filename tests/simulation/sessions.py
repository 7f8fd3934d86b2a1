"""Sessions of further agents in the simulation, with the words of those of Claude Code and Codex."""

from tests.support.records import Gemini, Pi, calls, line, result, says, user


class PiSession(Pi):
    """A session of Pi, whose records form a tree."""

    def typed(self, text):
        return self.records(user(text))[0]

    def says(self, text):
        return self.records(says(text))[0]

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


class GeminiSession(Gemini):
    """A session of Gemini CLI, which writes a message again once its call has ended, and when it last changed."""

    def typed(self, text):
        return self.records(user(text))[0]

    def says(self, text):
        return self.records(says(text))[0]

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

"""Compares outputs with what they must contain according to the model's own log."""

import json
import re

from katod import events

from . import model_server

COMMANDS = re.compile(r"^::(?:start (?P<name>(?:notes|later)\.\w+)|stop)$", re.MULTILINE)


def spoken(prompt, into):
    """Return the parts of a prompt as (output, text), and the output that is open after it."""
    found, at = [], 0
    for match in COMMANDS.finditer(prompt):
        found.append((into, prompt[at : match.start()].strip()))
        into, at = match["name"], match.end()
    found.append((into, prompt[at:].strip()))
    return [(name, text) for name, text in found if text], into


def ranges(log):
    """Return the turns that each output must contain, in order, according to the model's log."""
    found, into = {}, None
    for entry in log:
        turns = []
        if entry["event"] == "prompt":
            stretches, into = spoken(entry["text"], into)
            for name, text in stretches:
                found.setdefault(name, []).append(("user", text))
        elif entry["event"] == "result":
            turns.append(("result", entry["call"]))
        elif entry["event"] == "answer":
            turns += [("thinking", entry["thinking"])] if "thinking" in entry else []
            turns.append(("assistant", entry["text"]))
            turns += [("call", entry["call"]["id"])] if "call" in entry else []
        found.setdefault(into, []).extend(turns)
    found.pop(None, None)
    return found


def said(log):
    """Return the messages in a log as (role, text)."""
    roles = {"prompt": "user", "answer": "assistant"}
    return [(roles[entry["event"]], entry["text"]) for entry in log if entry["event"] in roles]


def recorded(path):
    """Return only the turns of a JSONL output."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["schema"] for row in rows} == {events.SCHEMA}
    assert len({row["id"] for row in rows}) == len(rows)
    assert len({row["session"]["id"] for row in rows}) == 1
    turns = []
    for row in rows:
        kind, payload = row["kind"], row["payload"]
        if kind == events.USER_MESSAGE:
            turns.append(("user", payload["text"].strip()))
        elif kind == events.ASSISTANT_MESSAGE:
            turns.append(("assistant", payload["text"]))
        elif kind == events.ASSISTANT_THINKING:
            turns.append(("thinking", payload["text"]))
        elif kind == events.TOOL_CALL:
            assert payload["name"] in model_server.TOOLS
            assert model_server.COMMAND in json.dumps(payload["input"])
            turns.append(("call", _call(payload)))
        elif kind == events.TOOL_RESULT:
            assert "inside of the note" in payload["text"]
            turns.append(("result", _call(payload)))
    return turns


def _call(payload):
    """Return the model's id of a call; Gemini CLI prepends the tool's name and two underscores."""
    return payload["toolCallId"].removeprefix("run_shell_command__")


def printed(path):
    """Return a Markdown output without front matter and title."""
    document = path.read_text()
    return document[document.index("\n## ") :]


class Reader:
    """Reads a transcript from the top; only headings, marks and tool lines may appear between the texts."""

    def __init__(self, body):
        self._body, self._at, self._speaker, self._calls = body, 0, "", 0

    def read(self, role, text):
        """Advance to after the next occurrence of `text`, which must be by `role`."""
        found = self._body.find(text, self._at)
        assert found >= 0, f"not printed from here on: {text!r}\n{self._body[self._at :]}"
        self._between(self._body[self._at : found])
        assert self._speaker.startswith("## User") == (role == "user"), (self._speaker, text)
        self._at = found + len(text)

    def call(self):
        """Expect the line of a tool call before the next text."""
        self._calls += 1

    def end(self):
        """Expect no further text."""
        self._between(self._body[self._at :])

    def _between(self, gap):
        lines = [line for line in gap.splitlines() if line]
        calls = [line for line in lines if line.startswith("- ")]
        assert len(calls) == self._calls, gap
        assert all(model_server.COMMAND in line for line in calls), gap
        headings = [line for line in lines if line.startswith("## ")]
        marks = [line for line in lines if re.fullmatch(r"\*[^*]+\*", line)]
        assert len(lines) == len(calls) + len(headings) + len(marks), f"more than was said: {gap}"
        self._speaker, self._calls = (headings or [self._speaker])[-1], 0


def assert_jsonl(path, turns):
    """Assert that a JSONL output contains exactly these turns."""
    assert recorded(path) == turns


def assert_markdown(path, turns):
    """Assert that a Markdown output contains exactly these turns, except thinking and successful results."""
    reader = Reader(printed(path))
    for kind, text in turns:
        if kind == "call":
            reader.call()
        elif kind in ("user", "assistant"):
            reader.read(kind, text)
    reader.end()


COMPARE = {"jsonl": assert_jsonl, "md": assert_markdown}


def assert_outputs(katod, log):
    """Assert that katod's outputs match the model's log."""
    expected, outputs = ranges(log), {path.name: path for path in katod.world.files()}
    assert set(outputs) == set(expected)
    for name, turns in expected.items():
        COMPARE[name.rpartition(".")[2]](outputs[name], turns)

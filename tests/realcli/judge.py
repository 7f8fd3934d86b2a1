"""Compares outputs with what they must contain according to the model's own log."""

import json
import re

from katod import events

from . import model_server

COMMANDS = re.compile(
    r"^::(?:(?P<word>start|capture) (?P<name>(?:notes|later|stolen|refused)\.\w+)|stop)$", re.MULTILINE
)
PASTED = re.compile(r'\n\n<pasted_content id="(\w+)">\n(.*?)\n</pasted_content id="\1">\n', re.DOTALL)
HIDDEN = "\0\0"


class Ranges:
    """The turns that each output must contain, in order, according to the model's log."""

    def __init__(self):
        self.found = {}
        self._into, self._whole = None, []

    def take(self, entry):
        """Note what an entry adds."""
        event = entry["event"]
        if event == "prompt":
            self._prompt(PASTED.sub(lambda paste: paste[2].replace("::", HIDDEN), entry["text"]))
        elif event == "result":
            self._add("result", entry["call"])
        elif event in ("answer", "aborted"):
            self._answer(entry)

    def _prompt(self, prompt):
        at = 0
        for match in COMMANDS.finditer(prompt):
            self._say(prompt[at : match.start()])
            self._into, at = match["name"], match.end()
            if match["word"]:
                self.found.setdefault(self._into, list(self._whole) if match["word"] == "capture" else [])
        self._say(prompt[at:])

    def _say(self, words):
        if text := words.replace(HIDDEN, "::").strip():
            self._add("user", text)

    def _answer(self, entry):
        if "thinking" in entry:
            self._add("thinking", entry["thinking"])
        self._add("assistant", entry["text"])
        if "call" in entry:
            self._add("call", entry["call"]["id"])

    def _add(self, kind, text):
        self._whole.append((kind, text))
        if self._into:
            self.found[self._into].append((kind, text))


def ranges(log):
    """Return the turns that each output must contain, in order, according to the model's log."""
    ranges = Ranges()
    for entry in log:
        ranges.take(entry)
    return ranges.found


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

"""Compares outputs with what they must contain according to the model's own log."""

import json
import re

from katod import events
from tests.support import reading

from . import model_server

COMMANDS = re.compile(
    r"^::(?:(?P<word>start|capture) (?P<name>(?:notes|later|stolen|refused)\.\w+)|stop|"
    r"keep (?P<count>\d) (?P<kept>kept\.\w+))$",
    re.MULTILINE,
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
        at, before = 0, list(self._whole)
        for match in COMMANDS.finditer(prompt):
            self._say(prompt[at : match.start()])
            at = match.end()
            if match["kept"]:
                self.found[match["kept"]] = _last_exchanges(before, int(match["count"]))
                continue
            self._into = match["name"]
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


def _last_exchanges(turns, count):
    """Return the last questions, each with all up to the next one."""
    kinds = ["", *(kind for kind, _ in turns)]
    begins = [at for at in range(len(turns)) if kinds[at] != "user" == kinds[at + 1]]
    return turns[begins[-count] :]


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


def assert_jsonl(path, turns):
    """Assert that a JSONL output contains exactly these turns."""
    assert recorded(path) == turns


def assert_markdown(path, turns):
    """Assert that a Markdown output contains exactly these turns, except thinking and successful results."""
    found = [_turn(*said) for said in reading.said(path.read_text())]
    assert found == [
        (kind, line.rstrip() if kind != "call" else "")
        for kind, text in turns if kind in ("user", "assistant", "call")
        for line in text.splitlines() if line.strip()
    ]  # fmt: skip


def _turn(speaker, words):
    if speaker:
        return ("user" if speaker == "You" else "assistant"), words
    assert model_server.COMMAND in words
    return "call", ""


COMPARE = {"jsonl": assert_jsonl, "md": assert_markdown}


def assert_outputs(katod, log):
    """Assert that katod's outputs match the model's log."""
    expected, outputs = ranges(log), {path.name: path for path in katod.world.files()}
    assert set(outputs) == set(expected)
    for name, turns in expected.items():
        COMPARE[name.rpartition(".")[2]](outputs[name], turns)

"""The real Codex, followed live: a recording holds what the model's own log has for that range, once."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from katod import events

from . import model_server
from .codex import Codex, install
from .daemon import Katod
from .processes import Namespace, until

pytestmark = pytest.mark.slow

COMMANDS = re.compile(r"^::(?:start (?P<name>(?:notes|later)\.\w+)|stop)$", re.MULTILINE)
SEVERAL_LINES = """\
a prompt of several lines

    ::stop
is not at the margin, ::stop is not alone, and

```text
::start fenced.md
```

is code; grüße, 你好
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The client's start script, in $KATOD_REALCLI_DIR or a folder that goes when the module is done."""
    kept = os.environ.get("KATOD_REALCLI_DIR")
    folder = Path(kept).absolute() if kept else tmp_path_factory.mktemp("client")
    yield install(folder)
    if not kept:
        shutil.rmtree(folder)


class Play:
    """A model and a client in one namespace, and the model's log."""

    def __init__(self, script, namespace, log):
        self.namespace, self._log = namespace, log
        (ready,) = until(self.log, "the model tells its port")
        self.codex = Codex(script, namespace, ready["port"], log.parent)

    def log(self):
        """Return the whole lines of the model's log."""
        whole = self._log.read_text().rpartition("\n")[0] if self._log.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]

    def last_answer(self):
        """Return the first line of the newest answer: no other text has it."""
        return [entry for entry in self.log() if entry["event"] == "answer"][-1]["text"].splitlines()[0]


@pytest.fixture
def play(script, tmp_path):
    """A play with nothing said yet."""
    log = tmp_path / "model.jsonl"
    namespace = Namespace([sys.executable, model_server.__file__, str(log)])
    try:
        yield Play(script, namespace, log)
    finally:
        namespace.close()


def spoken(prompt, into):
    """Return the stretches of a prompt as (output, text), and the output that is open behind it."""
    found, at = [], 0
    for match in COMMANDS.finditer(prompt):
        found.append((into, prompt[at : match.start()].strip()))
        into, at = match["name"], match.end()
    found.append((into, prompt[at:].strip()))
    return [(name, text) for name, text in found if text], into


def ranges(log):
    """Return by the model's log what each output must hold: its turns, in order."""
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


def recorded(path):
    """Return the turns of a JSONL output, all else that it tells left out."""
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
            assert payload["name"] == model_server.TOOL
            assert model_server.COMMAND in json.dumps(payload["input"])
            turns.append(("call", payload["toolCallId"]))
        elif kind == events.TOOL_RESULT:
            assert "inside of the note" in payload["text"]
            turns.append(("result", payload["toolCallId"]))
    return turns


def printed(path):
    """Return a Markdown output from its first speaker on, its front matter and title left out."""
    document = path.read_text()
    return document[document.index("\n## ") :]


class Reader:
    """Reads a transcript from the top: between the texts stand only headings, marks and tool lines."""

    def __init__(self, body):
        self._body, self._at, self._speaker, self._calls = body, 0, "", 0

    def read(self, role, text):
        """Go on behind the next place of `text`, which must be said by `role`."""
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
    """Compare a JSONL output with the turns that it must hold."""
    assert recorded(path) == turns


def assert_markdown(path, turns):
    """Compare a Markdown output with the turns that it must hold; thoughts and good results do not print."""
    reader = Reader(printed(path))
    for kind, text in turns:
        if kind == "call":
            reader.call()
        elif kind in ("user", "assistant"):
            reader.read(kind, text)
    reader.end()


def hold_conversation(play, katod, notes, later):
    """Say what is to be recorded and what is not, each as soon as katod has written what came before."""
    play.codex.begin("hello one")
    play.codex.say(f"::start {notes}\n\nfirst recorded prompt")
    katod.shows(play.last_answer(), notes)
    play.codex.say("look into it (tool)")
    katod.shows(play.last_answer(), notes)
    play.codex.say(SEVERAL_LINES)
    katod.shows(play.last_answer(), notes)
    play.codex.say("::stop")
    play.codex.say("after the stop")
    play.codex.say(f"::start {later}\n\nthe last prompt")  # written last: then all before it was seen
    katod.shows(play.last_answer(), later)


@pytest.mark.parametrize(
    ("form", "suffix", "compare"),
    [("jsonl", "jsonl", assert_jsonl), ("markdown", "md", assert_markdown)],
    ids=["jsonl", "markdown"],
)
def test_a_live_recording_holds_what_the_model_heard_and_said(play, tmp_path, form, suffix, compare):
    """Between a typed start and stop every turn stands in the output once; nothing else does, and no file of Codex changes."""
    notes, later = f"notes.{suffix}", f"later.{suffix}"
    play.codex.begin(f"::start {notes}\n\nsaid before katod was there")
    heard = len(play.log())
    katod = Katod(play.namespace, play.codex.environment, tmp_path, form)
    try:
        katod.start()
        hold_conversation(play, katod, notes, later)
        code = katod.stop()
    finally:
        katod.close()
    assert code == 0, katod.log.read_text()[-2000:]
    play.codex.assert_untouched()
    expected = ranges(play.log()[heard:])
    assert set(katod.outputs()) == set(expected) == {notes, later}
    for name, turns in expected.items():
        compare(katod.outputs()[name], turns)


def test_the_log_of_the_model_tells_what_codex_keeps(play):
    """Without katod: the turns of the model's log are those of the client's own file, so it can be the judge."""
    play.codex.begin("::start notes.md\n\nfirst prompt")
    play.codex.say("look into it (tool)")
    play.codex.say(SEVERAL_LINES)
    (records,) = play.codex.rollouts()
    kept = []
    for record in records:
        item = record["payload"].get("item", {})
        if item.get("type") in ("UserMessage", "AgentMessage"):
            role = "user" if item["type"] == "UserMessage" else "assistant"
            kept.append((role, "".join(part["text"] for part in item["content"])))
    said = [
        ("user" if entry["event"] == "prompt" else "assistant", entry["text"])
        for entry in play.log()
        if "text" in entry
    ]
    assert kept == said
    assert len(kept) == 7

"""What holds for every format."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef, from_json, to_json
from katod.formatspec import FORMATS
from katod.model import Options
from katod.record.export import read_katod, render_all
from tests.examples import examples, mostly
from tests.golden.cases import GOLDEN, cases
from tests.support.anyevents import ANY_VALUES, conversations
from tests.support.records import SESSION, Claude, line
from tests.support.rendering import rendered

LINES = [name for name, spec in FORMATS.items() if spec.suffix.endswith(".jsonl")]
EVERY = pytest.mark.parametrize("name", FORMATS)
# Names only: katod's JSONL has no pictures.
OPTIONS = Options(time_zone="Europe/Berlin", tools="full", thinking=True, recorder="katod 1", span_content=True)
SECRET = "ghp_" + "x9YzQ2" * 6
MB = 1024 * 1024
# Prints the hash of a golden file in every format.
PROGRAM = """
import sys
from hashlib import sha256
from pathlib import Path
from katod.formatspec import FORMATS
from katod.model import Options
from katod.record.export import read_katod, render_all
path = Path(sys.argv[1])
for name in FORMATS:
    text = "".join(render_all(read_katod(path.read_bytes().splitlines(True), path), name, Options()))
    print(name, sha256(text.encode()).hexdigest())
"""
# Exports a file and prints the peak memory in KiB.
EXPORT = """
import sys
from katod.cli import main
try:
    main()
finally:
    print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")), file=sys.stderr)
"""


@pytest.mark.slow
def test_the_same_events_give_the_same_bytes_everywhere():
    """Whatever the time zone, the locale, and the order in which Python's sets are."""
    golden = str(GOLDEN / "claude" / "tool-kinds.jsonl")

    def printed(**environment: str) -> bytes:
        command = [sys.executable, "-c", PROGRAM, golden]
        return subprocess.run(command, env=dict(os.environ) | environment, capture_output=True, check=True).stdout

    here = printed(PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    assert here == printed(PYTHONHASHSEED="2", TZ="Asia/Tokyo", LC_ALL="C.UTF-8")
    assert [row.split()[0].decode() for row in here.splitlines()] == list(FORMATS)


@EVERY
@examples(3, 300)
@given(events=conversations())
def test_any_text_is_printed_as_valid_text(name, events):
    """It can be encoded; what is JSON can be parsed, line by line or as a whole."""
    text = rendered(name, events, OPTIONS)
    assert text.encode().decode() == text
    if name in LINES:
        rows = [json.loads(row) for row in text.split("\n")[:-1]]
        assert all(isinstance(row, dict) for row in rows)
        assert text.count("\n") == len(rows)
        assert name != "jsonl" or [row["id"] for row in rows] == [event.id for event in events]
    elif FORMATS[name].is_document:
        assert isinstance(json.loads(text), dict)


@EVERY
@examples(3, 300)
@given(events=conversations(), data=st.data())
def test_events_of_a_stranger_are_refused_or_printed(name, events, data):
    """A line of JSONL in which a field has any other value either is no event, or every format can print it."""
    rows = [to_json(event) for event in events]
    for row in rows:
        if row["payload"]:
            row["payload"][data.draw(st.sampled_from(sorted(row["payload"])))] = data.draw(ANY_VALUES)
    if any(left := [taken(row) for row in rows]):
        rendered(name, [event for some in left for event in some], OPTIONS)


def taken(row):
    """Return the event of a row, nothing if it is none."""
    try:
        return [from_json(row)]
    except (KeyError, TypeError):
        return []


def _filled(value):
    """Return a payload with a secret in each of its texts."""
    if isinstance(value, dict):
        return {key: _filled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner) for inner in value]
    return f"token {SECRET}" if isinstance(value, str) else value


PAYLOADS = {
    ev.USER_MESSAGE: {"text": "", "attachments": [{"type": "image", "name": "", "mediaType": ""}]},
    ev.USER_COMMAND: {"command": "", "options": [""], "line": ""},
    ev.DECISION_RESPONSE: {"decisionId": "", "selections": [""], "freeText": ""},
    ev.ASSISTANT_MESSAGE: {"text": ""},
    ev.ASSISTANT_THINKING: {"text": "", "subject": "", "encrypted": ""},
    ev.TOOL_CALL: {"toolCallId": "", "name": "", "family": "", "input": {"a": ["", {"b": ""}]}, "description": ""},
    ev.TOOL_RESULT: {"toolCallId": "", "text": "", "structured": {"files": [{"path": "", "change": "", "ranges": [[1, 2]]}]}},
    ev.DECISION_PROMPT: {"decisionId": "", "decisionKey": "", "prompt": "", "options": [{"label": "", "description": ""}]},
    ev.SYSTEM_MESSAGE: {"text": "", "subtype": ""},
    ev.PROVIDER_INFO: {"text": "", "data": {"a": ""}},
    ev.PROVIDER_RAW: {"rawType": "", "raw": {"a": [""]}},
    ev.SESSION_START: {"cwd": "", "branch": "", "commit": "", "cliVersion": "", "title": "", "repository": "", "modelProvider": ""},
    ev.SESSION_END: {"reason": ""},
    ev.TURN_START: {"number": 1},
    ev.TURN_END: {"reason": "done"},
    ev.USAGE: {"scope": "message", "output": 1},
    ev.COMPACTION: {"trigger": "", "summary": ""},
    ev.CONFIG_CHANGE: {"what": "model", "before": "", "after": ""},
    ev.ERROR: {"message": "", "code": ""},
    ev.AGENT_START: {"subagent": "a", "task": "", "model": ""},
    ev.AGENT_END: {"subagent": "a", "status": "", "result": ""},
    ev.RECEIPT: {"records": 1, "told": 0, "leftOut": {f"token {SECRET}": 1}, "notUnderstood": {}, "gaps": {}},
}  # fmt: skip


@EVERY
def test_no_format_prints_a_secret(name):
    """Wherever in an event it is; without redaction, it is shown."""
    assert set(PAYLOADS) == set(ev.KINDS)
    ref = SessionRef("claude", "s")
    events = [
        Event(f"claude:s:{n}:0", kind, ref, _filled(payload), {"providerEventType": "x"}, "2026-02-10T22:36:18Z", "recorded")
        for n, (kind, payload) in enumerate(PAYLOADS.items())
    ]  # fmt: skip
    assert SECRET not in rendered(name, events, OPTIONS)
    assert SECRET in rendered(name, events, replace(OPTIONS, redact=False))


# -- JSONL as a source ------------------------------------------------------------------------------


@cache
def _as_jsonl(case, redact):
    return (
        "".join(render_all(case.events(), "jsonl", replace(OPTIONS, redact=redact))).encode().splitlines(keepends=True)
    )


def _comparable(name, text):
    """Return a text without what katod's JSONL cannot say: pictures, and the id in the name of a session's file."""
    text = re.sub(r"<img [^>]*>|<p class=\"note\">image: [^<]*</p>", "", text) if name == "html" else text
    text = re.sub(r'"width":\d+,"height":\d+,|,"width":\d+,"height":\d+', "", text) if name == "matrix" else text
    text = re.sub(r"<p></p>\n|(?<=\n)\n", "", text) if name == "html" else text
    text = re.sub(r'^(\{"type":"session",)"id":"[^"]*",', r"\1", text) if name == "lifecycle" else text
    return re.sub(r"^session: .*\n", "", text, count=1, flags=re.MULTILINE) if name == "markdown" else text


OFTEN = {
    case
    for case in cases()
    if case.name in ("subagent", "plain-turn", "tool-kinds", "secrets", "revert", "document", "sub-agent")
}


# A fork is titled by the first words typed in it; which were only copied is not in the file.
UNFORKED = [case for case in cases() if str(case) != "zot/fork"]


@EVERY
@pytest.mark.parametrize("case", mostly(OFTEN, UNFORKED), ids=str)
def test_katods_jsonl_gives_the_same_exports_as_the_session(name, case):
    """Whether it was redacted when it was written, or is only now."""
    direct = "".join(render_all(case.events(), name, OPTIONS))
    for redact in (True, False):
        lines = _as_jsonl(case, redact)
        again = "".join(render_all(read_katod(lines, Path("x.jsonl")), name, OPTIONS))
        assert _comparable(name, again) == _comparable(name, direct)


def test_what_is_encrypted_stays_whole():
    """A part of it may look like a token; a token in its place is redacted."""
    sealed = "gAAAA" + SECRET + "-" * 30
    for text, is_kept in ((sealed, True), (SECRET, False)):
        event = Event(
            "claude:s:1:0", ev.ASSISTANT_THINKING, SessionRef("claude", "s"), {"text": SECRET, "encrypted": text}, {}
        )
        shown = rendered("jsonl", [event])
        assert (text in shown) == is_kept
        assert "[REDACTED:" in shown


# -- memory -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return a session of 200 MB: half of it words, half results of tools, some of them long."""
    make, path = Claude(), tmp_path_factory.mktemp("large") / f"{SESSION}.jsonl"
    with path.open("wb") as file:
        size, number = 0, 0
        while size < 200 * MB:
            number += 1
            call = f"t{number}"
            words = f"{number} " + "wörter über Wörter " * 300
            size += file.write(
                line(make.user(words)) + line(make.says(words)) + line(make.calls(call, "Bash", command="ls"))
            )
            size += file.write(line(make.result(call, words * (40 if number % 50 == 0 else 2))))
    return path


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Return a session of 60 MB of what grows elsewhere: lines of many files, calls without results, names of models."""
    make, path = Claude(), tmp_path_factory.mktemp("odd") / f"{SESSION}.jsonl"
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": [" a", "+b"]}
    with path.open("wb") as file:
        size, number = file.write(line(make.user("words"))), 0
        while size < 60 * MB:
            number += 1
            edits = [{"old_string": "x" * 1000, "new_string": "y" * 1000}] * 20
            size += file.write(line(make.calls(f"c{number}", "MultiEdit", file_path="/a", edits=edits)))
            call, name = f"t{number}", f"/home/me/app/{number % 1500}.py"
            extra = {"filePath": name, "structuredPatch": [hunk | {"newStart": at} for at in range(1, 400, 2)]}
            said = make.says("done")
            said["message"]["model"] = f"claude-{number}"
            size += file.write(
                line(said) + line(make.calls(call, "Edit", file_path=name, old_string="a", new_string="b"))
            )
            size += file.write(line(make.result(call, "ok", toolUseResult=extra)))
    return path


MEMORY = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")


@pytest.mark.slow
@MEMORY
@EVERY
def test_memory_stays_bounded_whatever_grows(name, odd, tmp_path):
    """The same holds for a session that is odd."""
    assert peak(name, odd, tmp_path) < 300 * MB


@pytest.mark.slow
@MEMORY
@EVERY
def test_memory_stays_bounded(name, large, tmp_path):
    """200 MB of source are exported within 300 MB; some formats say little of them, or of its edits only."""
    assert peak(name, large, tmp_path) < 300 * MB
    least = {"lifecycle": 2 * MB, "agent-trace": 100, "otlp": 2 * MB}.get(name, 50 * MB)
    assert (tmp_path / f"out{FORMATS[name].suffix}").stat().st_size > least


def peak(name, large, tmp_path):
    """Return how much memory an export takes, in bytes."""
    output = tmp_path / f"out{FORMATS[name].suffix}"
    command = [sys.executable, "-c", EXPORT, "export", str(large), "-f", name, "-o", str(output)]
    environment = dict(os.environ) | {"HOME": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:].decode()
    return int(done.stderr.split()[-1]) * 1024

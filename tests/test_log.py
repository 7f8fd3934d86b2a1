"""The log: every log event by name, and never any content."""

import ast
import inspect
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from unittest import mock

import pytest

import katod
from katod.log import LEVELS, EventLog, late_stderr_sink, stderr_sink
from tests.looping import each
from tests.modules import modules

ROOT = Path(katod.__file__).parent
METHODS = {name: method for name, method in vars(EventLog).items() if inspect.isfunction(method) and name[0] != "_"}
del METHODS["set_level"]  # the only one that logs nothing

# What a log line may contain: names of files, sessions and commands, reasons, numbers. No titles, no names that
# the user typed, no texts, no payloads.
FIELDS = {
    "path",
    "session",
    "output",
    "command",
    "mode",
    "reason",
    "problem",
    "change",
    "foreign",
    "sources",
    "baseline",
    "offset",
}
FIELDS |= {"files", "bytes", "size"}  # numbers, of what was saved from deletion
FIELDS |= {"to", "destination", "txn", "first", "last"}  # a kind of delivery, where to, and ids of events or spans
FIELDS |= {"count", "retry", "retry_seconds", "lines", "where"}


def calls(nodes):
    return [node for node in nodes if isinstance(node, ast.Call)]


def said(name):
    """Return the level, name and fields that a method of the log logs."""
    source = dedent(inspect.getsource(METHODS[name]))
    [call] = [
        c for c in calls(ast.walk(ast.parse(source))) if isinstance(c.func, ast.Attribute) and c.func.attr == "_emit"
    ]
    level, event = (argument.value for argument in call.args)
    return level, event, {keyword.arg for keyword in call.keywords}


class Written:
    """A log with a given level, and the lines that it wrote."""

    def __init__(self, level="debug"):
        self._stream = io.StringIO()
        with mock.patch("sys.stderr", self._stream):
            self.events = EventLog(stderr_sink(), level)

    @property
    def lines(self):
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]


@each("name", METHODS)
def test_every_event_has_a_name_and_a_level(name):
    """A method logs exactly one event, `thing.happened`, named like the method."""
    level, event, _ = said(name)
    assert level in LEVELS
    assert re.fullmatch(r"[a-z]+\.[a-z_]+", event)
    assert event.replace(".", "_") == name


def test_no_two_events_share_a_name():
    """The name in a log identifies the event."""
    names = [said(name)[1] for name in METHODS]
    assert len(set(names)) == len(names)


@each("name", METHODS)
def test_no_event_has_a_field_for_text(name):
    """No event has a field for session content."""
    parameters = set(inspect.signature(METHODS[name]).parameters) - {"self"}
    assert parameters | said(name)[2] <= FIELDS


@each("name", METHODS)
def test_every_event_is_explained(name):
    """The docstring of each method explains its event in one sentence."""
    assert (METHODS[name].__doc__ or "").strip().endswith(".")


@each("name", METHODS)
def test_event_is_logged_with_its_fields(name):
    """Calling a method writes one line with the event's name and fields."""
    log = Written()
    signature = inspect.signature(METHODS[name])
    given = {
        n: 1 if p.annotation in (int, float) else f"the {n}" for n, p in signature.parameters.items() if n != "self"
    }
    getattr(log.events, name)(**given)
    level, event, fields = said(name)
    [line] = log.lines
    assert (line["event"], line["level"]) == (event, level)
    assert set(line) == {"event", "level", "timestamp", *fields}


@pytest.mark.parametrize(("level", "logged"), [("debug", 3), ("info", 2), ("warning", 1), ("error", 0)])
def test_level_chooses_what_is_logged(level, logged):
    """Only events of at least the configured level are written."""
    log = Written(level)
    log.events.source_vanished("/a")
    log.events.daemon_stopped("SIGTERM")
    log.events.watch_lost("/a", "gone")
    assert len(log.lines) == logged


def test_the_level_can_change_while_the_log_is_open():
    """Reloading the settings takes effect at once."""
    log = Written("error")
    log.events.set_level("debug")
    log.events.source_vanished("/a")
    assert len(log.lines) == 1


def test_a_log_without_a_sink_says_nothing(capsys):
    """A log without a sink writes nothing, so commands can print their own output."""
    EventLog(level="debug").ledger_quarantined("/a", "damaged")
    assert capsys.readouterr() == ("", "")


def test_a_log_that_cannot_be_written_stops_nothing():
    """If the disk of the log is full, the line is lost but the daemon continues."""

    def full(*_):
        raise OSError(28, "No space left on device")

    EventLog(full, "debug").source_vanished("/a")


def test_line_breaks_cannot_begin_another_line():
    """A path with a line break in it stays on one line."""
    log = Written()
    log.events.source_vanished('/a\n{"event": "daemon.stopped"}')
    assert len(log.lines) == 1


# -- the rest of katod -------------------------------------------------------------------------------

TEXTS = {"payload", "text", "title", "raw", "words", "data", "line", "name", "value", "prompt"}


def nodes_elsewhere():
    """Return the syntax of every other module, by name."""
    return {name: module.nodes for name, module in modules().items() if name != "katod.log"}


@pytest.mark.form
def test_nothing_is_logged_past_the_event_log():
    """No other module logs or prints; the program's answers go through click and rich."""
    past = {}
    for name, nodes in nodes_elsewhere().items():
        named = {call.func.id for call in calls(nodes) if isinstance(call.func, ast.Name)} & {"print"}
        private = {call.func.attr for call in calls(nodes) if isinstance(call.func, ast.Attribute)} & {"_emit"}
        past |= {name: named | private} if named | private else {}
    assert past == {}


@pytest.mark.form
def test_every_event_is_used():
    """Every event is logged somewhere; one that is no longer used must be removed."""
    every = (node for nodes in nodes_elsewhere().values() for node in nodes)
    assert set(METHODS) <= {node.attr for node in every if isinstance(node, ast.Attribute)}


@pytest.mark.form
def test_no_call_of_the_event_log_is_given_a_text():
    """No call passes a text, title, payload or typed name to the log."""
    given = {
        f"{name}:{call.lineno}": texts
        for name, nodes in nodes_elsewhere().items()
        for call in calls(nodes)
        if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS and (texts := names_in(call) & TEXTS)
    }
    assert given == {}


def names_in(call):
    """Return the names and attributes in the arguments of a call."""
    nodes = [node for part in [*call.args, *(k.value for k in call.keywords)] for node in ast.walk(part)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute)} | {
        node.id for node in nodes if isinstance(node, ast.Name)
    }


def test_a_log_that_is_rarely_written_loads_nothing_before():
    """The same lines as otherwise; structlog is loaded with the first one."""
    stream = io.StringIO()
    with mock.patch("sys.stderr", stream), mock.patch("katod.log.stderr_sink", wraps=stderr_sink) as loaded:
        events = EventLog(late_stderr_sink())
        assert not loaded.called
        events.daemon_paused()
        events.daemon_resumed()
        assert loaded.call_count == 1
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["daemon.paused", "daemon.resumed"]


def test_the_log_of_a_daemon_takes_little_memory():
    """What structlog imports for others is not loaded; a module that needs it gets the real one."""
    code = (
        "import sys, rich.cells; from katod.log import stderr_sink; write = stderr_sink();"
        "write('info', 'daemon.started', {});"
        "assert not {'asyncio', 'rich.console', 'pygments', 'ssl'} & set(sys.modules), set(sys.modules);"
        "import asyncio, rich.console; assert asyncio.run and rich.console.Console"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, '"event": "daemon.started"' in done.stderr) == (0, True), done.stderr

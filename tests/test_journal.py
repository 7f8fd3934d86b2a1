"""The journal: every log event by name, and never a word of what was said."""

import ast
import inspect
import io
import json
import re
from pathlib import Path
from textwrap import dedent
from unittest import mock

import pytest
import structlog

import katod
from katod import journal
from katod.journal import LEVELS, Journal

ROOT = Path(katod.__file__).parent
METHODS = {name: method for name, method in vars(Journal).items() if inspect.isfunction(method) and name[0] != "_"}

# What a log line may hold: names of files, sessions and commands, reasons, numbers. No titles, no names that
# someone typed, no texts, no payloads.
FIELDS = {
    "path",
    "session",
    "output",
    "word",
    "mode",
    "reason",
    "problem",
    "change",
    "foreign",
    "sources",
    "baseline",
    "offset",
}
FIELDS |= {"count", "retry", "retry_seconds", "lines"}


def calls(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def said(name):
    """The level, name and fields that a method of the journal logs."""
    source = dedent(inspect.getsource(METHODS[name]))
    [call] = [c for c in calls(ast.parse(source)) if isinstance(c.func, ast.Attribute) and c.func.attr == "_say"]
    level, event = (argument.value for argument in call.args)
    return level, event, {keyword.arg for keyword in call.keywords}


class Log:
    """What is logged while it is in use, one object a line."""

    def __init__(self):
        self._stream = io.StringIO()

    def at(self, level):
        with mock.patch("sys.stderr", self._stream):
            journal.configure(level)

    @property
    def lines(self):
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]


@pytest.fixture
def log():
    before = structlog.get_config()
    log = Log()
    log.at("debug")
    yield log
    structlog.configure(**before)


@pytest.mark.parametrize("name", METHODS)
def test_every_event_has_a_name_and_a_level(name):
    """A method logs exactly one event, `thing.happened`, named like the method."""
    level, event, _ = said(name)
    assert level in LEVELS
    assert re.fullmatch(r"[a-z]+\.[a-z_]+", event)
    assert event.replace(".", "_") == name


def test_no_two_events_share_a_name():
    """A name in a log says which event it was."""
    names = [said(name)[1] for name in METHODS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", METHODS)
def test_no_event_has_a_field_for_text(name):
    """No event takes a field that could hold what was said."""
    parameters = set(inspect.signature(METHODS[name]).parameters) - {"self"}
    assert parameters | said(name)[2] <= FIELDS


@pytest.mark.parametrize("name", METHODS)
def test_every_event_is_explained(name):
    """What an event means stands in one sentence at its method."""
    assert (METHODS[name].__doc__ or "").strip().endswith(".")


@pytest.mark.parametrize("name", METHODS)
def test_event_is_logged_with_its_fields_and_counted(name, log):
    """Calling a method writes one line with its name and fields, and counts it for the status."""
    events = Journal()
    signature = inspect.signature(METHODS[name])
    given = {
        n: 1 if p.annotation in (int, float) else f"the {n}" for n, p in signature.parameters.items() if n != "self"
    }
    getattr(events, name)(**given)
    level, event, fields = said(name)
    [line] = log.lines
    assert (line["event"], line["level"]) == (event, level)
    assert set(line) == {"event", "level", "timestamp", *fields}
    assert events.counts == {event: 1}


def test_counts_add_up(log):
    """The status tells how often a thing happened since the start."""
    events = Journal()
    for _ in range(3):
        events.source_vanished("/a")
    assert (events.counts["source.vanished"], len(log.lines)) == (3, 3)


@pytest.mark.parametrize(("level", "logged"), [("debug", 3), ("info", 2), ("warning", 1), ("error", 0)])
def test_level_chooses_what_is_logged(level, logged, log):
    """Only what is as grave as the configured level is written; all of it is counted."""
    log.at(level)
    events = Journal()
    events.source_vanished("/a")
    events.daemon_stopped("SIGTERM")
    events.watch_lost("/a", "gone")
    assert len(log.lines) == logged
    assert events.counts.total() == 3


def test_quiet_journal_says_nothing(log):
    """A command whose output is its answer logs nothing beside it."""
    with mock.patch("sys.stderr", log._stream):
        journal.quiet()
    Journal().ledger_set_aside("/a", "damaged")
    assert log.lines == []


def test_line_breaks_cannot_begin_another_line(log):
    """A path with a line break in it stays within its line."""
    Journal().source_vanished('/a\n{"event": "daemon.stopped"}')
    assert len(log.lines) == 1


# -- the rest of katod -------------------------------------------------------------------------------

SOURCES = sorted(path for path in ROOT.rglob("*.py") if path.name != "journal.py")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_logged_past_the_journal(path):
    """No other module logs or prints; the program's answers go through click and rich."""
    tree = ast.parse(path.read_text())
    named = {call.func.id for call in calls(tree) if isinstance(call.func, ast.Name)}
    private = {call.func.attr for call in calls(tree) if isinstance(call.func, ast.Attribute)} & {"_say", "_log"}
    assert "print" not in named
    assert not private


def test_every_event_is_used():
    """An event that nobody logs any more is taken out of the journal."""
    attributes = {
        node.attr
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    assert set(METHODS) <= attributes


TEXTS = {"payload", "text", "title", "raw", "words", "data", "line", "name", "value", "prompt"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_call_of_the_journal_is_given_a_text(path):
    """Wherever something is logged, what is handed over is no text, title, payload or typed name."""
    for call in calls(ast.parse(path.read_text())):
        if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
            given = [n for a in [*call.args, *(k.value for k in call.keywords)] for n in ast.walk(a)]
            names = {n.attr for n in given if isinstance(n, ast.Attribute)} | {
                n.id for n in given if isinstance(n, ast.Name)
            }
            assert not names & TEXTS, f"{path.name}:{call.lineno}"

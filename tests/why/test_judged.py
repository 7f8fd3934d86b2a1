"""Lines that were judged by hand: see README.md."""

import json
import os
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from katod import events as ev
from katod.discover.found import FoundSession
from katod.log import EventLog
from katod.model import Identity, SessionKey, Stat
from katod.record.export import Stretch, replay
from katod.why.blame import blame
from katod.why.collect import EditCollector
from katod.why.git import Repository
from katod.why.target import file_in_commit

CORPUS = Path(os.environ.get("KATOD_CORPUS", "../shared/corpus")) / "why"
JUDGED = Path(__file__).with_name("judged.jsonl")
AGENTS = {"prsui": "pi", "cipher-box": "claude"}
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus with histories here")]


@cache
def sessions(name):
    """Return the sessions that worked on a repository."""
    found = []
    for path in sorted((CORPUS / name / "sessions").glob("*.jsonl")):
        session = FoundSession(SessionKey(AGENTS[name], path.stem))
        session.files.append((str(path), Identity(session.key), Stat(0, 0, 0, 0)))
        found.append(session)
    return found


@cache
def calls(name):
    """Return the agents' own ids of calls, by the ids of their events."""
    stretches = ((one.key, [Stretch(path, identity) for path, identity, _ in one.files]) for one in sessions(name))
    events = (event for key, files in stretches for event, _ in replay(key, files, EventLog()))
    return {event.id: event.payload["toolCallId"] for event in events if event.kind == ev.TOOL_CALL}


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    """Return the repositories, each in a folder of its name."""
    folder = tmp_path_factory.mktemp("why")
    for name in AGENTS:
        bundle = str((CORPUS / name / "repository.bundle").resolve())
        subprocess.run(
            ["git", "clone", "-q", "-b", "main", bundle, str(folder / name)], check=True, capture_output=True
        )
    return {name: Repository(folder / name) for name in AGENTS}


def verdicts(repositories):
    """Yield what is right about each judged line, and what is said of it: an id of a call, or nothing."""
    for text in JUDGED.read_text().splitlines():
        row = json.loads(text)
        name = row["repository"]
        file = file_in_commit(repositories[name], row["path"], row["commit"])
        edits = EditCollector([file], None)
        edits.found(sessions(name))
        rows = blame(file, edits.edits(0), edits.hasher)
        for number, right in row["lines"].items():
            cause = rows[int(number) - 1].cause
            said = f"{cause.session.id}/{calls(name)[cause.call]}" if cause else ""
            yield right, said


def test_nothing_wrong_is_said_and_nearly_all_is_found(repositories):
    """Of 400 lines: what is said is right, and of nine in ten lines that a recorded edit wrote it is said."""
    found = Counter()
    for right, said in verdicts(repositories):
        found["wrong"] += bool(said) and said not in right
        if any(right):
            found["written"] += 1
            found["said"] += bool(said)
    assert found["wrong"] == 0
    assert found["said"] >= 0.9 * found["written"], found

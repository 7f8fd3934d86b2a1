"""Attributed lines for programs."""

from hashlib import sha256

from katod.edits.edits import Cause
from katod.model import SessionKey
from katod.why.blame import Run
from katod.why.explain import Explained
from katod.why.rows import LineOrigin
from katod.why.shown import call_name, page_of, porcelain, run_row, trace
from tests.formats.schemas import schema

CAUSE = Cause(SessionKey("claude", "s"), "e1", "p1", "", "2026-01-01T00:00:01Z")
KNOWN = Run(2, 3, LineOrigin(CAUSE, "followed"))
WHY = Explained("A title", "please do it\nnow", "")


def test_a_run_is_an_object_with_what_is_known():
    """What is unknown has no such keys."""
    assert run_row("a", Run(1, 1, None), None) == {"file": "a", "first": 1, "last": 1, "status": "unknown"}
    assert run_row("a", KNOWN, WHY) == {
        "file": "a", "first": 2, "last": 3, "status": "followed", "agent": "claude", "session": "claude:s", "title": "A title",
        "time": "2026-01-01T00:00:01Z", "call": "e1", "page": page_of(KNOWN.origin.cause, WHY), "prompt": {"event": "p1", "text": "please do it\nnow"},
    }  # fmt: skip


def test_porcelain_is_that_of_git_blame():
    """Each call is described once, however many runs it has; each line follows its number."""
    again = KNOWN._replace(first=4, last=4)
    found = list(porcelain("a", ["x", "y", "z", ""], [(Run(1, 1, None), None), (KNOWN, WHY), (again, WHY)]))
    name = call_name(KNOWN.origin)
    assert [line for line in found if line.startswith((name, "0" * 40, "\t"))] == [
        f"{'0' * 40} 1 1 1", "\tx", f"{name} 2 2 2", "\ty", f"{name} 3 3", "\tz", f"{name} 4 4 1", "\t",
    ]  # fmt: skip
    assert found.count("summary please do it") == 1
    assert "author-time 1767225601" in found
    assert "author-mail <claude:s>" in found


def test_a_trace_names_models_and_says_what_is_unknown():
    """With a hash of the lines, so that a range is found wherever it is; valid by the schema."""
    model = KNOWN._replace(origin=LineOrigin(CAUSE._replace(model="claude-opus-4-6"), "exact"))
    made = trace([("a", ["x", "y", "z"], [Run(1, 1, None), model])], "0123abc", "1.0")
    assert [error.message for error in schema("agent-trace").iter_errors(made)] == []
    unknown, known = made["files"][0]["conversations"]
    assert unknown["contributor"] == {"type": "unknown"}
    assert known["contributor"] == {"type": "ai", "model_id": "anthropic/claude-opus-4-6"}
    assert known["ranges"] == [
        {"start_line": 2, "end_line": 3, "content_hash": f"sha256:{sha256(b'y' + bytes([10]) + b'z').hexdigest()}"}
    ]
    assert made["timestamp"] == "2026-01-01T00:00:01Z"
    assert "vcs" not in trace([], "", "1.0")

"""Echoes in real sessions: only what a client wrote again is left out, and nothing that a person typed again."""

from pathlib import Path
from typing import Final

import pytest

from katod import events as ev
from katod.agents.sniffing import sniff
from katod.agents.spec import AgentSpec
from katod.log import EventLog
from katod.model import Cursor
from katod.record.echo import Passed
from katod.record.export import Stretch
from katod.record.stream import LocalDedup, SessionStream
from tests.oracle.corpus import corpus_folder

_SAYING: Final = {ev.USER_MESSAGE, ev.USER_COMMAND, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL}
# A fork of a legacy Codex thread, and Gemini CLI after refused permissions.
WRITTEN_AGAIN: Final = {"codex/1-6_checkpoint-rewind": 4, "gemini-cancel.jsonl": 48}
# In these a person typed the first words of the session again, and got the same answer.
TYPED_AGAIN: Final = ("1-2_session-end", "regression-16-ask-user-question", "5-1_token-accounting")


class Noting(SessionStream):
    """A stream that counts what is left out as an echo."""

    left_out = 0

    def _passed(self, passed, source, seen):  # type: ignore[no-untyped-def]
        passed = list(passed)
        self.left_out += sum(one.is_echo and one.event.kind in _SAYING for one in passed if isinstance(one, Passed))
        return super()._passed(passed, source, seen)


def left_out(path: Path, spec: AgentSpec) -> int:
    """Return how much of a session is left out as an echo."""
    identity = spec.named(path)
    stream, source, cursor = Noting(identity.key, LocalDedup(), EventLog()), Stretch(str(path), identity), Cursor()
    with spec.open(str(path)) as file:
        while True:
            batch = file.read(cursor, 1 << 22)
            list(stream.events(source, batch.lines))
            cursor = batch.cursor
            if not batch.more:
                break
        list(stream.rest(source, file.rest(cursor.offset)))
    list(stream.settle(source))
    return stream.left_out


def sessions(*folders: str) -> list[Path]:
    """Return the files below these folders of real sessions."""
    return [path for folder in folders for path in sorted((corpus_folder() / folder).rglob("*.jsonl"))]


def check(paths: list[Path]) -> None:
    """Check that only what was written again is left out."""
    found = {str(path): left_out(path, spec) for path in paths if (spec := sniff(path)) is not None}
    wrong = {path: count for path, count in found.items() if count != expected(path)}
    assert wrong == {}


def expected(path: str) -> int:
    """Return how much of a session is an echo."""
    return next((count for name, count in WRITTEN_AGAIN.items() if name in path), 0)


def test_what_people_typed_again_is_kept() -> None:
    """Real people typed the first words of a session again, and got the same answer to them."""
    paths = [path for path in sessions("irrlicht") if any(name in str(path) for name in TYPED_AGAIN)]
    if not paths:
        pytest.skip("KATOD_CORPUS has no recordings of people at work")
    check(paths)


@pytest.mark.slow
def test_nothing_else_is_left_out_of_any_real_session() -> None:
    """All real sessions of all agents: only a client that wrote its history again is left out."""
    check(sessions("claude", "codex", "copilot", "cursor", "gemini", "opencode", "irrlicht", "newest", "repro"))

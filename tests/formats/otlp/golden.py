"""The spans of one session, as they are expected: two sub-agents, of which one works on in the background."""

from typing import Final

from katod.model import Options
from katod.record.export import render_all
from tests.golden.cases import cases
from tests.golden.facts import FACTS

GOLDEN: Final = FACTS / "spans.otlp.jsonl"
_OPTIONS: Final = Options(recorder="katod 0")


def text() -> bytes:
    """Return the spans."""
    [case] = [case for case in cases() if str(case) == "claude/subagent"]
    return "".join(render_all(case.events(), "otlp", _OPTIONS)).encode()

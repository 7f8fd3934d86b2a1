"""One fuzz target per agent, and one from bytes to records: `python -m tests.fuzz NAME [-runs=N] [FOLDER …]`.

Fuzzing is guided by coverage; options and seed folders are those of libFuzzer. Any exception ends it with a crash.
The target of an agent takes lines, translates them, and renders the events in every format.
"""

import sys
from itertools import chain
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["katod"]):
    from katod.agents import AGENTS
    from katod.agents.base import Origin
    from katod.formatspec import FORMATS
    from katod.log import EventLog
    from katod.metadata import SessionMetadata
    from katod.model import Identity, Line, Options, SessionKey
    from katod.record.translation import Translation
    from katod.tail.decode import decode, frame
    from tests.support.rendering import Rendering

FULL = Options(tools="full", thinking=True, subagents=True)


def records(data: bytes) -> None:
    """Read any bytes as lines and records; lines are contiguous and cover all bytes up to the last newline."""
    lines = frame(data, 0)
    assert [line.offset for line in lines] == [0, *(line.end for line in lines)][:-1]
    assert (lines[-1].end if lines else 0) == data.rfind(b"\n") + 1
    for line in lines:
        for record in decode(line):
            assert record.value is not None or record.problem


class Agent:
    """Feeds lines to an agent's adapter, with a restart in the middle, and renders the events."""

    def __init__(self, agent: str) -> None:
        self.identity = Identity(SessionKey(agent, "s"))

    def __call__(self, data: bytes) -> None:
        """Read the bytes as a session file."""
        origin = Origin(self.identity, Path("/nowhere/s.jsonl"))
        metadata = SessionMetadata(self.identity.key)
        renderings = [Rendering(name, options) for name in FORMATS for options in (Options(), FULL)]
        translation = Translation(origin, metadata, EventLog())
        is_document = data[:2] in (b"{\n", b"{\r")
        lines = [Line(0, len(data), data)] if is_document else frame(data + b"\n", 0)
        for part in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
            for event in chain.from_iterable(translation.feed(part)):
                metadata.observe(event)
                for rendering in renderings:
                    rendering.take(event, metadata)
                metadata.close(event)
            translation = Translation(origin, metadata, EventLog(), translation.state())
        translation.finish()
        for rendering in renderings if metadata.last else ():
            rendering.text(metadata).encode()


TARGETS = {"records": records} | {agent: Agent(agent) for agent in sorted(AGENTS)}


def main() -> None:
    """Run one target."""
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

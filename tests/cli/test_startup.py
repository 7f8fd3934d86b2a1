"""What a command loads that finds nothing: a person waits for each module."""

import subprocess
import sys

import pytest

# What translates, prints, redacts or records: a command that only lists or finds nothing needs none of it.
HEAVY = (
    "katod.agents.base",
    "katod.agents.claude.adapter",
    "katod.archive.archived",
    "katod.command.grammar",
    "katod.formats.redact.engine",
    "katod.formats.transcript",
    "katod.pipeline",
    "katod.record.stream",
    "katod.search.outputs",
    "katod.tail.reader",
)


@pytest.mark.parametrize("command", ["status", "sessions", "search word"])
def test_a_command_that_finds_nothing_loads_nothing_that_translates(world, command):
    """In an empty home, with all defaults."""
    code = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules))\n"
        f"from katod.__main__ import main; sys.argv = ['katod', *{command.split()}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=world.environment, capture_output=True, check=False)
    loaded = done.stdout.decode().split()
    assert "katod.cli.context" in loaded, done.stderr.decode()
    assert not {name for name in loaded if name.startswith(HEAVY)}

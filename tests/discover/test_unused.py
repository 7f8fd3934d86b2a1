"""Agents that nobody uses: what it costs that katod knows them."""

import subprocess
import sys
from pathlib import Path

import pytest

from katod.agents import AGENTS
from tests.support.live import permitted
from tests.support.world import World

USED = ("claude", "codex")
MOST = 6  # calls of the system for each root of an agent that is not used, at a start


def calls(world: World, path: Path) -> int:
    """Return how many calls of the system name something in the home while everything is processed once."""
    command = ["strace", "-f", "-qq", "-o", str(path), sys.executable, "-m", "katod", "run", "--once"]
    subprocess.run(command, env=world.environment, cwd=world.home, check=True, capture_output=True)
    return sum(1 for line in path.read_text(errors="replace").splitlines() if str(world.home) in line)


@pytest.mark.slow
def test_a_start_asks_next_to_nothing_of_agents_that_are_not_used(tmp_path: Path) -> None:
    """On a machine with two agents, a start beside which all others are known takes few calls more than one without them."""
    permitted(("strace", "-o", "/dev/null"), "strace cannot trace here")
    counts, roots = [], 0
    for off in (set(AGENTS) - set(USED), set()):
        world = World(tmp_path / f"{len(off)}", seen_empty=False)
        for number in range(1, 11):
            for agent in USED:
                session = world.session(number, agent)
                session.append(session.user("hello"), session.says("hi"))
        world.config.write_text("".join(f"[agents.{agent}]\nenabled = false\n" for agent in sorted(off)))
        world.once()
        counts.append(calls(world, tmp_path / f"{len(off)}.txt"))
        roots = roots or sum(len(AGENTS[agent].roots()) for agent in off)
    assert counts[1] - counts[0] <= MOST * roots, counts

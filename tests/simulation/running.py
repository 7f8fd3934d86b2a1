"""Plays plans, and shortens those that fail."""

import re
import tempfile
import time
import traceback
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from tests.support.world import MEMORY, World

from .episode import Episode, draw_plan

BEGIN = 1_800_000_000  # what the clock says when a plan begins, so that it is the same each time


class Outcome(NamedTuple):
    """How a plan ended: what is wrong, after how many steps, with how many kills; and the plan up to there."""

    wrong: list
    steps: int
    kills: int
    plan: list


def task(given):
    """Play the plan of a seed."""
    seed, length = given
    return played(draw_plan(seed, length))


def played(plan):
    """Play a plan in a world of its own."""
    with tempfile.TemporaryDirectory(prefix="katod-", dir=MEMORY) as folder, pytest.MonkeyPatch.context() as patch:
        with (
            mock.patch.object(time, "time", return_value=BEGIN),
            mock.patch.object(time, "time_ns", return_value=BEGIN * 10**9),
        ):
            episode = Episode(World(Path(folder) / "home", patch), BEGIN)
        try:
            wrong, steps = episode.play(plan)
        except Exception:  # noqa: BLE001 - whatever it is, it is what is wrong
            wrong, steps = [traceback.format_exc()], episode.steps
    return Outcome([str(row).replace(folder, "") for row in wrong], steps, episode.kills, plan[:steps])


def failure(plan):
    """Return what is wrong after a plan, and the plan up to where that was seen."""
    found = played(plan)
    return found.wrong, found.plan


def _shape(wrong):
    """Return what failures have in common, whatever their names and numbers."""
    return {re.sub(r"\[.*?\]|[0-9a-f]+", "", row.rpartition("\n  File ")[2]) for row in wrong}


def shortened(plan, most=400):
    """Return a plan that fails like another one, without what is not needed for that, after so many tries at most."""
    shape = _shape(failure(plan)[0])
    tries, size = 0, max(1, len(plan) // 2)
    while size and tries < most:
        at, before = 0, len(plan)
        while at < len(plan) and tries < most:
            fewer, tries = plan[:at] + plan[at + size :], tries + 1
            wrong, rest = failure(fewer)
            if _shape(wrong) & shape:
                plan = rest if len(rest) <= len(fewer) else fewer
            else:
                at += size
        size = size // 2 if size > 1 or len(plan) == before else 1
    return plan

"""Anything that can happen, drawn from one seed, and whether every promise holds after it."""

import json
import os
import subprocess
import sys

import pytest

from tests.faults.table import note
from tests.support.world import SOURCE

from . import running
from .defects import DEFECTS
from .episode import WEIGHTS, draw_plan

SEED = os.environ.get("KATOD_SIMULATION_SEED", "e")
LENGTH = 400


def played(seed, count):
    """Play so many plans of a seed; return how many steps and kills there were."""
    steps = kills = 0
    for number in range(count):
        name = f"{seed}-{number}"
        found = running.task((name, LENGTH))
        again = f"python -m tests.simulation --seed {seed} --length {LENGTH} --steps {LENGTH * count}"
        assert not found.wrong, "\n".join([f"{name}, after {found.steps} steps: `{again}`", *found.wrong])
        steps, kills = steps + found.steps, kills + found.kills
    return steps, kills


@pytest.mark.fault("any operations, in any order")
def test_whatever_happens_no_promise_is_broken():
    """Of each session everything is written once and in order, where it was recorded, and nothing else is."""
    assert played("default", 2)[0] == 2 * LENGTH


@pytest.mark.slow
@pytest.mark.longest(900)
@pytest.mark.fault("any operations, in any order")
def test_whatever_happens_in_many_plans_no_promise_is_broken(request):
    """The same, with more plans, or with those of another seed."""
    steps, kills = played(SEED, int(os.environ.get("KATOD_SIMULATION_PLANS", "36")))
    note(request.node.nodeid, kills, f"{steps:,} steps of all that can happen, from one seed, with {kills:,} kills.")


def test_a_plan_is_played_again_without_a_part_of_it():
    """Each step has a seed of its own, so that a failure can be made short."""
    plan = draw_plan("x", 60)
    assert {kind for kind, _ in plan} <= set(WEIGHTS)
    stored = json.loads(json.dumps(plan))
    first, again = running.played(plan), running.played(stored)
    assert (first.wrong, first.steps, first.kills) == (again.wrong, again.steps, again.kills)
    assert running.played(stored[::2]).wrong == []


@pytest.mark.form
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_can_be_put_back(name):
    """Its text stands in the source once: what is changed there is changed here."""
    defect = DEFECTS[name]
    assert defect.path.read_text().count(defect.text) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["echoes", "intent"])
def test_a_defect_that_katod_had_is_found(name):
    """The simulation would have found it; `python -m tests.simulation --defect NAME` has the others."""
    command = [sys.executable, "-m", "tests.simulation", "--defect", name, "--steps", "20000", "--no-short"]
    done = subprocess.run(command, cwd=SOURCE, capture_output=True, timeout=280, check=False)
    assert done.returncode == 1, done.stderr.decode()[-2000:]

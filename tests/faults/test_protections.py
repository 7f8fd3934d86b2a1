"""Every test of a fault was seen to fail: here each protection is taken out of a copy of katod, and its tests run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .protections import PROTECTIONS
from .table import collected, node

HERE = Path(__file__).parents[2]
FAILED = 1  # pytest's exit code for tests that failed; errors of the run itself have others


PYTEST = (sys.executable, "-m", "pytest", "-x", "-m", "", "-p", "no:cacheprovider", "--hypothesis-profile=unshrunk")
CASES = [pytest.param(p, test, id=f"{p.name}-{test.rpartition('/')[2]}") for p in PROTECTIONS for test in p.tests]


@pytest.mark.slow
@pytest.mark.parametrize(("protection", "test"), CASES)
def test_without_its_protection_a_test_fails(tmp_path, protection, test):
    """In a copy of katod without this piece of code the test fails: it would notice if the behaviour broke."""
    for name in ("katod", "tests", "config", "fixtures"):
        shutil.copytree(HERE / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "pyproject.toml", tmp_path)
    module = tmp_path / protection.module
    module.write_text(module.read_text().replace(protection.old, protection.new))
    environment = {
        name: value for name, value in os.environ.items() if name not in ("KATOD_UPDATE", "KATOD_MOST_SKIPS")
    }
    done = subprocess.run(
        [*PYTEST, test],
        cwd=tmp_path,
        env=environment | {"KATOD_PATIENCE": "5"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == FAILED, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("protection", PROTECTIONS, ids=lambda protection: protection.name)
def test_a_protection_stands_where_it_is_said_to(protection):
    """Its piece of code is there, once: if not, it has moved, and its entry has to follow."""
    assert (HERE / protection.module).read_text().count(protection.old) == 1


def test_every_test_of_a_fault_has_a_protection():
    """Whatever the table of faults names was seen to fail."""
    covered = {test for protection in PROTECTIONS for test in protection.tests}
    shown = {node(item) for item in collected()}
    assert {test for test in shown if test not in covered and test.partition("::")[0] not in covered} == set()

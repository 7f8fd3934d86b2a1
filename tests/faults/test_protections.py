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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protection", "test"),
    [pytest.param(p, test, id=f"{p.name}-{test.rpartition('/')[2]}") for p in PROTECTIONS for test in p.tests],
)
def test_without_its_protection_a_test_fails(tmp_path, protection, test):
    """In a copy of katod without this piece of code the test fails: it would notice if the behaviour broke."""
    for name in ("katod", "tests", "config", "fixtures", "pyproject.toml"):
        source = HERE / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name, **({"ignore": shutil.ignore_patterns("__pycache__")} if source.is_dir() else {}))
    module = tmp_path / protection.module
    content = module.read_text()
    assert content.count(protection.old) == 1, "the protection stands elsewhere now: mend protections.py"
    module.write_text(content.replace(protection.old, protection.new))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-m",
        "",
        "-p",
        "no:cacheprovider",
        "--hypothesis-profile=unshrunk",
        test,
    ]
    environment = {
        name: value for name, value in os.environ.items() if name not in ("KATOD_UPDATE", "KATOD_MOST_SKIPS")
    }
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment | {"KATOD_PATIENCE": "5"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == FAILED, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.slow
def test_every_test_of_a_fault_has_a_protection():
    """Whatever the README's table names was seen to fail."""
    shown = {node(item) for item in collected()}
    covered = {test for protection in PROTECTIONS for test in protection.tests}
    known = {
        test
        for test in shown
        if test in covered or test.partition("::")[0] in covered or test.rpartition("::")[0] in covered
    }
    assert shown - known == set()

"""Runs every fuzz target for a bounded number of runs, with the fixtures as seeds."""

import importlib.util
import shutil
import subprocess
import sys

import pytest

from tests.golden.cases import AGENTS, FIXTURES
from tests.golden.hostile import HOSTILE

RUNS = 300
LONGEST = 20_000  # bytes of a seed and of an input


@pytest.mark.slow
@pytest.mark.fault("hostile record")
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed (the extra `fuzz`)")
@pytest.mark.parametrize("target", ["records", *AGENTS])
def test_nothing_that_the_fuzzer_finds_raises(tmp_path, target):
    """No input found by coverage-guided fuzzing makes decoding, an adapter or a format raise or time out."""
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    for folder in (FIXTURES / target, HOSTILE) if target in AGENTS else (HOSTILE,):
        for number, path in enumerate(sorted(folder.rglob("*.json*"))):
            if path.stat().st_size <= LONGEST:
                shutil.copy(path, seeds / f"{folder.name}-{number}")
    options = [f"-runs={RUNS}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=1000", "-verbosity=0"]
    command = [sys.executable, "-m", "tests.fuzz", target, *options, f"-artifact_prefix={tmp_path}/", str(seeds)]
    done = subprocess.run(command, cwd=FIXTURES.parent, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:].decode(errors="replace")

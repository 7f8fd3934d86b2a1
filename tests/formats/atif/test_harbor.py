"""What Harbor's own validator says of trajectories of real sessions. It is in an environment of its own.

KATOD_HARBOR names a Python that has `harbor`, so that it is not installed for the run; it needs Python 3.12.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.formats.atif.test_document import exported
from tests.oracle.corpus import corpus_folder, corpus_sources
from tests.oracle.sample import sample

pytestmark = pytest.mark.slow
# Gets files; prints what is wrong with them, and how many it has read.
VALIDATE = """
import sys
from harbor.utils.trajectory_validator import TrajectoryValidator

for path in sys.argv[1:]:
    validator = TrajectoryValidator()
    if not validator.validate(path, validate_images=False):
        print(path, *validator.errors[:3])
print("read", len(sys.argv) - 1)
"""


@pytest.fixture(scope="module")
def harbor(tmp_path_factory):
    """Return the interpreter of an environment with Harbor."""
    if named := os.environ.get("KATOD_HARBOR"):
        return Path(named)
    if sys.version_info < (3, 12):
        pytest.skip("Harbor needs Python 3.12: KATOD_HARBOR names none")
    folder = tmp_path_factory.mktemp("harbor")
    venv.create(folder, with_pip=True)
    done = subprocess.run(
        [folder / "bin/pip", "install", "-q", "harbor"], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.skip(f"Harbor cannot be installed here: {done.stderr[-200:]}")
    return folder / "bin/python"


def said(harbor, *paths):
    """Return the lines that the validator prints about files."""
    command = [harbor, "-I", "-c", VALIDATE, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(not corpus_sources(), reason=f"there are no real sessions in {corpus_folder()}")
@pytest.mark.parametrize("name", ["atif", "atif-1.8"])
def test_harbor_takes_real_sessions_of_every_agent(harbor, tmp_path, name):
    """Some of each, in both versions; a session in which nobody said anything has no steps, and is refused."""
    paths = []
    for number, source in enumerate(sample()):
        if (text := exported(source, name)) and '"steps":[\n]' not in text:
            paths.append(tmp_path / f"{number}-{source.agent}.json")
            paths[-1].write_text(text)
    assert len(paths) >= 60
    assert said(harbor, *paths) == [f"read {len(paths)}"]


def test_harbor_refuses_what_is_no_trajectory(harbor, tmp_path):
    """So that what it takes says something."""
    path = tmp_path / "wrong.json"
    path.write_text('{"schema_version":"ATIF-v1.7","steps":[]}')
    assert len(said(harbor, path)) > 1

"""The workflows for forges: `packaging/release.yml` and `packaging/check.yml`."""

import re
import subprocess

import pytest

from tests.documents import ROOT

RELEASE = (ROOT / "packaging/release.yml").read_text()
CHECK = (ROOT / "packaging/check.yml").read_text()
WORKFLOWS = pytest.mark.parametrize("text", [RELEASE, CHECK], ids=["release", "check"])


def granted(text: str) -> dict[str, set[str]]:
    """Return the permissions of each job of a workflow."""
    jobs = re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.partition("jobs:\n")[2], re.MULTILINE)
    return {name: set(re.findall(r"^      ([a-z-]+: (?:read|write))", job, re.MULTILINE)) for name, job in jobs}


@WORKFLOWS
def test_every_action_is_pinned_by_a_commit(text: str) -> None:
    """A tag can be moved, a hash cannot; the version is a comment."""
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []


@WORKFLOWS
def test_no_job_has_permissions_by_default(text: str) -> None:
    """Each job has only the permissions that it names."""
    assert re.search(r"^permissions: \{\}$", text, re.MULTILINE)


def test_only_two_jobs_of_a_release_may_get_an_identity() -> None:
    """No job writes anything but attestations, and only two may get an identity: the one that attests and publishes."""
    assert granted(RELEASE) == {
        "build": {"contents: read"},
        "test": set(),
        "attest": {"id-token: write", "attestations: write"},
        "publish": {"id-token: write"},
    }


def test_a_check_only_reads() -> None:
    """A push runs the quick checks, and each night runs all of them; neither job writes anything."""
    assert granted(CHECK) == {"quick": {"contents: read"}, "whole": {"contents: read"}}
    assert re.findall(r"run: (\.ci/run.*)", CHECK) == [".ci/run quick", ".ci/run"]


def test_ci_knows_its_modes() -> None:
    """Any argument but `quick` is wrong usage, before anything is done."""
    done = subprocess.run([ROOT / ".ci/run", "quik"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"usage: {ROOT / '.ci/run'} [quick]\n")

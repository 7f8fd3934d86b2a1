"""The release workflow: `packaging/release.yml`."""

import re

from tests.documents import ROOT

TEXT = (ROOT / "packaging/release.yml").read_text()


def test_every_action_is_pinned_by_a_commit() -> None:
    """A tag can be moved, a hash cannot; the version is a comment."""
    used = re.findall(r"uses: (.*)", TEXT)
    assert used
    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)] == []


def test_each_job_has_only_the_permissions_that_it_names() -> None:
    """No job writes anything but attestations, and only two may get an identity: the one that attests and publishes."""
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", TEXT.partition("jobs:\n")[2], re.MULTILINE))
    granted = {
        name: set(re.findall(r"^      ([a-z-]+): (?:read|write)", job, re.MULTILINE)) for name, job in jobs.items()
    }
    assert re.search(r"^permissions: \{\}$", TEXT, re.MULTILINE)
    assert granted == {
        "build": {"contents"},
        "test": set(),
        "attest": {"id-token", "attestations"},
        "publish": {"id-token"},
    }

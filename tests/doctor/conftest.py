"""A home to be examined, with agents whose sessions are as old as a test says."""

import os
import time

import pytest

from katod.config import load
from katod.doctor.case import Case
from katod.store.ledger import Ledger
from tests.support.world import World

DAY = 24 * 3600


class Home(World):
    """A world that is examined as it is now."""

    def case(self, **fields):
        """Return the examination of this home; its ledger is that on disk unless another is given."""
        given = {"settings": load(self.config), "state": self.state, "now_ns": time.time_ns(), "ledger": None}
        return Case(**(given | fields))

    def examined(self, examine, ledger=None, **fields):
        """Return what is found, by check; only the last finding of each check is kept."""
        return {finding.check: finding for finding in examine(self.case(ledger=ledger, **fields))}

    def with_ledger(self, examine):
        """Return the same with the ledger on disk."""
        ledger = Ledger.examine(self.state)
        try:
            return self.examined(examine, ledger)
        finally:
            if ledger is not None:
                ledger.close()

    def aged(self, number, days, agent="claude"):
        """Create a session that was last changed some days ago."""
        source = self.session(number, agent)
        source.append(*source.opening(), source.user("hello"))
        then = time.time() - days * DAY
        os.utime(source.path, (then, then))
        return source


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a home in which katod never ran, on a machine without a service manager."""
    monkeypatch.setenv("PATH", "/nowhere")
    return Home(tmp_path / "home", monkeypatch, seen_empty=False)

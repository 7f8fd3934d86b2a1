"""Fixtures for all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.support.world import World

settings.register_profile("katod", deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
# For runs that have to fail, each time in the same way, and need not say how simply.
settings.register_profile(
    "unshrunk", settings.get_profile("katod"), phases=[Phase.explicit, Phase.generate], derandomize=True
)
settings.load_profile("katod")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A home in which katod has run once before the first session."""
    return World(tmp_path / "home", monkeypatch)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where KATOD_MOST_SKIPS is set, more skipped tests than that fail the run."""
    most = os.environ.get("KATOD_MOST_SKIPS")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if most is None or reporter is None:
        return
    skipped = len(reporter.stats.get("skipped", ()))
    print(f"\nskipped: {skipped}, at most {most} may be")
    if skipped > int(most):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

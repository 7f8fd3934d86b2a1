"""Fixtures for all tests, and how thorough a run is."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

from tests import examples
from tests.support.world import World

examples.register()
settings.load_profile(examples.QUICK)


def pytest_configure(config: pytest.Config) -> None:
    """Take many examples where the run is not the default one, and no profile was asked for."""
    if "not slow" not in config.getoption("markexpr") and not config.getoption("--hypothesis-profile"):
        settings.load_profile(examples.THOROUGH)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With many examples every property test is slow: `-m slow` runs it again."""
    if settings.get_current_profile_name() == examples.THOROUGH:
        for item in filter(examples.is_property, items):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the garbage collector what lives until the end: each child process would copy it when it collects."""
    if session.config.option.collectonly:
        return
    gc.collect()
    gc.freeze()


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

"""Fixtures for all tests, and how thorough a run is."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
def no_descriptor_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever the code under test opens it closes; what the interpreter collects meanwhile does not count."""
    held: dict[int, os.stat_result] = {}
    opening = os.open

    def opened(*arguments: Any, **named: Any) -> int:
        fd = opening(*arguments, **named)
        held[fd] = os.fstat(fd)
        return fd

    monkeypatch.setattr(os, "open", opened)
    yield
    assert [fd for fd, status in held.items() if _is(fd, status)] == []


def _is(fd: int, status: os.stat_result) -> bool:
    """Return whether a descriptor is open and that of this file."""
    try:
        return os.path.samestat(os.fstat(fd), status)
    except OSError:
        return False


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

"""Fixtures for all tests, and how thorough a run is."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

from katod import errors, processes
from katod.archive import update
from tests import examples
from tests.support.collected import close_collected
from tests.support.world import World

# Where nothing may be compiled to files, each program that a test starts would compile all of katod again, and its tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell lets what runs in its background ignore Ctrl-C, and programs that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
LONGEST = 900  # seconds that a test may take, unless it says how many, on a slow machine with many examples
examples.register()
settings.load_profile(examples.QUICK)


def pytest_configure(config: pytest.Config) -> None:
    """Take many examples if slow tests are selected and no profile was requested."""
    if "not slow" not in config.getoption("markexpr") and not config.getoption("--hypothesis-profile"):
        settings.load_profile(examples.THOROUGH)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collect no garbage while tests are collected: nearly all that is made then lives until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what the default run leaves out, and property tests in a thorough run: `-m slow` takes them, too."""
    for item in examples.beyond(items):
        item.add_marker(pytest.mark.slow)
    if settings.get_current_profile_name() == examples.THOROUGH:
        for item in filter(examples.is_property, items):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Let a test fail that waits for ever, instead of the run."""
    own = item.get_closest_marker("longest")
    longest: int = own.args[0] if own else LONGEST

    def fail(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"no end of {item.nodeid} within {longest} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(longest)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Freeze what lives until the end: each child process would copy it when it collects garbage."""
    if session.config.option.collectonly:
        return
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_descriptor_is_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Check that the code under test closes every descriptor it opens; those of the interpreter do not count."""
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
    """Return whether a descriptor is open and refers to this file."""
    try:
        return os.path.samestat(os.fstat(fd), status)
    except OSError:
        return False


def pytest_runtest_teardown() -> None:
    """Close what the test left open; a run whose garbage stays takes all memory in the end."""
    close_collected()
    assert gc.isenabled()


@pytest.fixture(autouse=True)
def _nothing_breaks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a default test in which katod's own code broke, although it went on: those marked `breaks` break it on purpose."""
    broken: list[str] = []
    name = errors.safe_message

    def noted(error: Exception) -> str:
        broken.append(repr(error))
        return name(error)

    monkeypatch.setattr(errors, "safe_message", noted)  # as `failure_of` finds it; others have it by name
    yield
    may_break = request.node.get_closest_marker("breaks") or request.node.get_closest_marker("slow")
    assert may_break or not broken, broken[0]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a home in which katod has run once before the first session."""
    return World(tmp_path / "home", monkeypatch)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run if KATOD_MOST_SKIPS is set and more tests than that were skipped."""
    most = os.environ.get("KATOD_MOST_SKIPS")
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if most is None or reporter is None:
        return
    skipped = len(reporter.stats.get("skipped", ()))
    print(f"\nskipped: {skipped}, at most {most} may be")
    if skipped > int(most):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(params=["here", pytest.param("elsewhere", marks=pytest.mark.slow)])
def reading_place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `export --all` read sessions in this process, or in others before their turn: nobody sees a difference."""
    if request.param == "elsewhere":
        monkeypatch.setattr(update, "_MUCH", 0)
        monkeypatch.setattr(processes, "cores", lambda: 2)

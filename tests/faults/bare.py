"""Runs a test in a process whose katod lacks one protection: a fork of a server that has imported no katod yet.

The server is one of `multiprocessing`. What every such process needs is loaded there once: pytest, hypothesis, and the
libraries that katod and its tests import.
"""

import multiprocessing
import os
import signal
from contextlib import suppress

import pytest

from .protections import hook, named

FAILED = 1  # pytest's exit code for tests that failed; errors of the run itself have others
SKIPPED = 77  # nothing could be run here
LONGEST = 300  # seconds
PATIENCE = "4"  # seconds that a test waits for what will not come
PRELOADED = (
    "tests.faults.bare", "hypothesis.stateful", "markdown_it", "orjson", "click.testing", "rich.console", "structlog.dev",
    "watchdog.observers", "sqlite3", "tempfile", "zoneinfo", "tomllib",
)  # fmt: skip
OPTIONS = ("-x", "-m", "", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=unshrunk")
NOT_HANDED_ON = ("KATOD_MOST_SKIPS", "KATOD_UPDATE", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER")
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(list(PRELOADED))


def run_without(protection, test, folder):
    """Run a test without a protection; return pytest's exit code (SKIPPED if all was skipped) and what was said."""
    process = CONTEXT.Process(target=_run, args=(protection.name, test, str(folder)))
    process.start()
    process.join(LONGEST)
    with suppress(ProcessLookupError):  # the daemons that a failed test left, and itself where it hangs
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    said = folder / "said"
    return process.exitcode, said.read_text(errors="replace") if said.exists() else ""


class _Outcomes(set):
    """Gathers how tests ended."""

    def pytest_runtest_logreport(self, report):
        """Take a report of a part of a test; setting up and tearing down well says nothing."""
        if report.when == "call" or not report.passed:
            self.add(report.outcome)


def _run(name, test, folder):
    """Be the process."""
    os.setsid()
    said = os.open(f"{folder}/said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    for variable in NOT_HANDED_ON:
        os.environ.pop(variable, None)
    os.environ.update(hook.environment(name), KATOD_PATIENCE=PATIENCE)
    protection = named(name)
    hook.install(protection.function, protection.without)
    outcomes = _Outcomes()
    code = pytest.main([*OPTIONS, f"--basetemp={folder}/tests", test], plugins=[outcomes])
    os._exit(SKIPPED if outcomes == {"skipped"} else code)

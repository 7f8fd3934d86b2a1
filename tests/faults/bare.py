"""Runs a test in a process whose katod lacks one protection, forked from a server that has not imported katod.

The server is a `multiprocessing` forkserver. It preloads what every such process needs: pytest, hypothesis, and the
libraries that katod and its tests import.
"""

import multiprocessing
import os
import signal
from contextlib import suppress

import pytest

from .protections import hook, named

FAILED = 101  # a test failed; not an exit code of Python or pytest, which could mean that no test ran
SKIPPED = 102  # no test could run here
LONGEST = 300  # seconds
# Seconds that a test waits for something that never happens; number of kills in each window; number of power losses.
SHORT = {"KATOD_PATIENCE": "4", "KATOD_FAULTS_KILLS": "3", "KATOD_FAULTS_CRASHES": "90"}
PRELOADED = (
    "tests.faults.bare", "hypothesis.stateful", "markdown_it", "orjson", "click.testing", "rich.console", "structlog.dev",
    "watchdog.observers", "sqlite3", "tempfile", "zoneinfo", "tomllib",
)  # fmt: skip
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # about modules that are already loaded
OPTIONS = ("-x", "-m", "", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=unshrunk", *QUIET)
NOT_HANDED_ON = ("KATOD_MOST_SKIPS", "KATOD_UPDATE", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER")
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(list(PRELOADED))


def run_without(protection, test, folder):
    """Run a test without a protection; return FAILED, SKIPPED or another exit code, and the process's output."""
    process = CONTEXT.Process(target=_run, args=(protection.name, test, str(folder)))
    process.start()
    process.join(LONGEST)
    with suppress(ProcessLookupError):  # daemons that a failed test left behind, and the test itself if it hangs
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    said = folder / "said"
    return process.exitcode, said.read_text(errors="replace") if said.exists() else ""


class _Outcomes(set):
    """Collects the outcomes of the tests."""

    def pytest_runtest_logreport(self, report):
        """Record the outcome of one phase of a test; setup and teardown count only if they do not pass."""
        if report.when == "call" or not report.passed:
            self.add(report.outcome)


def _run(name, test, folder):
    """Run the test in the child process and exit with its outcome."""
    os.setsid()
    said = os.open(f"{folder}/said", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    for variable in NOT_HANDED_ON:
        os.environ.pop(variable, None)
    os.environ.update(hook.environment(name) | SHORT)
    protection = named(name)
    hook.install(protection.function, protection.without)
    outcomes = _Outcomes()
    code = pytest.main([*OPTIONS, f"--basetemp={folder}/tests", test], plugins=[outcomes])
    failed = code == pytest.ExitCode.TESTS_FAILED
    os._exit(FAILED if failed else SKIPPED if outcomes == {"skipped"} else code)

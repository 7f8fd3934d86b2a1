"""The commands that people type, with many sessions on the disk."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from katod.service.recordingfiles import BOOT_ID, FOLDER, LEFT
from katod.setup.scripts import hook, status_line
from tests.benchmarks.daemon import world_at
from tests.benchmarks.idle import fill
from tests.benchmarks.report import Bar, Report, median
from tests.support.world import World

SHORT: Final = Bar(1.0, " s")
_BARE: Final = ("-c", "import click, sqlite3")
_COMMANDS: Final = {name: (name,) for name in ("--help", "status", "sessions", "doctor")}
# Commands that begin to load in an empty home, and how many times as long they may take as a bare Python.
_STARTED: Final = {"status": ("status",), "sessions": ("sessions",), "search": ("search", "word")}
STARTED: Final = Bar(3.0, " times")
COMPLETION: Final = Bar(0.4, " s")
SCRIPT: Final = Bar(10.0, " ms")
_SESSION: Final = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
_PROMPT: Final = '{"session_id":"%s","prompt":"%s"}\n'


def measure(report: Report, folder: Path, sessions: int, times: int) -> None:
    """Measure how long each command takes, beside a Python that imports what all of them need."""
    report.part(f"Commands with {sessions:,} session files", f"seconds, median of {times}")
    world = world_at(folder)
    _start_up(report, world, 5 * times)
    fill(folder, sessions)
    world.once()
    bare = median([_took(world, *_BARE) for _ in range(times)])
    report.line("python -c 'import click, sqlite3'", f"{bare:.3f} s")
    for what, arguments in _COMMANDS.items():
        took = median([_took(world, "-m", "katod", *arguments) for _ in range(times)])
        bars = [] if what == "doctor" else [(took, SHORT)]  # it may take its time
        report.line(f"katod {what}", f"{took:.3f} s, {took / bare:.1f} times that", *bars)
    world.variables["_KATOD_COMPLETE"] = "katod export "
    took = median([_took(world, "-m", "katod") for _ in range(times)])
    report.line("completion of a session's id", f"{took:.3f} s", (took, COMPLETION))
    _scripts(report, world, times)


def _start_up(report: Report, world: World, times: int) -> None:
    """Measure the processor time of commands that have nothing to do; the least of all runs, one after the other."""
    asked = {"bare": _BARE} | {what: ("-m", "katod", *arguments) for what, arguments in _STARTED.items()}
    runs = [{what: _used(world, *arguments) for what, arguments in asked.items()} for _ in range(times)]
    least = {what: min(run[what] for run in runs) for what in asked}
    for what in _STARTED:
        ratio = least[what] / least["bare"]
        report.line(f"start of katod {what}", f"{1000 * least[what]:.0f} ms, {ratio:.1f} times that", (ratio, STARTED))


def _used(world: World, *arguments: str) -> float:
    """Return the seconds of processor time that Python takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _took(world, *arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _scripts(report: Report, world: World, times: int) -> None:
    """Measure what an agent runs: the status line, and the hook for a prompt without a command."""
    folder = world.state / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / f"claude-{_SESSION}").write_text(f"{os.getpid()}\n{_boot()}\n● rec login.md\n")
    asked = hook(("/bin/false",), world.state, folder / LEFT, "claude")
    texts = {"status line": status_line(folder, "claude"), "hook": asked}
    for name, text in texts.items():
        script = world.home / "script.sh"
        script.write_text(text)
        given = _PROMPT % (_SESSION, "Add a login page to this shop. " * 30)
        took = 1000 * median([_ran(["sh", str(script)], given) for _ in range(5 * times)])
        report.line(f"{name} of Claude Code", f"{took:.1f} ms", (took, SCRIPT))


def _boot() -> str:
    path = Path(BOOT_ID)
    return path.read_text().strip() if path.exists() else ""


def _ran(command: list[str], given: str) -> float:
    began = time.monotonic()
    subprocess.run(command, input=given.encode(), stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - began


def _took(world: World, *arguments: str) -> float:
    """Return the seconds that Python takes; `doctor` may find something."""
    command = [sys.executable, *arguments]
    began = time.monotonic()
    subprocess.run(command, env=world.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.monotonic() - began

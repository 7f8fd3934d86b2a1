"""All sessions of a person: `katod export --all`, the first time and later, `katod search --all` and `katod usage`."""

import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from tests.benchmarks import generate
from tests.benchmarks.daemon import world_at
from tests.benchmarks.memory import PEAK, peak_of
from tests.benchmarks.report import Bar, Report, median

UNCHANGED: Final = Bar(0.3, " s")
SEARCH: Final = Bar(2.5, " s")  # for a gigabyte
SEARCH_PEAK: Final = Bar(80, " MB")
OTHER_SCRIPT: Final = Bar(2, " times as long")
USAGE: Final = Bar(7, " s")  # likewise; most of these sessions are copies
USAGE_AGAIN: Final = Bar(0.7, " s")
_RARE: Final = "nowhere-to-be-found"
_SCRIPTS: Final = {"Cyrillic": "нигде", "Japanese": "日本語", "Greek": "πουθενά", "German": "Überflüße"}
SESSION: Final = 2_500_000  # bytes
_KINDS: Final = 20  # sessions of different content


class Run(NamedTuple):
    """What one run cost: CPU seconds, and peak memory in MB."""

    cpu: float
    peak: float


def measure(report: Report, folder: Path, megabytes: int, times: int) -> None:
    """Bring a folder up to date with so many megabytes of sessions, and search them."""
    sessions = max(2, megabytes * 1_000_000 // SESSION)
    report.part(f"Everything: {megabytes:,} MB in {sessions:,} sessions", f"CPU seconds, median of {times}")
    free = shutil.disk_usage(folder.parent).free / 1e6
    if free < megabytes * 2.5:
        report.note(f"not measured: {free:.0f} MB are free here, {megabytes * 2.5:.0f} MB are needed")
        return
    world = world_at(folder)
    paths = fill(folder, sessions)
    first = _run(world.environment, folder)
    report.line("first", f"{first.cpu:.1f} s, peak {first.peak:.1f} MB", (first.peak, PEAK))
    unchanged = [_run(world.environment, folder) for _ in range(times)]
    took = median([run.cpu for run in unchanged])
    peak = max(run.peak for run in unchanged)
    report.line("unchanged", f"{took:.2f} s, peak {peak:.1f} MB", (took, UNCHANGED))
    grown = []
    for number in range(times):
        with paths[number].open("ab") as file:
            file.writelines(generate.session("claude", 2000, seed=number))
        grown.append(_run(world.environment, folder).cpu)
    report.line("one session grown", f"{median(grown):.2f} s")
    found = [_run(world.environment, folder, "search", "--all", _RARE, code=1) for _ in range(times)]
    took, peak = median([run.cpu for run in found]), max(run.peak for run in found)
    bars = [(peak, SEARCH_PEAK), *([(took, SEARCH)] if megabytes >= 1000 else [])]
    report.line("a search of all of it that finds nothing", f"{took:.2f} s, peak {peak:.1f} MB", *bars)
    for script, word in _SCRIPTS.items():
        cpu = median([_run(world.environment, folder, "search", "--all", word, code=1).cpu for _ in range(times)])
        report.line(f"the same for a word in {script}", f"{cpu:.2f} s", (cpu / took, OTHER_SCRIPT))
    first, *later = [_run(world.environment, folder, "usage") for _ in range(1 + times)]
    again = median([run.cpu for run in later])
    bars = [(first.cpu, USAGE), (again, USAGE_AGAIN)] if megabytes >= 1000 else []
    report.line("its usage, and again", f"{first.cpu:.2f} s, {again:.2f} s, peak {first.peak:.1f} MB", *bars)


def fill(folder: Path, sessions: int, kinds: int = _KINDS) -> list[Path]:
    """Create sessions of Claude Code, of a few kinds, each with an id of its own."""
    home = folder / ".claude/projects/-home-me-lantern"
    home.mkdir(parents=True)
    paths: list[Path] = []
    for number in range(sessions):
        path = home / generate.GeneratedClaude(seed=number).name()
        if number < kinds:
            path.write_bytes(b"".join(generate.session("claude", SESSION, seed=number)))
        else:
            shutil.copyfile(paths[number % kinds], path)
        paths.append(path)
    return paths


def _run(environment: dict[str, str], folder: Path, *arguments: str, code: int = 0) -> Run:
    """Run katod; without arguments, export everything."""
    command = [sys.executable, "-m", "katod", *(arguments or ("export", "--all", "-o", str(folder / "all")))]
    before = _children()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
    ) as process:
        peak = peak_of(process)
    assert process.returncode == code
    return Run(_children() - before, peak)


def _children() -> float:
    """Return the CPU seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

"""The peak memory of an export, for sessions of different sizes."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.benchmarks import generate
from tests.benchmarks.daemon import world_at
from tests.benchmarks.report import Bar, Report
from tests.support.live import memory

PEAK: Final = Bar(200, " MB")
_LONGEST: Final = 300.0


def measure(report: Report, folder: Path, megabytes: int) -> None:
    """Export a large session to Markdown and JSONL, and one of a quarter of its size for comparison."""
    report.part("Export of a big session", "peak resident memory of `katod export FILE -o out`")
    free = shutil.disk_usage(folder.parent).free / 1e6
    if free < megabytes * 3.5:
        report.note(f"not measured: {free:.0f} MB are free here, {megabytes * 3.5:.0f} MB are needed")
        return
    environment = world_at(folder).environment
    for size in (megabytes // 4, megabytes):
        for agent, kind in generate.AGENTS.items() if size < megabytes else [("claude", generate.GeneratedClaude)]:
            path = folder / kind(seed=5).name()
            with path.open("wb") as file:
                file.writelines(generate.session(agent, size * 1_000_000, seed=5))
            for suffix in (".md", ".jsonl"):
                _export(report, environment, path, agent, suffix)
            path.unlink()


def _export(report: Report, environment: dict[str, str], path: Path, agent: str, suffix: str) -> None:
    output = path.with_name(f"out{suffix}")
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "katod", "export", str(path), "-o", str(output)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=path.parent, env=environment,
    )  # fmt: skip
    try:
        peak = peak_of(process)
    finally:
        process.kill()
        process.wait()
    took, size = time.monotonic() - began, path.stat().st_size / 1e6
    made = output.stat().st_size / 1e6 if output.exists() else 0.0
    output.unlink(missing_ok=True)
    figure = f"peak {peak:.1f} MB, {took:.1f} s, {made:.0f} MB written"
    report.line(f"{agent}, {size:,.0f} MB to {suffix}", figure, (peak if made else float("nan"), PEAK))


def peak_of(process: subprocess.Popen[bytes]) -> float:
    """Return the process's peak memory in MB. Its high-water mark only rises, so polling is enough."""
    peak, deadline = 0.0, time.monotonic() + _LONGEST
    while process.poll() is None and time.monotonic() < deadline:
        peak = max(peak, memory(process.pid, "VmHWM") * 1024 / 1e6)
        time.sleep(0.01)
    return peak

"""A table beside other tools that read agents' sessions: `python -m tests.benchmarks.peers [--mb 100] [--rounds 5]`.

Installs them from PyPI into an environment that is removed afterwards; `rg` has to be there. All run in turn on the
same generated sessions of Claude Code, on one processor, each in a home of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from katod import __version__
from tests.benchmarks.archive import SESSION, fill
from tests.benchmarks.pairs import Cost, took
from tests.benchmarks.report import median
from tests.support.world import SOURCE

_PEERS: Final = ("claude-code-log", "agentsview")
_WORD: Final = "nowhere-to-be-found"


class Contender(NamedTuple):
    """What is measured: its name and version, and a run in an empty home that has the sessions."""

    name: str
    run: Callable[[Path], Cost]


def contenders(tools: Path) -> list[Contender]:
    """Return what is compared."""
    log, view = (_version(tools / name) for name in _PEERS)
    katod = f"katod {__version__}"
    found = [
        Contender(
            f"{katod}: full Markdown", _katod("export", "--all", "--tools", "full", "--thinking", "-o", "{home}/a")
        ),
        Contender(f"{katod}: default Markdown", _katod("export", "--all", "-o", "{home}/b")),
        Contender(f"{katod}: HTML", _katod("export", "--all", "-f", "html", "-o", "{home}/c")),
        Contender(
            f"claude-code-log {log}: HTML",
            _run(str(tools / "claude-code-log"), "{home}/.claude/projects", "--all-projects", "-o", "{home}/d"),
        ),
        Contender(f"agentsview {view}: its database", _run(str(tools / "agentsview"), "sync")),
        Contender(f"{katod}: search that finds nothing", _katod("search", "--all", _WORD, code=1)),
    ]
    if rg := shutil.which("rg"):
        found.append(
            Contender(f"rg {_version(Path(rg))}: the same", _run(rg, "-i", _WORD, "{home}/.claude/projects", code=1))
        )
    return found


def _katod(*arguments: str, code: int = 0) -> Callable[[Path], Cost]:
    return _run(sys.executable, "-m", "katod", *arguments, code=code)


def _run(*command: str, code: int = 0) -> Callable[[Path], Cost]:
    def run(home: Path) -> Cost:
        environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(SOURCE)}
        environment |= {
            "AGENTSVIEW_NO_DAEMON": "1",
            "AGENTSVIEW_DATA_DIR": str(home / "agentsview"),
            "KATOD_STATE_DIR": str(home / "state"),
        }
        return took([part.format(home=home) for part in command], environment, home, code=code, pin=True)

    return run


def _version(tool: Path) -> str:
    said = subprocess.run([str(tool), "--version"], capture_output=True, text=True, check=True).stdout.split()
    return next(word.lstrip("v") for word in said if word.lstrip("v")[:1].isdigit())


def main() -> None:
    """Print the table in Markdown: CPU seconds, wall seconds and peak memory, medians."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="katod-peers-") as folder:
        place = Path(os.path.realpath(folder))
        venv.create(place / "tools", with_pip=True)
        pip = [str(place / "tools/bin/pip"), "install", "-qq", "--disable-pip-version-check", *_PEERS]
        subprocess.run(pip, check=True)
        sessions = options.mb * 1_000_000 // SESSION
        fill(place / "sessions", sessions, kinds=sessions)
        _compare(contenders(place / "tools/bin"), place, options.rounds, options.mb)


def _compare(all_of_them: list[Contender], place: Path, rounds: int, megabytes: int) -> None:
    found: dict[str, list[Cost]] = {one.name: [] for one in all_of_them}
    for _ in range(rounds):
        for one in all_of_them:
            home = place / "home"
            home.mkdir()
            (home / ".claude").symlink_to(place / "sessions/.claude")
            found[one.name].append(one.run(home))
            shutil.rmtree(home)
    print(f"| {megabytes} MB of sessions | CPU s | wall s | peak MB |\n|---|---|---|---|")
    for name, costs in found.items():
        cpu, wall, peak = (median([getattr(cost, field) for cost in costs]) for field in Cost._fields)
        print(f"| {name} | {cpu:.2f} | {wall:.2f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()

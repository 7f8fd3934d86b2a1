"""What katod costs as there is more: `python -m tests.benchmarks.growth [FILE]` draws three curves, and prints them.

Cost against the number of sessions, against the size of a session, and against the age of a recording. FILE, by default
`packaging/readme/growth.svg`, is what README shows. Needs matplotlib.
"""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.benchmarks import generate, idle
from tests.benchmarks.daemon import Measured, session_path, world_at
from tests.benchmarks.latency import Writer
from tests.benchmarks.pairs import Checkout
from tests.benchmarks.report import median
from tests.support.live import until
from tests.support.world import SOURCE

_SESSIONS: Final = (10, 1_000, 3_000, 10_000, 20_000)
_SIZES: Final = (1, 3, 10, 30, 100)  # MB
_AGES: Final = (0, 1, 3, 10, 30)  # MB that were recorded before
_SECONDS: Final = 60
_LINES: Final = 200
_INK, _PAPER = "#1f6f5c", "#ffffff"


class Curve(NamedTuple):
    """Points, and what they are."""

    title: str
    across: str
    up: str
    points: Sequence[tuple[float, float]]


def idling(folder: Path) -> Curve:
    """Measure a daemon at rest, with the sweep of all files that it makes every ten minutes."""
    points = []
    for sessions in _SESSIONS:
        world = world_at(folder / f"idle-{sessions}")
        idle.fill(world.home, sessions)
        with Measured(world) as daemon:  # which finds that nothing is as old as it will be
            daemon.settled()
        with Measured(world) as daemon:
            daemon.settled()
            share, _ = idle.watch(daemon, _SECONDS)
            points.append((sessions, share + idle.deep_share(world.home, daemon)))
    return Curve("At rest", "sessions on the disk", "CPU, % of a core", points)


def exporting(folder: Path) -> Curve:
    """Measure an export of one session with all that it has."""
    points = []
    for megabytes in _SIZES:
        checkout = Checkout(folder / f"export-{megabytes}", SOURCE)
        path = checkout.home / generate.GeneratedClaude(seed=5).name()
        with path.open("wb") as file:
            file.writelines(generate.session("claude", megabytes * 1_000_000, seed=5))
        whole = ("export", str(path), "--tools", "full", "--thinking", "-o")
        costs = [checkout.took(*whole, str(checkout.home / f"{number}.md"), pin=True).cpu for number in range(3)]
        points.append((megabytes, median(costs)))
    return Curve("Export of one session", "size in MB", "CPU seconds", points)


def recording(folder: Path) -> Curve:
    """Measure each further line of a session of which so much is recorded already."""
    points = []
    for megabytes in _AGES:
        world = world_at(folder / f"record-{megabytes}")
        with Measured(world) as daemon:
            writer = Writer(world, 0)
            _write_on(session_path(world, generate.AGENTS["claude"](seed=1000)), megabytes)
            writer.append()
            until(writer.look, "what was written so far", 120)
            daemon.settled()
            cpu = daemon.cpu()
            for _ in range(_LINES):
                writer.append()
                time.sleep(0.02)
            daemon.settled()
            assert len(writer.look()) == _LINES
            points.append((megabytes, (daemon.cpu() - cpu) / _LINES * 1000))
            writer.close()
    return Curve("Recording another line", "MB of the session so far", "CPU, ms", points)


def _write_on(path: Path, megabytes: int) -> None:
    """Append other messages to a session."""
    other, own = generate.AGENTS["claude"](seed=7).id.encode(), generate.AGENTS["claude"](seed=1000).id.encode()
    lines = generate.session("claude", megabytes * 1_000_000, seed=7) if megabytes else ()
    with path.open("ab") as file:
        file.writelines(line.replace(other, own) for line in lines)


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Draw the curves beside each other, from 0 on."""
    import matplotlib as mpl  # noqa: PLC0415 - no other benchmark needs it

    mpl.use("svg")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "katod", "font.size": 10}
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, places = plt.subplots(1, len(curves), figsize=(10, 2.8), facecolor=_PAPER)
    for curve, place in zip(curves, places, strict=True):
        _drawn(curve, place)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _drawn(curve: Curve, place: Any) -> None:
    across, up = zip(*curve.points, strict=True)
    place.plot(across, up, marker="o", markersize=4, color=_INK)
    place.set(title=curve.title, xlabel=curve.across, ylabel=curve.up, xlim=(0, None), ylim=(0, max(up) * 1.25))
    place.spines[["top", "right"]].set_visible(False)
    place.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def main() -> None:
    """Measure, print and draw."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "packaging/readme/growth.svg")
    with tempfile.TemporaryDirectory(prefix="katod-growth-") as folder:
        place = Path(os.path.realpath(folder))
        curves = [measure(place) for measure in (idling, exporting, recording)]
    for curve in curves:
        print(f"{curve.title}: {curve.up} by {curve.across}")
        print("  " + ", ".join(f"{across:,.0f}: {up:.3g}" for across, up in curve.points), flush=True)
    draw(curves, target)


if __name__ == "__main__":
    main()

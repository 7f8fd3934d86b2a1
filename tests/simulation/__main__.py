"""Usage: `python -m tests.simulation [--seed N] [--steps M] [--length L] [--jobs J] [--defect D]`, or `--plan FILE`.

Plays plans of L steps each until M steps were played. A plan that fails is made as short as it can, and printed.
"""

import argparse
import json
import multiprocessing
import time
from pathlib import Path

from .defects import DEFECTS, put_back


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--plan", type=Path)
    parser.add_argument("--no-short", action="store_true", help="print a plan that fails as it is")
    parser.add_argument("--defect", choices=DEFECTS, help="put this one back first")
    given = parser.parse_args()
    if given.defect:
        put_back(given.defect)
    from . import running  # noqa: PLC0415 - it imports katod

    if given.plan:
        print("\n".join(running.failure(json.loads(given.plan.read_text()))[0]) or "nothing is wrong")
        return
    began, seeds = time.monotonic(), [f"{given.seed}-{n}" for n in range(-(-given.steps // given.length))]
    with multiprocessing.get_context("fork").Pool(given.jobs, maxtasksperchild=20) as pool:
        tasks = [(seed, given.length) for seed in seeds]
        steps = kills = 0
        for seed, found in zip(seeds, pool.imap(running.task, tasks), strict=True):
            steps, kills = steps + found.steps, kills + found.kills
            if found.wrong:
                print(f"seed {seed}, after {steps:,} steps in all:", *found.wrong, sep="\n  ")
                short = found.plan if given.no_short else running.shortened(found.plan)
                print(f"{len(short)} steps: {json.dumps(short)}", *running.failure(short)[0], sep="\n  ")
                raise SystemExit(1)
    print(f"{steps:,} steps, {kills:,} kills, seed {given.seed}: nothing is wrong, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()

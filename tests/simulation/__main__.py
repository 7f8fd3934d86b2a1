"""Usage: `python -m tests.simulation [--seed N] [--steps M] [--length L] [--jobs J] [--crashes C] [--defect D]`.

Plays plans of L steps each until M steps were played. A plan that fails is made as short as it can, and printed;
`--plan FILE` plays it again. With `--crashes`, a whole disk then loses power so many times (tests/faults). By hand,
before a release: `python -m tests.simulation --seed N --steps 1000000 --jobs 2 --crashes 2000`, most of an hour.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

from .defects import DEFECTS, put_back


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--crashes", type=int, default=0)
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
    if given.crashes:
        raise SystemExit(lose_power(given.crashes, given.seed, given.jobs))


def lose_power(crashes, seed, jobs):
    """Let disks lose power so many times in all, each in a process of its own; return 0 if no promise was broken."""
    first, began = zlib.crc32(seed.encode()), time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "tests/faults/test_lostpower.py"]
    running = [
        subprocess.Popen(
            command,
            env=os.environ
            | {"KATOD_FAULTS_CRASHES": str(-(-crashes // jobs)), "KATOD_FAULTS_SEED": str(first + number)},
        )
        for number in range(jobs)
    ]
    failed = [process for process in running if process.wait()]
    print(f"{crashes:,} losses of power, seeds from {first}: {len(failed)} failed, {time.monotonic() - began:.0f} s")
    return len(failed)


if __name__ == "__main__":
    main()

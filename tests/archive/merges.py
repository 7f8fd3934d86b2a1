"""Machines that share a git repository: they talk, export, commit, and meet in any order, or do not meet for long.

`python -m tests.archive.merges --seed WORDS --merges 10000` plays that: no merge may have a conflict, and once all have
met, all have the same bytes.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from unittest import mock

from tests.support.machines import Machine
from tests.support.records import says, user

NAMES = ("laptop", "desktop", "server")
NOBODY = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
WHO = {f"GIT_{role}_{what}": "me@localhost" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_FORMS = ("markdown", "jsonl", "html")
_SESSIONS = 12  # of one machine


def git(folder, *arguments, check=True):
    """Run git in a folder; return its exit code, and what it printed."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | NOBODY | WHO, capture_output=True, text=True, check=check
    )
    return done.returncode, done.stdout + done.stderr


class Meeting:
    """Some machines, each with a clone of a repository, and what happened so far."""

    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.remote = folder / "remote.git"
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "-q", "-b", "main", "begin")
        git(folder / "begin", "commit", "-q", "--allow-empty", "-m", "a folder for all machines")
        git(folder, "clone", "-q", "--bare", "begin", str(self.remote))
        self.machines = [Machine(name, folder / name) for name in NAMES]
        for machine in self.machines:
            git(folder, "clone", "-q", str(self.remote), str(machine.shared))
        self.apart = set()
        self.done = Counter()
        self.said = 0

    def step(self):
        """Let some machines do something, and meet in any order; at times, one loses its connection, or has it again."""
        one = self.random.choice(NAMES)
        if self.random.random() < (0.3 if one in self.apart else 0.05):
            self.apart ^= {one}
        for machine in self.random.sample(self.machines, self.random.choice((1, 2, 3, 3))):
            self._talk(machine)
        for machine in self.random.sample(self.machines, len(self.machines)):
            if machine.name not in self.apart and self.random.random() < 0.9:
                self.meet(machine)

    def _talk(self, machine):
        """Say something in a session, new or old, and commit what is exported of it."""
        self.said += 1
        talk = machine.session(self.random.randrange(_SESSIONS) + 1)
        talk.say(user(f"prompt {self.said} of {machine.name}"), says(f"answer {self.said}"))
        form = self.random.choice(_FORMS)
        with mock.patch.dict(os.environ, NOBODY | WHO):
            printed = machine.cli("export", "--all", "-f", form, "-o", str(machine.shared), "--commit")
        self.done["committed"] += "committed" in printed

    def meet(self, machine):
        """Take what the others have, and give what this one has."""
        git(machine.shared, "fetch", "-q")
        code, printed = git(machine.shared, "merge", "--no-edit", "--no-stat", "origin/main", check=False)
        assert code == 0, f"{machine.name}: {printed}"
        self.done["met"] += 1
        if self.done["met"] % 1000 == 0:
            for clone in (self.remote, *(one.shared for one in self.machines)):
                git(clone, "gc", "-q")
        self.done["merged"] += "Merge made by" in printed
        git(machine.shared, "push", "-q", "origin", "HEAD:main")

    def end(self):
        """Let all meet until each has everything; return what each has, by its path."""
        for _ in range(2):
            for machine in self.machines:
                self.meet(machine)
        return [content(machine.shared) for machine in self.machines]


def content(folder):
    """Return every file of a clone, and check that nothing is left to be committed."""
    assert git(folder, "status", "--porcelain")[1] == ""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def play(folder, seed, merges, said=lambda _done: None):
    """Play until there were so many merges, telling what was done so far; return it. Raises AssertionError."""
    meeting = Meeting(folder, seed)
    while meeting.done["merged"] < merges:
        meeting.step()
        said(meeting.done)
    first, *others = meeting.end()
    assert all(other == first for other in others)
    assert {name.partition("-")[0] for name in first} <= set(NAMES)
    return meeting.done | Counter(files=len(first))


def say(done):
    """Print what was done so far, now and then."""
    if done["committed"] % 500 == 0:
        print(dict(done), file=sys.stderr, flush=True)


def main():
    """Play, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--merges", type=int, default=1000)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        done = play(Path(folder), given.seed, given.merges, say)
    print(f"{dict(done)}, no conflict, equal bytes, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()

"""The README's table of faults, drawn from the tests that carry the mark `fault`.

`python -m tests.faults.table` writes it into the README; a test compares. What a run alone can count (kills, power
cuts) stands in `figures.json`, which a test writes where KATOD_UPDATE is set.
"""

import json
import os
import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import most_of
from tests.looping import cases_of

TESTS = Path(__file__).parents[1]
README = TESTS.parent / "README.md"
FIGURES = Path(__file__).with_name("figures.json")
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # this process has imported what pytest would rewrite
BEGIN, END = "<!-- faults:begin -->\n", "<!-- faults:end -->"

# Fault: what katod promises. The order is that of the README.
FAULTS = {
    "killed at any system call": "the next run leaves the outputs as if nothing had been",
    "killed at random, again and again": "every event once and in order, every note of the person kept",
    "power lost": "what the disk kept is completed; only NUL bytes of a lost write are cut",
    "anything, in any order": "each event once; what a person wrote stays",
    "asked to stop at any moment": "the step under way is finished, exit 0, nothing is open",
    "settings changed before the restart": "a running recording keeps its own",
    "upgraded in mid recording": "states are rebuilt, nothing is written twice",
    "no space, read-only, quota": "the output waits, all others go on; later all is there once",
    "no space for the ledger": "katod ends with one line; later all is there once",
    "another thing in the output's place": "the output waits until it is a plain file again",
    "output deleted": "a new file that says that it goes on",
    "output edited": "the text stays, a mark says that katod goes on below",
    "half a line": "waits for its newline, is never stored",
    "record torn, another glued on": "the whole one is read, the torn one is kept as it is",
    "source truncated": "nothing twice, what is new is recorded",
    "source truncated and grown": "noticed by its content, not by its size",
    "source replaced": "goes on behind what was recorded",
    "source copied and truncated": "goes on with what is new",
    "inode used again": "the content tells the sessions apart",
    "source deleted and restored": "ends nothing, doubles nothing",
    "old session restored": "is history and commands nothing",
    "source may not be read, later it may": "is shown, and read when it can be",
    "folder may not be read, later it may": "is shown, and swept when it can be",
    "root made later": "is watched from then on",
    "root deleted and made again": "is watched again",
    "no file events": "the sweep finds what changes",
    "watch limit reached": "the sweep finds what changes",
    "no watcher at all": "the sweep finds what changes",
    "event queue overflows": "a full sweep follows",
    "two daemons": "the second is refused; after a kill the next one starts at once",
    "ledger damaged": "it is set aside and named; nothing old commands or is written again",
    "ledger blank": "a new one; nothing old commands",
    "ledger of a newer katod": "refused, and left as it is",
    "clock set, machine asleep": "nothing is missed, no time is invented",
    "descriptors run out": "what cannot be opened is tried again",
    "hundreds of sessions": "descriptors and memory stay bounded",
    "one record breaks katod": "its session is shown as a problem, all others go on",
    "hostile record": "costs itself alone; nothing is raised",
    "hostile size": "memory stays bounded, what follows is read",
    "text that poses as another speaker": "the outline of the transcript is the conversation",
    "text that looks like a command": "only a typed line commands",
    "path that leads elsewhere": "refused, and shown",
    "path swapped during the write": "nothing is written outside the allowed roots",
    "secrets": "replaced before they are written, in time that grows with the text alone",
    "sessions that are not recorded": "no word in ledger, logs, status or names",
}  # fmt: skip


class _Collected:
    """Gathers the marked tests of a collection."""

    def __init__(self):
        self.items = []

    def pytest_collection_finish(self, session):
        """Take what was collected."""
        self.items = [item for item in session.items if item.get_closest_marker("fault")]


@cache
def collected():
    """Return the marked tests."""
    marked = [str(path) for path in sorted(TESTS.rglob("test_*.py")) if "mark.fault(" in path.read_text()]
    found, profile = _Collected(), settings.get_current_profile_name()
    out, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115 - for the length of the collection
    try:
        code = pytest.main(["--collect-only", "-m", "", "-p", "no:cacheprovider", *QUIET, *marked], plugins=[found])
    finally:
        sys.stdout.close()
        sys.stdout = out
        settings.load_profile(profile)
    assert code == 0, "the tests cannot be collected"
    return found.items


def faults_of(item):
    """Return the faults that a test shows."""
    return [name for mark in item.iter_markers("fault") for name in mark.args]


def node(item):
    """Return the name of a test function, without its parameters."""
    return item.nodeid.partition("[")[0]


def _cases(item):
    """Return how many cases one collected test runs: of a property what `-m slow` runs of it."""
    return cases_of(item) * most_of(item)


def table():
    """Return the table in Markdown, and the figures of the last long run below it."""
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    cases, tests = defaultdict(int), defaultdict(set)
    for item in collected():
        for name in faults_of(item):
            cases[name] += figures.get(item.nodeid, {}).get("cases") or _cases(item)
            tests[name].add(item.nodeid.partition("::")[0])
    lines = ["| fault | katod promises | shown by | cases |", "|---|---|---|---|"]
    for name, promise in FAULTS.items():
        files = [re.sub(r"^tests/|\.py$", "", file) for file in sorted(tests[name])]
        lines.append(f"| {name} | {promise} | {', '.join(f'`{file}`' for file in files)} | {cases[name]:,} |")
    told = [f"* {entry['told']}" for entry in figures.values() if entry.get("told")]
    return "\n".join([*lines, "", *told]) + "\n"


def note(test, cases, told):
    """Keep what a long run counted, where KATOD_UPDATE is set: the number of cases, and a sentence for the README.

    `test` is the whole name of the test, its parameters included.
    """
    if not os.environ.get("KATOD_UPDATE"):
        return
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    figures[test] = {"cases": cases, "told": told}
    FIGURES.write_text(json.dumps(dict(sorted(figures.items())), indent=1, ensure_ascii=False) + "\n")


def main():
    """Write the table into the README."""
    content = README.read_text()
    begin, end = content.index(BEGIN) + len(BEGIN), content.index(END)
    README.write_text(content[:begin] + table() + content[end:])


if __name__ == "__main__":
    main()

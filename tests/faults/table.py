"""The table of faults in README.md, drawn from the tests that carry the mark `fault`.

`python -m tests.faults.table` writes it; a test compares. What only a run can count (kills, power cuts) is in
`figures.json`, which a test writes where KATOD_UPDATE is set.
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
README = Path(__file__).with_name("README.md")
FIGURES = Path(__file__).with_name("figures.json")
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # this process has imported what pytest would rewrite
BEGIN, END = "<!-- faults:begin -->\n", "<!-- faults:end -->"

# Fault: what katod promises. This is the order of the table.
FAULTS = {
    "killed at any system call": "the next run leaves the outputs as if nothing had happened",
    "killed at random, again and again": "every event once and in order, every note of a person kept",
    "power lost": "what the disk kept is completed; only NUL bytes of a lost write are cut",
    "anything, in any order": "every event once; what a person wrote stays",
    "asked to stop at any moment": "the current step is finished, exit code 0, nothing left open",
    "settings changed before the restart": "a running recording keeps the settings it started with",
    "upgraded in mid recording": "states are rebuilt, nothing is written twice",
    "no space, read-only, quota": "the output is parked, all others go on; later everything is written once",
    "no space for the ledger": "katod exits with one line; later everything is written once",
    "another thing in the output's place": "the output is parked until it is a regular file again",
    "output deleted": "the recording continues in a new file that says so",
    "output edited": "the text stays, and a mark shows where katod continues",
    "half a line": "read when its newline arrives, never stored",
    "record torn, another glued on": "the whole record is read, the torn one is kept as `provider.raw`",
    "source truncated": "nothing is written twice, what is new is recorded",
    "source truncated and grown": "noticed by content, not by size",
    "source replaced": "katod resumes after the last event it recognises",
    "source copied and truncated": "katod continues with what is new",
    "inode used again": "content tells the sessions apart",
    "source deleted and restored": "the recording stays open, nothing is written twice",
    "old session restored": "it is history; its commands are ignored",
    "source may not be read, later it may": "shown as a problem, read as soon as possible",
    "folder may not be read, later it may": "shown as a problem, swept as soon as possible",
    "root made later": "watched from then on",
    "root deleted and made again": "watched again",
    "no file events": "the sweep finds what changes",
    "watch limit reached": "the sweep finds what changes",
    "no watcher at all": "the sweep finds what changes",
    "event queue overflows": "a full sweep follows",
    "two daemons": "the second refuses to start; after a kill the next one starts at once",
    "ledger damaged": "quarantined and reported; no old command acts, nothing is written again",
    "ledger blank": "replaced by a new one; no old command acts",
    "ledger of a newer katod": "refused, and left unchanged",
    "clock set, machine asleep": "nothing is missed, no time is invented",
    "descriptors run out": "what cannot be opened is retried",
    "hundreds of sessions": "descriptors and memory stay bounded",
    "one record breaks katod": "its session is shown as a problem, all others go on",
    "hostile record": "only that record is affected; nothing is raised",
    "hostile size": "memory stays bounded, what follows is read",
    "text that poses as another speaker": "the outline of the transcript is the real conversation",
    "text that looks like a command": "only commands that a person typed are obeyed",
    "path that leads elsewhere": "refused, and shown in `status`",
    "path swapped during the write": "nothing is written outside the allowed roots",
    "secrets": "redacted before they are written, in time linear in the text",
    "sessions that are not recorded": "none of their text in ledger, logs, status or file names",
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
    """Keep what a long run counted, where KATOD_UPDATE is set: the number of cases, and a sentence for the table.

    `test` is the whole name of the test, its parameters included.
    """
    if not os.environ.get("KATOD_UPDATE"):
        return
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    figures[test] = {"cases": cases, "told": told}
    FIGURES.write_text(json.dumps(dict(sorted(figures.items())), indent=1, ensure_ascii=False) + "\n")


def main():
    """Write the table into README.md."""
    content = README.read_text()
    begin, end = content.index(BEGIN) + len(BEGIN), content.index(END)
    README.write_text(content[:begin] + table() + content[end:])


if __name__ == "__main__":
    main()

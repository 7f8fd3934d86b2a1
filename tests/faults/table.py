"""The table of faults in README.md, generated from the tests marked `fault`.

`python -m tests.faults.table` writes it; a test checks it. Numbers that only a run can count (kills, power cuts) are
in `figures.json`, which the tests write if KATOD_UPDATE is set.
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
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")  # about modules that are already loaded
BEGIN, END = "<!-- faults:begin -->\n", "<!-- faults:end -->"

# Fault: what katod promises. The table uses this order.
FAULTS = {
    "killed at any system call": "the next run leaves the outputs as if nothing had happened",
    "killed at random, repeatedly": "every event once and in order; every note of a person is kept",
    "power loss": "what the disk kept is completed; only NUL bytes of a lost write are cut",
    "power loss: a name is not on the disk": "a file that was created or renamed is made again, or known by either name",
    "power loss: two files, in either order": "the ledger may be older than an output, or newer: every event once and in order",
    "any operations, in any order": "every event once; a person's text stays",
    "killed while it exports everything": "the next run leaves the directory as if nothing had happened",
    "killed while it commits an export": "no commit of the person takes katod's back, and the next run commits the rest",
    "killed while a session is saved": "the session is saved whole or not at all; the next run saves it, nothing half stays",
    "killed while a session is put back": "each file is there whole or not at all; the next try, `katod forget` and katod itself remove the rest",
    "session deleted by its agent": "what was saved of it stays, whatever the agent's settings are later",
    "saved session deleted by its person": "its copy goes, too",
    "export changed by a person": "it is left alone and named, whenever it was changed",
    "asked to stop at any moment": "the current step is finished, exit code 0, nothing left open",
    "settings changed before the restart": "a running recording keeps the settings it started with",
    "upgraded during a recording": "state is rebuilt, nothing is written twice",
    "no space, read-only, quota": "the output is parked, all others continue; later everything is written once",
    "no space for the ledger": "katod exits with a one-line error; later everything is written once",
    "output replaced by something else": "the output is parked until it is a regular file again",
    "output deleted": "the recording continues in a new file that says so",
    "output edited": "the edit stays, and a mark shows where katod continues",
    "output replaced during an append": "what was appended is in the file that has the name now, once",
    "output renamed or moved": "the recording goes on in the file at its new path; no batch is in two files",
    "older copy of an output saved": "`status` counts the missing events; `katod verify` appends them once",
    "output directory missing": "the output is parked, nothing is written in its place; later everything once",
    "output directory changed in the settings": "moved outputs are followed, new ones are created there",
    "two daemons, one output": "only one of them creates it",
    "incomplete line": "read when its newline arrives, never stored",
    "torn record, another appended to it": "the complete record is read, the torn one is kept as `provider.raw`",
    "source truncated": "nothing is written twice, new records are recorded",
    "source truncated and grown": "detected by content, not by size",
    "source replaced": "katod resumes after the last event it recognises",
    "source copied and truncated": "katod continues with the new records",
    "inode reused": "content tells the sessions apart",
    "source deleted and restored": "the recording stays open, nothing is written twice",
    "old session restored": "it is history; its commands are ignored",
    "source temporarily unreadable": "shown as a problem, read as soon as possible",
    "folder temporarily unreadable": "shown as a problem, swept as soon as possible",
    "root created later": "watched from then on",
    "root deleted and recreated": "watched again",
    "no file events": "the sweep finds changes",
    "watch limit reached": "the sweep finds changes",
    "no watcher": "the sweep finds changes",
    "event queue overflows": "a full sweep follows",
    "two daemons": "the second refuses to start; after a kill the next one starts at once",
    "state directory removed": "katod ends with one line; a second one is not disturbed, and `status` names the recordings that ended",
    "ledger damaged": "quarantined and reported; no old command runs, nothing is written again",
    "ledger blank": "replaced by a new one; no old command runs",
    "ledger on a read-only disk": "katod exits with one line; it continues once it can write",
    "ledger of a newer katod": "refused, and left unchanged",
    "clock set, machine suspended": "nothing is missed, no time is invented",
    "descriptors run out": "files that cannot be opened are retried",
    "hundreds of sessions": "descriptors and memory stay bounded",
    "one record breaks katod": "its session is shown as a problem, all others continue",
    "hostile record": "only that record is affected; nothing is raised",
    "hostile size": "memory stays bounded, what follows is read",
    "file that never ends or waits": "refused at once with one line: configuration, lock, request",
    "database that costs without end": "given up within a bound, and tried again only when it changes",
    "decompression bomb": "given up within a bound, and tried again only when it changes",
    "text that poses as another speaker": "the transcript's outline is that of the real conversation",
    "link that runs something": "shown as text, however its scheme is spelled",
    "text that looks like a command": "only commands that a person typed are obeyed",
    "repository that runs something": "nothing of it runs: it is read with `git`, bounded in time and output",
    "unsafe path": "refused, and shown in `status`",
    "file of a project": "nothing of it counts unless it was allowed as it is; it never shows more, or leads out of the project",
    "path swapped during a write": "nothing is written outside the allowed roots",
    "another file in a transcript's place": "refused with the reason by all that shows transcripts; renamed and edited ones are shown",
    "names of transcripts and other files exchanged": "no file gets, or loses, the words of another session; a transcript waits until it has a name of its own",
    "output moved after its recording ended": "all that reads it finds it; its pictures are with it",
    "output put back with the same bytes": "it is not taken for edited",
    "secrets": "redacted before they are written, in time linear in the text",
    "session forgotten": "no word, title or path of it is left in state and log; nothing old in it acts again",
    "sessions that are not recorded": "none of their text appears in the ledger, logs, status or file names",
}  # fmt: skip


class _Collected:
    """Collects the marked tests."""

    def __init__(self):
        self.items = []

    def pytest_collection_finish(self, session):
        """Keep the marked items of the collection."""
        self.items = [item for item in session.items if item.get_closest_marker("fault")]


@cache
def collected():
    """Return the marked tests."""
    marked = [str(path) for path in sorted(TESTS.rglob("test_*.py")) if "mark.fault(" in path.read_text()]
    found, profile = _Collected(), settings.get_current_profile_name()
    out, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115 - closed after the collection
    try:
        code = pytest.main(["--collect-only", "-m", "", "-p", "no:cacheprovider", *QUIET, *marked], plugins=[found])
    finally:
        sys.stdout.close()
        sys.stdout = out
        settings.load_profile(profile)
    assert code == 0, "the tests cannot be collected"
    return found.items


def faults_of(item):
    """Return the faults that a test covers."""
    return [name for mark in item.iter_markers("fault") for name in mark.args]


def node(item):
    """Return the id of a test function, without its parameters."""
    return item.nodeid.partition("[")[0]


def _cases(item):
    """Return how many cases one collected test runs; for a property test, the number that `-m slow` runs."""
    return cases_of(item) * most_of(item)


def _counted(figures, test, fault):
    """Return how many cases of a fault the last long run of a test had, 0 if it did not count them."""
    counted = figures.get(test, {}).get("cases", 0)
    return counted.get(fault, 0) if isinstance(counted, dict) else counted


def table():
    """Return the table in Markdown, followed by the figures of the last long run."""
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    cases, tests = defaultdict(int), defaultdict(set)
    for item in collected():
        for name in faults_of(item):
            cases[name] += _counted(figures, item.nodeid, name) or _cases(item)
            tests[name].add(item.nodeid.partition("::")[0])
    lines = ["| fault | katod promises | shown by | cases |", "|---|---|---|---|"]
    for name, promise in FAULTS.items():
        files = [re.sub(r"^tests/|\.py$", "", file) for file in sorted(tests[name])]
        lines.append(f"| {name} | {promise} | {', '.join(f'`{file}`' for file in files)} | {cases[name]:,} |")
    told = [f"* {entry['told']}" for entry in figures.values() if entry.get("told")]
    return "\n".join([*lines, "", *told]) + "\n"


def note(test, cases, told):
    """Save the number of cases of a long run and a sentence for the table, if KATOD_UPDATE is set.

    `test` is the full id of the test, including its parameters. Of a test of several faults, `cases` has those of each.
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

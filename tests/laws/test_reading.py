"""There is one way to open an output for reading: `katod.record.reading`, and below it `katod.write`."""

import ast
import sys

import pytest

from tests.faults.test_reading import ELSEWHERE, REFUSING, made  # noqa: F401 - a fixture
from tests.modules import modules
from tests.support.world import in_new_process

# The modules that open files by their paths, and what they open. None of it is an output: those are opened through
# `katod.record.reading`, or, if no ledger knows them, through `katod.write.reading`.
OPENS = {
    "katod.cli.config": "a new configuration",
    "katod.cli.demo": "the transcript of the demo, in a directory that the demo made",
    "katod.cli.exporting": "a session file that a person named; a new export",
    "katod.cli.opening": "a new temporary file",
    "katod.cli.record": "the answer to a request",
    "katod.cli.cleared": "what was hidden in `katod status`",
    "katod.cli.seal": "a signature",
    "katod.cli.standardstreams": "/dev/null",
    "katod.cli.transcripts": "a file that a person named, and that is no recording",
    "katod.config": "the configuration",
    "katod.durable": "folders, to sync them",
    "katod.doctor.machine": "/proc",
    "katod.mcp.server": "standard input, and /dev/null in its place",
    "katod.livesettings": "the configuration",
    "katod.localzone": "the zone of this machine, and the zone database",
    "katod.delivery.http": "the token of Matrix, and headers for a collector",
    "katod.project.allowed": "a project's file; the list of those that are allowed",
    "katod.record.policy": "what git says of a worktree",
    "katod.record.promptfiles": "files of a project that clients make prompts of, through `smallfile`",
    "katod.seal.keys": "keys",
    "katod.seal.record": "an agent record that a person named",
    "katod.serve.page.recording": "the answer to a request; outputs, through `record.reading`",
    "katod.serve.access.token": "the token",
    "katod.serve.address": "where the running server listens",
    "katod.serve.app": "styles, script and icon of the page",
    "katod.rescue.copyfile": "sessions that were saved",
    "katod.rescue.notes": "why sessions cannot be saved",
    "katod.rescue.restoring": "nothing: it creates what is restored",
    "katod.rescue.saving": "the files of a session that is saved",
    "katod.service.control": "requests",
    "katod.service.interrupted": "the note of what ended with the state directory",
    "katod.service.lock": "the lock",
    "katod.service.manager": "unit files",
    "katod.service.pause": "the pause",
    "katod.service.program": "/proc",
    "katod.service.running": "the version that runs",
    "katod.service.sandbox": "/proc",
    "katod.service.home": "whose state it is, and the id of the machine",
    "katod.service.recordingfiles": "what status lines show",
    "katod.setup.made": "which folders setup made",
    "katod.setup.files": "the agents' own files",
    "katod.usage.pricetable": "a file with prices that a person named",
    "katod.processes": "what another process of this program passes on",
    "katod.smallfile": "small files, for the others",
    "katod.cli.sealhead": "the recording that a published head is compared with, which its person names",
    "katod.why.target": "the file that is asked about, which its person names: regular ones only, without waiting",
    "katod.store.integrity": "the ledger",
    "katod.tables.dataset": "the address of a data set",
    "katod.tables.place": "the files of a data set, and its directory",
    "katod.archive.drop": "the list in a directory of exports",
    "katod.archive.folder": "the directory of exports",
    "katod.record.export": "the folder of a new export",
    "katod.archive.excludedonce": "the projects of sessions that were excluded",
    "katod.archive.marks": "the list in a directory of exports",
    "katod.archive.machine": "the id of this machine",
    "katod.archive.commit": "the list in a directory of exports, and what git knows of a work tree",
    "katod.archive.folders": "the directories of exports",
}
# These open what they are for: session files, and files that katod writes.
OWN = ("katod.agents", "katod.discover", "katod.tail", "katod.write")
OPENING = {"read_text", "read_bytes", "read_small", "open_regular", "fdopen"}


def opens(node):
    """Return whether a call opens a file by its path."""
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in OPENING | {"open"}
    if not isinstance(called, ast.Attribute):
        return False
    holder = called.value.id if isinstance(called.value, ast.Name) else getattr(called.value, "attr", "")
    return called.attr in OPENING or (called.attr == "open" and holder in {"os", "io", "path", "own", "file", "target"})


@pytest.mark.form
def test_every_module_that_opens_files_says_which():
    """A new one needs a line in the table; if it shows outputs, it has to open them through `katod.record.reading`."""
    found = {
        name
        for name, module in modules().items()
        if not name.startswith(OWN) and any(isinstance(node, ast.Call) and opens(node) for node in module.nodes)
    }
    assert found == set(OPENS)


@pytest.mark.slow
@pytest.mark.parametrize("made", ["md", "jsonl"], indirect=True)
def test_no_reader_opens_an_output_by_its_path(made):  # noqa: F811
    """Each walks to it folder by folder, from its root: a whole path would follow links in it."""
    path = str(made.outputs()[0].path)
    opened = []

    def look(event, arguments):
        if event == "open" and arguments[0] == path:
            opened.append(reader[0])

    def act():
        sys.addaudithook(look)  # it cannot be taken out again
        for reader[0], read in (REFUSING | ELSEWHERE).items():
            read(made)
        assert {name for name in opened if not name.startswith("open ")} == set()  # there it is the person's program

    reader = [""]
    in_new_process(act)

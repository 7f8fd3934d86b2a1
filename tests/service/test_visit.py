"""The terminal session in packaging/README.md and the status in README.md, replayed with a real service manager."""

import os
import re
import shlex
import subprocess

import pytest

from tests import documents
from tests.support.pane import Pane
from tests.support.records import line
from tests.support.world import SOURCE

from .test_systemd import BEGIN, MANAGER, PROGRAM, managed  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

# What is not the same each time, and how it is written in the documents.
_SAME = ((r"\bPID \d+", "PID 4242"), (r"\b\d\d:\d\d\b", "22:36"), (r"\d{4}-\d\d-\d\d", "2026-02-10"))
_BARE = ("env", "-u", "KATOD_STATE_DIR", "-u", "KATOD_CONFIG")
_START = "# you type:  ::start"
_STOP = "# you type:  ::stop"
_SHOWN = {_START: "Done.", _STOP: "stopped"}  # in the transcript, once katod has written it


def replayed(world, steps):
    """Carry out the steps in a terminal, and return what it shows."""
    source, records = world.claude(), world.home / "records"
    records.mkdir()
    said = {
        _START: [
            source.user("::start\nAdd a login page to this shop.", cwd=f"{world.home}/shop"),
            source.says("Done."),
        ],
        _STOP: [source.user("::stop")],
    }
    script = [
        f"mkdir -p {shlex.quote(str(source.path.parent))} {world.home}/shop",
        f"cd {world.home}/shop",
    ]
    for number, step in enumerate(steps):
        script.append(f"echo {shlex.quote(step)}")
        if step.startswith("$ "):
            script.append(step[2:])
        elif step in said:
            (records / str(number)).write_bytes(b"".join(map(line, said[step])))
            script.append(f"cat {records}/{number} >> {shlex.quote(str(source.path))}")
            script.append(f"until_ 'grep -qs {_SHOWN[step]} {world.home}/katod/shop/*.md'")
            script.append("until_ 'katod status --json | grep -q bytes.:[1-9]'")  # katod knows that it is written
    environment = {
        "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE),
        "NO_COLOR": "1",
        "TZ": "UTC",
    }
    world.variables |= environment
    begin = BEGIN.format(manager=MANAGER) + "\n".join(script)
    with Pane(world, command=[*_BARE, "unshare", "--mount", "bash", "-c", begin], columns=100) as pane:
        assert pane.ended() == 0, pane.text
    shown = pane.text.replace(str(world.home), "/home/you")
    for pattern, text in _SAME:
        shown = re.sub(pattern, text, shown)
    return "\n".join(row.rstrip() for row in shown.splitlines())


def sized(text):
    """Return a text in which every size is the same: in README.md, another answer was recorded."""
    return re.sub(r"\b\d{3} B", "400 B", text)


def test_the_documents_show_what_happens(managed):  # noqa: F811
    """From installing the service over the first transcript to its removal, line by line; KATOD_UPDATE=1 rewrites it."""
    shown = documents.block(documents.PACKAGING, "visit").removeprefix("```console\n").removesuffix("```\n")
    steps = [row for row in shown.splitlines() if row.startswith(("$ ", "# "))]
    said = replayed(managed, steps) + "\n"
    if os.environ.get("KATOD_UPDATE"):
        documents.write(documents.PACKAGING, "visit", f"```console\n{said}```\n")
    assert documents.block(documents.PACKAGING, "visit") == f"```console\n{said}```\n"
    status = said.partition("$ katod status\n")[2].partition("# ")[0]
    indented = "\n".join(f"   {row}".rstrip() for row in status.splitlines())
    assert sized(indented) in sized(documents.text(documents.README)), "README.md shows another status"
    assert (
        subprocess.run(["find", str(managed.home / ".config"), "-type", "f"], capture_output=True, check=True).stdout
        == b""
    )

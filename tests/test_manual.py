"""The man pages: complete, current, and without any fault that a formatter reports."""

import re
import runpy
import shutil
import subprocess

import pytest

from katod import __version__
from katod.cli import GROUPS
from tests.documents import ROOT, commands

pytestmark = pytest.mark.form
MANUAL = runpy.run_path(str(ROOT / "packaging/manual.py"))
FOLDER = ROOT / "packaging/man"
FORMATTERS = {"groff": ["-man", "-ww", "-Tutf8", "-z"], "mandoc": ["-Tlint"]}


def complaints(formatter, files):
    """Return what a formatter reports about pages, apart from their lack of a date."""
    if shutil.which(formatter) is None:
        pytest.skip(f"{formatter} is not installed")
    done = subprocess.run([formatter, *FORMATTERS[formatter], *files], capture_output=True, text=True, check=False)
    return [line for line in (done.stdout + done.stderr).splitlines() if "missing date" not in line]


def test_the_man_pages_are_current():
    """The pages are those of the present help texts and version; `python packaging/manual.py` rewrites them."""
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == MANUAL["pages"]()


def test_every_command_and_option_is_in_the_manual():
    """There is a page for each command, with its options, and katod(1) leads to all of them."""
    pages = MANUAL["pages"]()
    assert {"katod.1"} | {f"katod-{'-'.join(words)}.1" for words, _ in commands()} == set(pages)
    missing = [
        f"{' '.join(words)} {name}"
        for words, command in commands()
        for option in command.params
        for name in option.opts
        if name.startswith("-") and name.replace("-", "\\-") not in pages[f"katod-{'-'.join(words)}.1"]
    ]
    assert missing == []
    assert f'"katod {__version__}"' in pages["katod.1"]


def test_the_manual_has_the_groups_of_the_help():
    """katod(1) lists each command below the title of its group."""
    _, *parts = re.split(r"^\.SS (.*)\n", MANUAL["pages"]()["katod.1"], flags=re.MULTILINE)
    shown = {
        title: re.findall(r"^\.BR katod\\-(\w+) ", part, re.MULTILINE)
        for title, part in zip(parts[::2], parts[1::2], strict=True)
    }
    assert shown == {title: list(group) for title, group in GROUPS.items()}


def test_text_is_no_request_to_the_formatter():
    """A line that begins with a dot or a quote is text, a backslash is one, and other signs are what they look like."""
    prose = MANUAL["_prose"]
    assert prose(".start 'here'") == "\\&.start \\(aqhere\\(aq"
    assert prose("a \\ b, `--all`, x…") == "a \\e b, \\fB\\-\\-all\\fP, x\\[u2026]"


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_no_formatter_complains(formatter, tmp_path):
    """All pages can be formatted without a warning; a page that is at fault is reported."""
    assert complaints(formatter, sorted(FOLDER.iterdir())) == []
    wrong = tmp_path / "wrong.1"
    wrong.write_text('.TH WRONG 1 "" "x" "y"\n.SH NAME\nwrong \\- \\[nonsense]\n.XX\n')
    assert complaints(formatter, [wrong]) != []

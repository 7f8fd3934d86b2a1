"""The lines in an agent's instructions: they are taken out as exactly as they were put in."""

import re
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from katod.model import Word
from katod.setup.instructions import LINES, added, removed
from tests.documents import text

BLOCK = re.compile(rb"setup: begin(, new file)? -->\r?\n(?:(?!<!-- katod setup: begin).)*?setup: end -->", re.DOTALL)
PIECES = [
    "a",
    "\n",
    "\r\n",
    " ",
    "```\n",
    "<!-- katod setup: begin -->\n",
    "<!-- katod setup: end -->\n",
    "<!-- ",
    "\udcff",
]
TEXTS = st.lists(st.sampled_from(PIECES)).map(lambda parts: "".join(parts).encode("utf-8", "surrogateescape"))


@given(TEXTS | st.binary())
def test_setup_and_remove_change_nothing(before):
    """Any file is afterwards what it was, byte for byte, and adding the lines twice is adding them once."""
    assume(not BLOCK.search(before))
    after = added(before)
    assert after.startswith(before)
    assert LINES.encode() in after
    assert added(after) == after
    assert removed(after) == before


def test_a_file_that_setup_created_is_removed_again():
    """An empty file that was there before is kept."""
    assert removed(added(None)) is None
    assert removed(added(b"")) == b""


@pytest.mark.parametrize("before", [None, b"", b"mine\n", b"mine"])
@pytest.mark.parametrize(("above", "below"), [(b"# Title\n\n", b""), (b"", b"\n* below\n"), (b"a", b"b")])
def test_what_was_written_around_the_lines_since_stays(before, above, below):
    """A text above and one below the lines are left as they are."""
    after = added(before)
    at = after.index(b"<!--")
    left = removed(above + after + below if before is None else after[:at] + above + after[at:] + below)
    assert (
        left == above + below
        if before is None
        else left.replace(b"\n", b"") == (before + above + below).replace(b"\n", b"")
    )


def test_an_editor_may_change_the_line_ends():
    """Lines that end otherwise now, or a last line without an end, are still recognised, and not added again."""
    for after in (added(b"mine\r\n").replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"), added(b"mine\n").rstrip(b"\n")):
        assert added(after) == after
        assert removed(after).rstrip() == b"mine"


def test_lines_of_an_earlier_version_are_replaced():
    """The lines are up to date after setup, and there is one block of them."""
    old = added(b"mine\n").replace(b"Ignore these lines", b"Skip them")
    assert added(old) == added(b"mine\n")


def test_the_lines_are_those_of_the_documentation():
    """Whoever adds them by hand adds the same."""
    assert f"```text\n{LINES}```" in text("packaging/README.md")


def test_agents_are_told_of_every_command():
    """A word that is not among them would be answered as a question."""
    assert sorted(re.findall(r"`::(\w+)`", LINES)) == sorted(get_args(Word))

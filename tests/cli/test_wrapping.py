"""Lines that are no wider than the terminal."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from katod.cli.wrapping import wrapped
from tests.examples import texts
from tests.support.records import Claude

WIDTH = 60
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")


def plain(lines):
    return ["".join(text for text, _ in line) for line in lines]


def test_a_line_is_broken_between_words_and_indented():
    """What follows is indented below the beginning; the style of each word stays."""
    lines = list(wrapped([("  the basket: ", "red"), ("is full of apples", "")], 20))
    assert plain(lines) == ["  the basket: is", "    full of apples"]
    assert ("basket:", "red") in lines[0]
    assert ("is", "") in lines[0]


def test_a_word_that_is_too_long_is_left_whole():
    """A path, which people copy."""
    path = "/home/me/a/very/long/path/to/a/transcript.md"
    assert plain(wrapped([(f"wrote {path} just now", "")], 20)) == ["wrote", f"  {path}", "  just now"]


@given(st.lists(st.tuples(texts(max_size=40), st.sampled_from(["", "red"])), max_size=5), st.integers(20, 80))
def test_nothing_is_lost_and_nothing_is_too_wide(pieces, width):
    """Whatever the words are: they stand in their order, and only one word alone may be wider."""
    pieces = [(" ".join(text.split()) + " ", style) for text, style in pieces]
    shown = plain(wrapped(pieces, width))
    assert " ".join(shown).split() == "".join(text for text, _ in pieces).split()
    assert not [line for line in shown if cell_len(line) > width and len(line.split()) > 1]


@pytest.fixture
def busy(world):
    """Return a world with something to say in every list."""
    make, source = Claude(), world.claude()
    long = "a first prompt with so many words that no terminal has room for all of them in one of its lines"
    source.append(make.user(long), make.says("hi"))
    world.once()
    source.append(make.user("::capture whole"), make.says("yes"), make.user("::start ../evil\nnow these words"))
    source.append(make.says("again"), make.user("::strat\n::record x"), make.says("text"))
    world.once()
    return world


def on_a_terminal(world, *arguments):
    """Return what a command prints on a terminal of this width, without colours."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(world.home)
        os.execve(sys.executable, [sys.executable, "-m", "katod", *arguments], world.environment | {"TERM": "xterm"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
    said = b""
    with suppress(OSError):  # its end
        while piece := os.read(terminal, 65536):
            said += piece
    os.close(terminal)
    os.waitpid(pid, 0)
    return ESCAPES.sub("", said.decode()).replace("\r", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "status",
        "sessions",
        "doctor",
        "verify",
        "search words",
        "export -f",
        "start zzz",
        "allow",
        "show nothing",
        "--help",
    ],
)
def test_no_command_prints_a_line_that_is_wider_than_the_terminal(busy, arguments):
    """Except for one word alone, such as a path, and for a command, which is copied."""
    lines = on_a_terminal(busy, *arguments.split()).split("\n")
    assert len(lines) > 1
    prose = [line for line in lines if not line.startswith("  katod show ")]
    assert not [line for line in prose if cell_len(line) > WIDTH and len(line.split()) > 1]

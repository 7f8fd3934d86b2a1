"""Words of commands that are printed to be pasted."""

import os
import shutil
import subprocess

import pytest

from katod.cli.printing import cleaned
from katod.shell import pasted
from tests.looping import each

HOSTILE = "dir\x1b[' && touch pwned; '\\"


@each(
    "word",
    [
        "plain", "", "two words", "it's", "$(touch pwned)", "é", HOSTILE, "a\nb\tc", "\x1b]0;title\x07\x9b31m",
        "\u202egnp.exe", "x\x1b", "\\047\x01", "\udcff\x1b'",
    ],
)  # fmt: skip
def test_a_word_arrives_as_it_is_and_cleaning_leaves_it(word):
    """Whatever its characters are, and on one line."""
    shown = pasted(word)
    assert shown.isprintable()
    assert cleaned(shown) == shown
    said = subprocess.run(["bash", "-c", f"printf %s {shown}"], capture_output=True, check=True)
    assert said.stdout == os.fsencode(word)


@pytest.mark.parametrize("shell", ["sh", "dash", "zsh", "fish"])
def test_a_shell_that_does_not_know_the_spelling_carries_out_nothing(tmp_path, shell):
    """It takes the word for another one, or for a mistake."""
    if shutil.which(shell) is None:
        pytest.skip("is not installed")
    subprocess.run([shell, "-c", f"echo {pasted(HOSTILE)}"], cwd=tmp_path, capture_output=True, check=False)
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_is_spelt_too():
    """JSON can have one, which no file name can."""
    assert pasted("\ud800") == "$'\\355\\240\\200'"

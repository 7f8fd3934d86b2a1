"""`katod show`: a transcript in the terminal or in a pipe."""

import os
import shutil

import pytest

from tests.support.pane import Pane
from tests.support.records import SESSION, Claude
from tests.support.world import World

needs_less = pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")


@pytest.fixture
def spoken(world):
    """Return a world with a conversation in which a tool was used."""
    make = Claude()
    answer = "See `x`:\n\n```py\nimport os\n```\n"
    world.claude().append(
        make.user("the question"), make.runs("t1", "make"), make.result("t1", "made"), make.says(answer)
    )
    return world


def test_in_a_pipe_it_is_what_an_export_is(spoken):
    """Plain Markdown, without colour; the options are those of an export."""
    assert spoken.cli("show", SESSION) == spoken.cli("export", SESSION)
    assert spoken.cli("show", SESSION, "--tools", "full") == spoken.cli("export", SESSION, "--tools", "full")
    assert spoken.cli("show", "latest", "--tools", "none") != spoken.cli("show", "latest")


def test_only_messages_with_some_words_are_shown_in_a_pipe(spoken):
    """All words have to be in a message, with what its tools did."""
    assert spoken.cli("show", SESSION, "--find", "QUESTION").splitlines()[0].endswith("the question")
    shown = spoken.cli("show", SESSION, "--find", "bash 'import os'")
    assert shown.startswith("### Claude")
    assert "the question" not in shown
    assert "import os" in shown
    spoken.cli("show", SESSION, "--find", "question bash", code=1)
    assert "nothing found" in spoken.said


def test_a_message_is_found_with_its_own_headings(world):
    """Words may be in different parts of it, and all of it is shown."""
    make = Claude()
    world.claude().append(make.user("question"), make.says("## One\n\nred\n\n## Two\n\nbasket\n\n## Three\n\nend"))
    assert world.cli("show", SESSION, "--find", "red basket").rstrip().endswith("end")


def test_what_a_person_put_into_a_file_is_cleaned(world):
    """Sequences and controls do not reach whatever the pipe leads to."""
    path = world.home / "x.md"
    path.write_bytes(b"# a \x1b]0;pwned\x07b\x1b[2J\n\xff\xc2\x9bc\n")
    assert world.cli("show", str(path)) == "# a b\n\ufffdc\n"


def test_a_missing_session_is_one_line(world):
    """As for every command."""
    world.cli("show", "nothing", code=1)
    assert "no session matches" in world.said


def pane(world: World, environment: str, options: str = "") -> Pane:
    """Return a terminal in which a session is shown, with these variables."""
    command = f'{environment} exec "$0" -m katod show {SESSION} {options}'
    return Pane(world, command=["sh", "-c", command, os.sys.executable])


@pytest.mark.slow
@needs_less
def test_on_a_terminal_it_is_paged_in_colour(spoken):
    """By `less`, which shows colours; without marks of Markdown."""
    with pane(spoken, "") as shown:
        shown.until(["the question", "Bash", "import os"])
        os.write(shown._screen, b"q")
        assert shown.ended() == 0
    assert "\x1b[1;4mthe question" in shown.raw
    assert "```" not in shown.text
    assert "ESC" not in shown.text


@needs_less
@pytest.mark.slow
def test_the_pager_begins_at_what_was_looked_for(world):
    """The message with the words is at the top, with a mark."""
    make = Claude()
    world.claude().append(
        *(make.user(f"message {'with a needle' if number == 55 else number}") for number in range(60))
    )
    with pane(world, "", "--find 'message needle'") as shown:
        shown.until("with a needle")
        os.write(shown._screen, b"q")
        assert shown.ended() == 0
    assert "message 30" not in shown.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "has_colour"), [("PAGER=", True), ("PAGER=cat", True), ("PAGER=cat NO_COLOR=1", False)]
)
def test_pagers_and_colours_are_chosen_by_the_environment(spoken, environment, has_colour):
    """No pager if it is set but empty; no colour at all if that is wanted."""
    with pane(spoken, environment) as shown:
        assert shown.ended() == 0
    assert "the question" in shown.text
    assert ("\x1b[1" in shown.raw) == has_colour


@pytest.mark.slow
def test_a_session_of_any_size_appears_at_once(world):
    """The first screen is there before the rest is read."""
    make = Claude()
    world.claude().append(make.user("the question"), *(make.says(f"answer {n} " * 2000) for n in range(3000)))
    with pane(world, "") as shown:
        shown.until(["the question", "answer 0"])
        os.write(shown._screen, b"q")
        assert shown.ended() == 0

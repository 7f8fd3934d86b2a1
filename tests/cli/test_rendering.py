"""Transcripts in a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.cli.rendering import Screen, render
from katod.text import clean
from tests.examples import examples, texts
from tests.looping import each

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
FOLD = """
<details>
<summary>▸ <b>Bash</b> <code>npm &lt;x&gt;</code> → exit 1</summary>

```sh
npm test
```

<details>
<summary>inner</summary>

deep

</details>

</details>

after
"""


@pytest.fixture(autouse=True)
def _terminal(monkeypatch):
    """Have 16 colours, whatever this terminal has."""
    monkeypatch.setenv("TERM", "xterm-16color")
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def shown(text, width=80):
    """Return what is shown of a text, without colours."""
    return ESCAPES.sub("", "".join(render([text], width)))


def test_markdown_is_shown_without_its_marks():
    """Headings, emphasis, code, links, lists and tables; the front matter is left out."""
    text = '---\ntitle: "x"\n---\n\n# Title\n\n**a** `b` [c](http://d.e)\n\n- one\n- two\n\n| h | i |\n|---|---|\n| 1 | 2 |\n'
    lines = [" ".join(line.split()) for line in shown(text).splitlines() if line.strip(" ─━")]
    assert lines == ["Title", "a b c (http://d.e)", "• one", "• two", "h i", "1 2"]


def test_there_are_colours():
    """A heading is bold, and a keyword of a program has a colour."""
    raw = "".join(render(["# Title\n\n```py\nimport os\n```\n"], 80))
    assert "\x1b[1;4mTitle" in raw
    assert re.search(r"\x1b\[[0-9;]*m.?import", raw)


def test_a_collapsed_block_is_open_and_indented():
    """Its summary comes first, what is in it is indented, and no tag is left."""
    assert shown(FOLD).splitlines() == [
        "▸ Bash npm <x> → exit 1", "     npm test", "", "   inner", "      deep", "", "after"
    ]  # fmt: skip


@each(
    "html, expected",
    [
        ("<div>words</div>", "words"),
        ("> <p>quoted</p>", "▌ quoted"),
        ("a<br>b", "a\nb"),
        ("<!-- nothing -->\n\nwords", "words"),
        ("</details>\n\nwords", "words"),
        ("one <b>two</b>", "one two"),
    ],
)
def test_of_other_html_only_the_text_is_shown(html, expected):
    """In a block of its own, within a quotation, or within a line."""
    assert "\n".join(line.strip() for line in shown(html).strip().splitlines()) == expected


def test_the_first_section_is_shown_before_the_second_is_read():
    """A transcript of any length appears at once."""

    def endless():
        while True:
            yield "## Heading\n\nwords\n\n"

    assert "Heading" in next(part for part in render(endless(), 80) if part)


def test_items_that_arrive_one_by_one_are_one_list():
    """There is a blank line where the Markdown has one, and nowhere else."""
    screen = Screen(80)
    pieces = ("\n## a\n", "\n- one\n", "- two\n", "\nwords\n")
    text = "".join(part for piece in pieces for part in (*screen.take(piece), *screen.flush()))
    assert ESCAPES.sub("", text) == "a\n\n • one\n • two\n\nwords\n"


@examples(3, 1000)
@given(text=texts() | st.text(st.sampled_from("<>/details summary`#*_[]()!|-&#;x\n\x1b\u202e"), max_size=200))
def test_nothing_affects_the_terminal_but_colours(text):
    """Whatever a transcript contains: sequences, controls, and what Markdown spells."""
    raw = ESCAPES.sub("", "".join(render([f"{text}\n\n&#8238; &#27;[31m &#x9b;"], 40)))
    assert clean(raw) == raw


@pytest.mark.slow
@each(
    "text", ["[" * 9000, "*a **a " * 5000, "> " * 5000, "<" * 20_000, "[a](" * 5000, "x" * 2_000_000, "<div\n" * 5000]
)
def test_hostile_markdown_takes_no_longer_than_other(text):
    """Neither the library nor katod is slow with it; a test that hangs would show it."""
    assert isinstance(shown(text), str)

"""Text for Markdown: what a message may contain without affecting the rest of the transcript."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod.formats.text.mdtext import body, code, fenced, html, inline, quoted
from katod.text import clean
from tests.examples import texts
from tests.looping import each

MARKDOWN = MarkdownIt("commonmark")


def tokens(text, kind):
    return [token for token in MARKDOWN.parse(text) if token.type == kind]


def headings(text):
    """Return the levels of the headings that a text renders."""
    return [int(token.tag[1]) for token in tokens(text, "heading_open")]


def blocks(text):
    """Return the contents of the code blocks that a text renders."""
    return [token.content.rstrip() for token in tokens(text, "fence")]


# -- characters --------------------------------------------------------------------------------------


@each("text", ["plain", "tab\tand\nnewline", "漢字 🙂 עברית", "a\u200bb\u200d🙂", "e\u0301", "a\u00a0b\u2028c"])
def test_ordinary_text_stays_as_it_is(text):
    """Letters of any script, joiners, tabs and newlines are kept."""
    assert clean(text) == text


@each(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;1mx\x1b[K", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bMx", "x"),
        ("a\x00b\x07c\x08d\x7fe", "abcde"),
        ("a\x85b\x9b31mc", "ab31mc"),
        ("a\r\nb\rc", "a\nbc"),
        ("a\u202eb\u202cc\u2066d\u2069e", "abcde"),
        ("\x1b", ""),
    ],
)
def test_what_acts_on_a_terminal_or_turns_text_around_goes(text, shown):
    """Escape sequences, control characters and bidirectional overrides are removed."""
    assert clean(text) == shown


@given(texts())
def test_clean_text_has_no_control_characters(text):
    """Clean text has nothing that acts on a terminal, and cleaning it again changes nothing."""
    shown = clean(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert clean(shown) == shown


# -- inline ------------------------------------------------------------------------------------------


@each(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        (" a\n\n b\tc ", "a b c"),
        ("snake_case_name", "snake_case_name"),
        ("_lean_ *star* `tick` [a](b) ~~x~~", r"\_lean\_ \*star\* \`tick\` \[a\](b) \~~x\~~"),
        ("<b> & &amp;", "&lt;b> & &amp;amp;"),
        ("a\\b", "a\\\\b"),
    ],
)
def test_inline_text_is_one_line_without_markup(text, shown):
    """Whatever a name or a title contains, it is rendered literally, on one line."""
    assert inline(text) == shown


@given(st.text("ab _*`[]()<>&;\\~!#|:/\n") | texts())
def test_inline_text_reads_as_it_was(text):
    """In the middle of a line, text is rendered literally and opens nothing."""
    [token] = tokens(f"x {inline(text)} x", "inline")
    assert {child.type for child in token.children} <= {"text", "text_special"}
    assert "".join(child.content for child in token.children).split() == f"x {clean(text)} x".split()


@given(texts(max_size=40))
def test_inline_code_reads_as_it_was(text):
    """Code is rendered literally, whatever backticks it contains."""
    words = " ".join(clean(text).strip().splitlines())
    [token] = tokens(f"x {code(text)} x", "inline")
    assert [child.content for child in token.children if child.type == "code_inline"] == ([words] if words else [])


@given(st.text("`ab \n~\\", max_size=40), st.sampled_from(["", "bash", "text"]))
def test_fenced_text_reads_as_it_was(text, language):
    """A code block contains its text, whatever fences are in it, and ends where it should."""
    [token] = tokens(f"{fenced(text, language)}\n\nbehind", "fence")
    assert (token.info, token.content) == (language, f"{text.rstrip(chr(10))}\n" if text.strip("\n") else "\n")


@pytest.mark.parametrize(
    ("text", "shown"), [("<b>&", "&lt;b&gt;&amp;"), ("a\n b", "a b"), ("</summary>", "&lt;/summary&gt;")]
)
def test_html_text_is_one_line_without_markup(text, shown):
    """Text inside an HTML element is escaped and on one line."""
    assert html(text) == shown


def test_quotation_keeps_its_paragraphs():
    """Each line of a quotation is marked, including blank ones."""
    assert quoted("a\n\n# b\n") == "> a\n>\n> #### b"


# -- bodies ------------------------------------------------------------------------------------------


@pytest.mark.slow
@each("unit", ["-", " -", "=", "- ", "> ", "<", "`", "[", "|", "*", "&", "<a ", "1. ", "#", "~"])
def test_no_long_line_takes_longer_than_its_length(unit):
    """A line of fifty thousand markup characters takes linear time: a backtracking pattern would not finish."""
    assert body(f"{unit * 50_000}x")


@each(
    "text",
    [
        "plain",
        "a\n\nb\n- c\n- d\n\n1. e\n> f",
        "#hashtag and #1",
        "a --- b\n--x\n==y",
        "---\n\na",
        "| a | b |\n|---|---|\n| c | d |",
        "```python\n# comment\n## more\n===\n```",
        "~~~\n# comment\n```\n# more\n~~~",
        "- Run:\n\n  ```bash\n  # install\n  make\n  ```\n- Done",
        "1. Run:\n   ```bash\n   # install\n   ```",
        "Indented:\n\n    # a comment\n    x = 1",
        "a <b>bold</b> word, a < b, Vec<T>, <some_tag>, `<div class=x>`, <https://x.y>",
        "<!-- note -->\nseen",
        "<details>\n<summary>x</summary>\n\ny\n\n</details>",
        "It returns `Promise<string | null>` now, and `Map<string, T>` stays.",
        "Run `cat a | grep b`, then see `Vec<u8>`.",
        "if a<b, then f()<g; cat <<EOF\nmore",
        "<me@x.org> wrote",
        '<div class="note">\nhi\n</div>',
        "[the long title of the\nmanual](https://x.y/z), [1, 2,\n3]",
    ],
)
def test_ordinary_message_stays_as_it_is(text):
    """A message without headings that closes everything it opens is unchanged."""
    assert body(text) == text


@each(
    ("text", "shown"),
    [
        ("# Plan", "#### Plan"),
        ("## Plan", "##### Plan"),
        ("### Plan", "###### Plan"),
        ("#### Plan", "###### Plan"),
        ("##### Plan", "###### Plan"),
        ("###### Plan", "###### Plan"),
        ("  # Plan #", "#### Plan #"),
        ("#", "####"),
        ("#\tPlan", "####\tPlan"),
        ("####### no heading", "####### no heading"),
        ("a\n# b\n```\n# c\n```\n# d", "a\n#### b\n```\n# c\n```\n#### d"),
        ("Plan\n====", "#### Plan\n"),
        ("Plan\n---\nmore", "#### Plan\n\nmore"),
        ("<h1>x</h1>", "<h4>x</h4>"),
        ('<H2 align="right">x</H2>', '<H5 align="right">x</H5>'),
    ],
)
def test_headings_move_below_the_speaker(text, shown):
    """A heading of a message moves three levels down, unless it is in code."""
    assert body(text).rstrip("\n") == shown.rstrip("\n")


@each(
    "text",
    [
        "> # quoted", "- # item", "1. # item", "+ # item", ">#x\n># y", "> > # twice", "- > # item", "1. a\n\n   # in item",
        "1. a\n\n    # in item", "- a\n  - b\n\n      # in item", "-\n    # in item", "- a\n\t# in item",
        "2024 in short\n---", "#tag\n---", "|x\n---", "```code``` x\n---", "a\nb\n===", "\u00a0\n===", "- a\n  ---", "> a\n> ---",
        "    ```\n# behind", "\t```\n# behind", "- ```\n# behind", "> ```\n# behind", "text\n    ```\n# behind",
        "```\n- ```\n# in\n```\n# behind", "```\n    ```\n# in\n```\n# behind", "```\n\t```\n```\n# behind",
        "<!--\n```\n-->\n# behind", "<div>\n```\n\n# behind", "<script>\n```\n</script>\n# behind", "<!--\n# in\n-->\n# behind",
        "`<!--`\n# behind", "<?php\n```\n?>\n# behind", "- a\n\n```\n# in\n```\n# behind", "~~~ `\n# in\n~~~\n# behind",
    ],
)  # fmt: skip
def test_no_heading_keeps_a_speakers_level(text):
    """However deeply a heading is nested, and whatever precedes it, it moves below those of the speakers."""
    assert [level for level in headings(body(text)) if level < 3] == []


@each(
    "text",
    [
        "```", "~~~py\n# x", "````\n```", "- ```\n  x", "1. ```\n   x", "> ```", "    ```", "- ```\n\nx", "```\n    ```", "```\n- ```",
        "- ```\n#tag", "- ```\n```", "\t```\n~~~", "  ```\n\tx",
        "<!--", "a <!-- b", "<!--\n\nx", "<!-- -->\n<!--", "-->", "`<!--`", "```\n<!--\n```",
        "<?php", "<?xml x", "<![CDATA[", "<!X", "<!DOCTYPE html\nx",
        "<script>", "<script", "<style", "<pre\nx", "<textarea>", "<script>\n</style>", "<pre>\n```", "<div>\n```",
        "<div>", "<details>", "<details>\n<summary>", "<table>\n<tr>", "</div>", "<div\nx", "<a href='", "<x-y>", "<title>",
        "[a]: <", "[a]: /u '", "`open", "**open", "| a |\n|---|", "- a", "1. a", ">", "    x", "\\", "&", "<", "![", "a  ",
    ],
)  # fmt: skip
def test_what_a_message_leaves_open_does_not_swallow_what_follows(text):
    """The text after a message is a paragraph of its own, whatever the message opened."""
    parsed = MARKDOWN.parse(f"## Before\n\n{body(text)}\n\nbehind\n\n## After\n")
    paragraphs = [parsed[n + 1].content for n, t in enumerate(parsed) if t.type == "paragraph_open" and t.level == 0]
    assert paragraphs[-1] == "behind"
    assert [token.tag for token in parsed if token.type == "heading_open"][-1] == "h2"


@pytest.mark.parametrize(
    "text", ["use `<!--` here", "a --> b", "`<div>` and `</div>`", "```\n<!--\n<div>\n```", "if a < b > c"]
)
def test_what_only_looks_open_gets_no_closing(text):
    """Nothing is appended for markup that is only in code, or is not markup at all."""
    assert body(text) == text


@each(
    "text",
    [
        "```\n# a\n- ```\n# b\n```", "```\n    ```\n# b\n```", "- x\n\n  ```\n  # a\n  ```", "> ```\n> # a\n> ```",
        "- ```\n  # a\n  ```\n\nx", "~~~\n```\n# a\n~~~", "1. x\n\n       ```\n       # a", "```\na\n===\n<h1>\n```",
    ],
)  # fmt: skip
def test_code_is_kept_intact(text):
    """The content of a code block is never changed, wherever the block is."""
    assert blocks(body(text)) == blocks(text)
    assert [t.content for t in tokens(body(text), "code_block")] == [t.content for t in tokens(text, "code_block")]


LINES = st.sampled_from(
    [
        "",
        "text",
        "# h",
        "## h",
        "- item",
        "  more",
        "> q",
        "```",
        "```py",
        "~~~",
        "    x",
        "a <b> c",
        "---",
        "===",
        "#tag",
        "1. x",
    ]
)


@given(st.lists(LINES, max_size=10).map("\n".join))
def test_every_word_of_a_message_stays(text):
    """Whatever is moved or closed, all words of a message stay, in order."""
    shown = re.sub(r"\n\n(?:</b>)+$", "", body(text))
    assert re.findall(r"\w+", shown) == re.findall(r"\w+", text)

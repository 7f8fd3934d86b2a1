"""HTML in one message: harmless tags are kept, all others are escaped."""

import pytest

from katod.formats.text.mdhtml import Tags


def printed(*lines, is_html=False, tables=False):
    """Return the lines of one message as rendered, and the end tags that close what it left open."""
    tags = Tags(tables=tables, ends=sum(line.count(">") for line in lines))
    return [tags.line(line, is_html=is_html) for line in lines], tags.closing()


@pytest.mark.parametrize(
    "text",
    ["<b>bold</b>", "<br>", '<a href="https://example.org">link</a>', '<img src="a.png">', "a < b", "<https://a.org>",
     "`<script>`", r"\<script>", "<!-- comment -->", "no tags", "<some_name>"],
)  # fmt: skip
def test_what_only_marks_up_stays(text):
    """Harmless tags, code and text that is not an element are kept."""
    assert printed(text) == ([text], "")


@pytest.mark.parametrize(
    "text",
    ["<script>", "</script>", "<style>", "<iframe src='x'>", "<b onclick=x>", '<a href="javascript:x">', "<form>", "<SCRIPT>", "</b>", "<!-- no end"],
)  # fmt: skip
def test_what_acts_is_shown(text):
    """The `<` of an active tag is escaped, and nothing else is changed."""
    assert printed(text) == ([text.replace("<", "&lt;")], "")


def test_an_address_swallows_no_escape():
    """To a forge an address goes on to the next `<`, also in a tag that is shown, so a backslash would not escape it."""
    tags = Tags(tables=False, ends=2, literal=True)
    assert tags.line(r'<img src="http://a">\<div>', is_html=False) == r'\<img src="http://a">&lt;div>'


def test_an_address_in_code_swallows_no_escape_either():
    """A piece that may be code, or not, is escaped by entities if an address in it comes before one of its `<`."""
    tags = Tags(tables=False, ends=2, literal=True)
    tags.line("` <b>", is_html=False)
    assert tags.line("`http://a<div>`", is_html=False) == "`http://a&lt;div>`"
    assert tags.line("`<i> b`", is_html=False) == r"`\<i> b`"


def test_what_is_left_open_is_closed_in_its_order():
    """Open elements are closed innermost first; an element that is already closed is not closed again."""
    assert printed("<div><b>bold</b>", "<i>") == (["<div><b>bold</b>", "<i>"], "</i></div>")


def test_an_end_tag_closes_only_what_was_opened_last():
    """Any other end tag is escaped: it could close an element outside the message."""
    assert printed("<div><b>", "</div>") == (["<div><b>", "&lt;/div>"], "</b></div>")


def test_headings_move_below_those_of_the_conversation():
    """The start and end tags of a heading of level 1, 2 or 3 become those of level 4, 5 or 6."""
    shown = ["<h4>one</h4>", "<h5>two</h5>", "<h6>three</h6>", "<h4>four</h4>"]
    assert printed("<h1>one</h1>", "<h2>two</h2>", "<h3>three</h3>", "<h4>four</h4>") == (shown, "")


def test_code_that_may_not_be_code_is_shown():
    """After an open backtick in a paragraph it is unclear what is code, so tags are escaped until the next block."""
    tags = Tags(tables=False, ends=9)
    assert tags.line("one ` <b>", is_html=False) == "one ` &lt;b>"
    assert tags.line("two ` <b>", is_html=False) == "two ` &lt;b>"
    tags.begin()
    assert tags.line("three <b>", is_html=False) == "three <b>"


def test_nothing_is_code_in_a_block_of_html():
    """In an HTML block, readers do not treat backticks as code, so tags between them are escaped."""
    assert printed("`<script>`", is_html=True) == (["`&lt;script>`"], "")


def test_tags_nest_only_so_deep():
    """Tags nested deeper than a limit are escaped: readers have a limit, and a message's state must stay small."""
    [line], closing = printed("<div>" * 200)
    assert line.count("<div>") == closing.count("</div>") == 100
    assert line.count("&lt;div>") == 100

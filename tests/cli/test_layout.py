"""Tables and lines for people."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from katod.cli import layout
from katod.cli.layout import TextSpan, cropped, cut, line, table
from tests.examples import texts
from tests.looping import each


def plain(lines):
    """Return lines without their styles."""
    return ["".join(span.text for span in spans) for spans in lines]


def test_columns_are_aligned_by_cells():
    """Wide characters count for two; the last column is not padded."""
    rows = [[TextSpan("a"), TextSpan("b")], [TextSpan("你好"), TextSpan("x")]]
    assert plain(table(rows, width=None)) == ["a     b", "你好  x"]


def test_the_widest_flexible_column_is_cut_first():
    """Other columns keep their width, and the cut is visible."""
    rows = [[TextSpan("x" * 12), TextSpan("y" * 30), TextSpan("z" * 20)]]
    assert plain(table(rows, width=50, flexible=(1, 2))) == [f"{'x' * 12}  {'y' * 16}…  {'z' * 16}…"]


def test_one_long_cell_of_a_loose_column_costs_the_other_rows_nothing():
    """It takes its room from the end of its own row."""
    rows = [
        [TextSpan("id"), TextSpan("title")],
        [TextSpan("a" * 30), TextSpan("t" * 20)],
        [TextSpan("b" * 8), TextSpan("t" * 20)],
    ]
    assert plain(table(rows, width=40, flexible=(1,), loose={0: 10})) == [
        "id          title", f"{'a' * 30}  ttttttt…", f"bbbbbbbb    {'t' * 20}",
    ]  # fmt: skip


@given(st.lists(st.lists(texts(), min_size=3, max_size=3), min_size=1, max_size=4), st.integers(40, 90))
def test_whatever_is_in_a_cell_a_row_is_one_line(rows, width):
    """No character of a cell breaks a line or moves the cursor."""
    for shown in plain(table([[TextSpan(text) for text in row] for row in rows], width=width, flexible=(0, 1, 2))):
        assert not any(char in shown for char in "\n\r\t\x1b\b")
        assert cell_len(shown) <= width


@pytest.mark.parametrize(("width", "shown"), [(20, "one two"), (7, "one two"), (5, "one…"), (1, "…")])
def test_a_line_is_cropped_to_a_width(width, shown):
    """With an ellipsis where something is missing."""
    assert "".join(span.text for span in cropped((TextSpan("one "), TextSpan("two", "bold")), width)) in (
        shown,
        f"{shown[:-1]} …",
    )


def test_text_that_fits_is_not_cut():
    """Neither is text of exactly that many cells."""
    assert cut("你好", 4) == "你好"
    assert cut("你好", 3) == "你…"


def test_no_control_character_reaches_the_terminal(capsys):
    """Colours of katod itself appear on a terminal only."""
    layout.show([line("a\x1b[31mb\nc", "red")])
    assert capsys.readouterr().out == "ab c\n"
    assert click.style("x", **layout._STYLES["red"]) == "\x1b[31mx\x1b[0m"


@each(
    ("text", "width", "shown"),
    [
        ("one two three", 13, "one two three"), ("one two three", 12, "one two…"), ("one two three", 8, "one two…"),
        ("one two three", 5, "one…"), ("onetwothree", 5, "onet…"), ("a onetwothree", 9, "a onetwo…"), ("one", 1, "…"),
        ("one", 0, "…"),
    ],
)  # fmt: skip
def test_a_text_is_cut_after_a_word_that_ends_near_there(text: str, width: int, shown: str) -> None:
    """In the last third; a long word is cut itself, so that most of the room is used."""
    assert cut(text, width) == shown

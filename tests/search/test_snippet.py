"""What is shown of a hit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.text.mdblocks import neutral
from katod.search.markup import plain
from katod.search.query import Query
from katod.search.snippet import closeness, comparable, gist, snippet, surroundings
from tests.examples import texts


@given(texts(max_size=300), texts(min_size=1, max_size=10), texts(max_size=300), st.integers(20, 120))
def test_it_is_one_line_of_limited_length(before, word, after, width):
    """Whatever the text is, no more than asked for is shown, without line ends and control characters."""
    query = Query([word])
    shown = snippet(surroundings(before + word + after, query), query, width)
    assert len(shown) <= width
    assert shown.isprintable() or not any(ord(char) < 32 for char in shown)


def test_pictures_of_a_font_are_left_out():
    """Prompts of shells have characters for private use, which are boxes in other fonts."""
    query = Query(["needle"])
    near = surroundings("\ue0b0 main \uf418 the needle\U000f0a1e end", query)
    assert snippet(near, query, 60) == "main the needle end"


@pytest.mark.parametrize(("before", "after"), [(0, 0), (5, 500), (500, 5), (500, 500)])
def test_the_word_is_in_it_wherever_it_stands(before, after):
    """An ellipsis shows where the text goes on."""
    query = Query(["needle"])
    shown = snippet(surroundings("so " * before + "the Needle " + "on " * after, query), query, 60)
    assert "Needle" in shown
    assert shown.startswith("…") == (before == 500)
    assert shown.endswith("…") == (after == 500)


def test_it_shows_as_many_of_the_words_as_fit():
    """Of several places of a word, the one near the others is shown."""
    query = Query(["basket", "red"])
    text = f"A basket. {'And more. ' * 50} A red basket. {'And more. ' * 50}"
    assert "red basket" in snippet(surroundings(text, query), query, 60)


def test_words_far_apart_are_shown_in_pieces():
    """Each has some of what stands around it; if there is no room for that, the place of the longest word is shown."""
    query = Query(["basket", "needle"])
    near = surroundings(f"The red basket {'so ' * 100}and the long needle {'on ' * 100}", query)
    shown = snippet(near, query, 60)
    assert "red basket" in shown
    assert "needle" in shown
    assert len(shown) <= 60
    assert "…" in snippet(near, query, 40)


def test_what_was_redacted_is_shown_where_it_was():
    """If what was looked for is a secret, or a part of one, its replacement is shown."""
    query = Query(["hunter2"])
    assert "[REDACTED:x]" in snippet(surroundings(f"{'so ' * 200}[REDACTED:x]{'on ' * 200}", query), query, 40)


def test_the_gist_does_not_depend_on_how_a_text_is_written():
    """In a transcript a text has other blanks and escapes than in its session, but the same letters."""
    query = Query(["b"])
    assert gist(surroundings("a_b\n\nc", query), query) == gist(surroundings(r"a\_b c", query), query)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("a <b>x</b> needle", r"a \<b>x\</b> needle"),
        ("a <b>x</b> needle", "a <b>x</b> needle"),
        ("a &lt; needle_1", "a &amp;lt; needle\\_1"),
        ("a &lt; needle_1", "a &lt; needle_1"),
        ("a `&amp;lt;` needle", "a `&amp;lt;` needle"),
        ("a <summary>x</summary> needle", r"a \<summary>x\</summary> needle"),
        ("a\n<details>\n<summary>x</summary>\nneedle", "a\n<details>\n<summary>x</summary>\nneedle"),
        ("▸ Thinking\nneedle", "<details>\n<summary>▸ Thinking</summary>\n\nneedle"),
        ("tests/\nneedle", " tests/</summary>\n\nneedle"),
        *(
            (said, neutral(said))
            for said in (
                "add <details> needle",
                "<div>\n<b>needle",
                "<pre>x needle",
                "a <pre>x needle",
                "add <details> needle\n",
                "<details>\nneedle\n\n</details>",
                "<details>\nneedle\n</details>",
                "`<details>` needle\n\n</details>",
                "needle\n\n</details>",
                "<b>x</b> <br> needle <b>\n\n</b>",
            )
        ),
    ],
)
def test_markup_makes_no_difference(said, written):
    """A passage is compared as it is written: what it shows has lost the tags of a message."""
    query = Query(["needle"])
    texts = comparable(said, "", query), comparable(plain(written), written, query)
    assert len({gist(surroundings(text, query), query) for text in texts}) == 1


def test_tags_of_a_message_make_a_difference():
    """Two messages that differ in them are two."""
    query = Query(["needle"])
    texts = comparable("a <b>x</b> needle", "", query), comparable("a x needle", "a <i>x</i> needle", query)
    assert len({gist(surroundings(text, query), query) for text in texts}) == 2
    texts = comparable("<b>a</b> needle\n\n</b>", "", query), comparable("a needle", "<b>a</b> needle", query)
    assert len({gist(surroundings(text, query), query) for text in texts}) == 2


def test_words_that_are_markup_are_compared_as_they_stand():
    """They would be lost."""
    assert comparable("a &lt; b", "", Query(["&lt;"])) == "a &lt; b"
    deep = "&" + "amp;" * 100_000
    assert comparable(deep, "", Query(["amp"])).startswith("&amp;")


def test_of_several_words_the_one_that_is_there_is_shown():
    """A snippet is around it, and it matches as well as a word alone."""
    query = Query([("needle", "basketball")])
    near = surroundings(f"{'so ' * 3000}the needle{' on' * 3000}", query)
    assert "needle" in snippet(near, query, 60)
    assert closeness(near, query) == closeness(near, Query(["needle"]))

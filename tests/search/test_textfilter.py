"""The filter of Markdown and of pages: no text in which a word is shown is kept back."""

from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.search.markup import plain
from katod.search.query import Query
from tests.examples import examples
from tests.search.test_prefilter import CHANCE, SCRIPT, SCRIPTS


def _shown(char, chance):
    """Return a character in one of the ways in which it may be written."""
    entity = chance.choice([f"&#{ord(char)};", f"&#x{ord(char):X};", escape(char), f"\\{char}", f"</b>{char}"])
    return (
        entity
        if (chance.random() < 0.1 and not char.isalnum()) or (not char.isascii() and chance.random() < 0.1)
        else char
    )


@examples(20, 400)
@given(st.data(), SCRIPT, CHANCE)
def test_no_text_that_shows_a_word_is_kept_back(data, script, chance):
    """Letters beyond ASCII may be entities, and tags may be between them."""
    word = data.draw(st.text(st.sampled_from(SCRIPTS[script] + "x7."), min_size=1, max_size=8))
    query = Query([word])
    written = f"a {''.join(_shown(char, chance) for char in word)} b"
    if query.words and query.matches(plain(written)):
        assert query.may_be_in_text(written)
        assert query.may_be_in_text(written.encode())
        assert query.may_be_in_page(written.encode())


@pytest.mark.parametrize("form", ["may_be_in_text", "may_be_in_page"])
def test_a_text_without_the_letters_is_left_out(form):
    """Also one with tags, and with the entities of markup's own signs."""
    query = Query(["größe"])
    assert not getattr(query, form)("<p>Gro\u0308ße &amp; <b>Großes</b></p>".encode())
    assert not getattr(Query(["basket"]), form)(b"<p>A bask, and an et</p>")
    assert getattr(query, form)("<p>Die <b>GRÖẞE</b></p>".encode())


def test_letters_may_be_split_by_tags_of_code_in_a_page():
    """The letters beyond ASCII are looked for one by one there."""
    assert Query(["naïve_größe"]).may_be_in_page("<i>na</i><b>ï</b>ve_<i>grö</i>ße".encode())

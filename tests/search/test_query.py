"""What is looked for, as text and as a filter of bytes."""

import html
import json
import re
import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from katod.search.query import Query, like
from tests.examples import texts

CASES = st.sampled_from([str, str.lower, str.upper, str.swapcase])


def _as_go(text):
    """Write JSON as Go does: what could be markup is escaped."""
    written = json.dumps(text, ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", written)


# Ways in which agents write text: Python's, JavaScript's, Go's, PHP's, JSON in a string of JSON, and entities in text.
WRITERS = (
    json.dumps,
    lambda text: json.dumps(text, ensure_ascii=False),
    _as_go,
    lambda text: json.dumps(text).replace("/", "\\/"),
    lambda text: json.dumps(json.dumps(text)),
    lambda text: json.dumps(json.dumps(text, ensure_ascii=False), ensure_ascii=False),
    lambda text: json.dumps(html.escape(text)),
)


def test_all_words_have_to_be_in_the_text_in_any_case():
    """Each word is looked for by itself; one with a blank in it stands together."""
    query = Query(["Login", "the page"])
    assert query.matches("Make the PAGE for login.")
    assert not query.matches("Make the new page for login.")
    assert not query.matches("Log in: the page")


def test_whole_words_stand_for_themselves():
    """No letter, digit or underscore is beside them; signs in a word are part of it."""
    query = Query(["right", "a.b"], whole=True)
    assert query.matches("Right: (a.b)")
    assert not query.matches("copyright a.b")
    assert not query.matches("right xa.b")
    assert list(query.places("copyright right", "right")) == [10]


def test_empty_words_are_no_words():
    """Blanks around a word do not count, and one that is left out twice is one."""
    assert Query(["", "  ", " a ", "A"]).words == ("a",)


@given(
    texts(max_size=30), texts(min_size=1, max_size=12), texts(max_size=30), CASES, st.sampled_from(range(len(WRITERS)))
)
@example("", "\\", "", str, 4)
@example("", 'say "é', "", str.upper, 0)
@example("", "\U0001f600x", "", str, 0)
@example("", "</b>", "", str, 2)
@example("", "a\tb", "", str, 4)
@example("", "Ωσ", "", str.upper, 1)
@example("", "\u0130", "", str, 1)
@example("", "fuß", "", lambda text: text.replace("ß", "\u1e9e"), 1)
def test_the_filter_keeps_back_no_line_that_matches(before, word, after, cased, writer):
    """However an agent spells a text in its JSON, and in whatever case it stands there, its line is found."""
    text = f"{before} {cased(word)} {after}"
    query = Query([word])
    if not query.words or not query.matches(text):  # the case of some characters cannot be undone
        return
    data = b"{}\n" + WRITERS[writer](text).encode() + b"\n{}\n"
    assert b"\n" not in data[3:-4]
    assert list(query.lines(data)) == [(3, len(data) - 4)] or len(query.words[0]) < 3
    assert query.may_be_in(data)


def test_words_of_two_lines_do_not_match_together():
    """All words have to be in one line; each line that has them is found once."""
    data = b'{"a":"one two"}\n{"a":"one"}\n{"a":"two"}\n{"a":"two one two"}\n'
    assert [data[begin:end] for begin, end in Query(["one", "TWO"]).lines(data)] == [
        b'{"a":"one two"}',
        b'{"a":"two one two"}',
    ]


@given(texts(min_size=1, max_size=8), st.lists(texts(min_size=1, max_size=8), max_size=3))
def test_the_filter_of_markdown_keeps_back_no_text(word, others):
    """Escapes and entities stand between letters, never inside of a run of them."""
    words = [word, *others]
    written = " ".join(re.sub(r"([^\w\s])", r"\\\1", each) for each in words)
    assert Query(words).may_be_in_text(written.encode())


@given(texts(max_size=10), texts(min_size=1, max_size=10), st.sampled_from([1, 2]))
@example("", "100%_\\", 1)
@example("", "ÄÖ", 1)
def test_the_pattern_for_databases_keeps_back_no_row(before, word, writer):
    """SQLite compares only ASCII without regard to case, and JavaScript escapes nothing else: there is room for both."""
    text = f"{before}{word}"
    if not Query([word]).words or "\0" in text:
        return
    database = sqlite3.connect(":memory:")
    [found] = database.execute(
        "SELECT ? LIKE ? ESCAPE '\\'", (WRITERS[writer](text), like(Query([word]).words[0]))
    ).fetchone()
    database.close()
    assert found == 1 or not Query([word]).matches(text)


@pytest.mark.parametrize("count", [1, 3])
def test_no_words_match_everything_there_is(count):
    """A query without words is refused by the command; by itself it finds no line."""
    assert list(Query([]).lines(b"{}\n" * count)) == []


@pytest.mark.parametrize(
    ("typed", "groups"),
    [
        ("a b", (("a",), ("b",))),
        ("a OR b", (("a", "b"),)),
        ("a b OR c OR d e", (("a",), ("b", "c", "d"), ("e",))),
        ("a or b", (("a",), ("or",), ("b",))),
        ("OR a", (("or",), ("a",))),
        ("a OR", (("a",), ("or",))),
        ("a OR OR b", (("a", "or"), ("b",))),
        ("OR", (("or",),)),
        ("a OR a", (("a",),)),
    ],
)
def test_or_between_two_words_means_one_of_them(typed, groups):
    """It joins the words beside it; in small letters, or without a word on each side, it is a word."""
    assert Query.parse(typed.split(" ")).groups == groups


@pytest.mark.parametrize(
    ("typed", "groups"),
    [
        ('a "b c" d', (("a",), ("b c",), ("d",))),
        ('a "b c', (("a",), ("b c",))),
        ('a OR "b c"', (("a", "b c"),)),
        ("it's John's", (("it's",), ("john's",))),
        (' "" ', ()),
    ],
)
def test_words_in_double_quotes_stand_together(typed, groups):
    """Also if the last quote is missing; an apostrophe is a part of its word."""
    assert Query.of_text(typed).groups == groups


def test_one_of_several_words_is_enough():
    """Also of whole words, and of phrases; the longest of those that are there is what is shown."""
    query = Query.parse(["red", "basket", "OR", "cart of things"])
    assert query.matches("A red CART OF THINGS")
    assert query.matches("a basket, red")
    assert not query.matches("a red cart")
    assert not query.matches("a cart of things")
    assert query.longest_in("a red basket") == "basket"
    assert query.longest_in("red") == ""
    whole = Query.parse(["basket", "OR", "art"], whole=True)
    assert whole.matches("the art of baskets")
    assert not whole.matches("a cart, baskets")
    assert whole.longest_in("the art of baskets") == "art"


@given(texts(min_size=1, max_size=8), texts(min_size=1, max_size=8), st.integers(0, 1))
def test_the_filters_keep_back_no_text_with_one_of_two_words(one, other, chosen):
    """Neither of JSON nor of Markdown."""
    query = Query([(one, other)])
    text = (one, other)[chosen]
    if query.matches(text):
        assert query.may_be_in(json.dumps(text).encode())
        assert query.may_be_in_text(text)
        assert query.may_be_in_page(text.encode())

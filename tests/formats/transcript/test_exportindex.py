"""The index of exported pages: what it reads of each, and how it lists them."""

from urllib.parse import unquote

import pytest
from hypothesis import given

from katod.formats.transcript.exportindex import IndexRow, index_page, row_of
from katod.formats.transcript.html import Html
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from tests.examples import examples, texts
from tests.formats.transcript.test_html import ALLOWED, HOSTILE, Page
from tests.looping import each


def head(title="A title", **state):
    """Return the beginning of a page of a session."""
    return Html(Options()).head(SessionMetadata(SessionKey("claude", "s"), {"title": title, **state}), state["started"])


def page(*rows, **parts):
    return str(index_page(rows, parts))


def links(source):
    return [attributes["href"] for tag, attributes in Page(source).found if tag == "a" and "href" in attributes]


def assert_is_a_list(source):
    """Assert that a page has links to the files beside it and to its own parts alone, and nothing that acts."""
    read = Page(source)
    assert read.open == []
    assert {tag for tag, _ in read.found} <= ALLOWED
    for tag, attributes in read.found:
        assert attributes.keys() <= {
            "href",
            "class",
            "id",
            "lang",
            "charset",
            "name",
            "content",
            "http-equiv",
            "aria-label",
        }
        assert tag != "a" or not attributes["href"].startswith(("/", "?")), attributes
        assert ":" not in attributes.get("href", ""), attributes


def test_a_page_says_what_its_row_has():
    """Title, date, project, agent, labels and star are read from the beginning of a page."""
    found = row_of(
        "shop/a.html",
        head("A & <b>", cwd="/home/me/shop", started="2026-02-10T22:36:00Z", labels=["a,b", "c"], starred=True),
    )
    assert found == IndexRow("shop/a.html", "A & <b>", "2026-02-10 22:36", "Claude Code", "shop", ("a,b", "c"), True)


@pytest.mark.parametrize("text", ["", "mine", "<title></title>", "<title> \n </title>"])
def test_a_page_that_says_nothing_is_listed_by_its_name(text):
    """It may have been written by an earlier version, or edited."""
    assert row_of("shop/a.html", text) == IndexRow("shop/a.html", "shop/a.html")


def test_an_impossible_date_is_none():
    """It would be in a month that there is not."""
    found = [
        row_of("a", f'<meta name="date" content="{date}">').date for date in ("2026-13-01", "soon", "2026-02-10 x")
    ]
    assert found == ["", "", "2026-02-10"]


def test_a_very_long_title_is_cut():
    """A page may have been edited."""
    assert len(row_of("a", f"<title>{'word ' * 1000}</title>").title) <= 200


def test_the_newest_is_first_and_months_are_headings():
    """Those of one minute are in the order of their names; those without a date come last."""
    shown = page(
        IndexRow("b.html", "two", "2026-02-10 22:36"), IndexRow("x.html", "none"),
        IndexRow("a.html", "one", "2026-02-10 22:36"), IndexRow("c.html", "three", "2025-12-31 09:00"),
    )  # fmt: skip
    assert links(shown) == ["a.html", "b.html", "c.html", "x.html", "#m2026-02", "#m2025-12", "#undated"]
    assert '<h2 id="m2025-12">December 2025</h2>' in shown
    assert "4 transcripts · 2025-12-31 to 2026-02-10" in shown


def test_a_single_month_needs_no_list_of_months():
    """There is nothing to choose."""
    assert "<nav" not in page(IndexRow("a.html", "one", "2026-02-10"))


@each("text", HOSTILE)
def test_nothing_of_a_title_acts(text):
    """Nor of a project, an agent or a label."""
    row = IndexRow("a.html", text, text, text, text, (text,))._replace(date="")
    assert_is_a_list(page(row, **{"a.html": [row]}))
    assert_is_a_list(page(row_of("a.html", head(text, started="", cwd=f"/home/{text}", labels=[text]))))


@pytest.mark.parametrize(
    "name", ["javascript:alert(1).html", "a b#c?d.html", 'x" onclick="y.html', "%2e%2e/a.html", "ä/ü.html"]
)
def test_a_link_is_the_path_of_its_file(name):
    """Whatever characters are in it."""
    shown = page(IndexRow(name, "title"))
    assert_is_a_list(shown)
    assert [unquote(link) for link in links(shown)] == [name]


@examples(20, 1_000)
@given(texts(), texts())
def test_every_page_is_whole(title, name):
    """Any title and any name below a folder give a list of two."""
    assert_is_a_list(page(row_of(name.lstrip("/") or "a", f"<title>{title}</title>"), IndexRow("b", title)))


def test_a_row_takes_no_more_than_the_page_says():
    """What looks like a fact in the title of a session is none."""
    found = row_of("a.html", head('x"><meta name="project" content="evil">', started="2026-02-10T22:36:00Z"))
    assert (found.project, found.title) == ("", 'x"><meta name="project" content="evil">')

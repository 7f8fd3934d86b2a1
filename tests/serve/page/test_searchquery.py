"""What the page is asked to search, as an address says it."""

from urllib.parse import parse_qsl

from katod.serve.page.listfilter import ListFilter
from katod.serve.page.searchquery import LONGEST, SearchQuery
from tests.looping import each


@each("query", ["q=a+b", "q=a&order=newest", "q=a&order=best&in=x", "q=%22a+b%22+OR+c&agent=Codex&state=working"])
def test_an_address_says_what_is_searched(query: str) -> None:
    """And what it says is what was searched."""
    asked = SearchQuery.of(dict(parse_qsl(query)))
    assert asked.address(within=asked.within) == f"/find?{query}"


def test_what_is_not_known_asks_for_nothing() -> None:
    """A search has no groups, and no words beyond its bound."""
    asked = SearchQuery.of({"q": f" {'a' * LONGEST}b ", "order": "x", "by": "project"})
    assert (asked.text, asked.order, asked.chosen) == ("a" * LONGEST, "said", ListFilter())
    assert not SearchQuery.of({}).query.words

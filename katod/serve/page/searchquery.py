"""What the page is asked to search, as its address says. Pure."""

from collections.abc import Mapping
from typing import Final, NamedTuple, get_args

from katod.search.query import Query
from katod.search.run import Order
from katod.serve.page.listfilter import ListFilter

MOST_FOUND: Final = 40  # sessions of one search
LONGEST: Final = 500  # characters of a query
_FIRST: Final[Order] = "said"  # what was said before what only tools have


class SearchQuery(NamedTuple):
    """What is searched: a text as it was typed, its query, in which sessions, and the order of what is found.

    `within` is the UUID of the one session that is searched, empty for all that are `chosen`.
    """

    text: str
    query: Query
    chosen: ListFilter = ListFilter()
    order: Order = _FIRST
    within: str = ""

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> "SearchQuery":
        """Return what the parameters of an address ask for."""
        wanted = parameters.get("order", "")
        order = next((order for order in get_args(Order) if order == wanted), _FIRST)
        text = parameters.get("q", "").strip()[:LONGEST]
        return cls(
            text, Query.of_text(text), ListFilter.of(parameters)._replace(by=""), order, parameters.get("in", "")
        )

    def address(self, chosen: ListFilter | None = None, order: Order | None = None, within: str = "") -> str:
        """Return the address of the same search in other sessions, in another order, or within one session."""
        order = order or self.order
        more = {"q": self.text, "order": order if order != _FIRST else "", "in": within}
        return (self.chosen if chosen is None else chosen).address("/find", **more)

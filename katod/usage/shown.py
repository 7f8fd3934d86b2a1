"""How tokens and costs are written for people, and what the signs among them mean. Pure."""

from collections.abc import Iterator
from typing import Final

from katod.errors import with_extra
from katod.usage.grouping import UsageSum
from katod.usage.pricing import EXTRA, PriceTable

UNPRICED: Final = "unpriced"
_NAMED: Final = 5  # models without a price
_LONGEST: Final = 40  # characters of a model's name
_UNITS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def short_number(number: int) -> str:
    """Return a number in at most five characters: `999`, `1.2k`, `34M`."""
    for unit, sign in _UNITS:
        if number >= 0.9995 * unit:
            scaled = number / unit
            return f"{scaled:.1f}{sign}" if scaled < 99.95 else f"{scaled:.0f}{sign}"
    return str(number)


def shown_cost(found: UsageSum) -> str:
    """Return a cost, with ~ if a part of it is computed, and + if some tokens have no price."""
    if found.cost is None:
        return UNPRICED if found.tokens.total else ""
    begin = "~" if found.computed is not None else ""
    return f"{begin}${found.cost:,.2f}{'+' if found.unpriced else ''}"


def notes(total: UsageSum, prices: PriceTable, source: str) -> Iterator[str]:
    """Yield what the signs of costs mean; `source` is `prices.source` of the configuration."""
    if total.recorded is not None:
        yield "A cost without ~ is as the agents recorded it."
    if total.computed is not None:
        yield f"~ is computed, in part or as a whole, with the prices of each day ({prices.label})."
    if total.unpriced:
        sign = "+ and unpriced: " if total.cost is not None else ""
        of = f" of {_listed(sorted(total.unpriced_models))}" if prices.label else ""
        yield f"{sign}{short_number(total.unpriced)} tokens{of} have no price{_why(prices, source)}."


def _why(prices: PriceTable, source: str) -> str:
    if prices.label:
        return f" in {prices.label}"
    if source == "none":
        return ": `prices.source` is none"
    if source != "auto":
        return ": the table of `prices.source` cannot be read"
    return f": the extra `{EXTRA}` is not installed ({with_extra(EXTRA)})"


def _listed(models: list[str]) -> str:
    """Return the names of some models, and how many there are besides."""
    names = [" ".join(model.split())[:_LONGEST] or "unknown models" for model in models]
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    *first, last = [*names[:_NAMED], *more]
    return f"{', '.join(first)} and {last}" if first else last

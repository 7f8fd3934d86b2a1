"""The table of prices inside the package `genai-prices`, if that is installed. Nothing is downloaded."""

import re
from datetime import UTC, date, datetime, time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from katod.usage.pricing import ModelRates, NoPrices, PriceSteps, PriceTable

PACKAGE: Final = "genai-prices"
_FREE: Final = re.compile(r"[-:]free\Z")  # the same model without a price, which the table may take for that with one


def open_table(source: str) -> PriceTable:
    """Return the prices that the configuration names: those of the installed package with `auto`, else none."""
    if source != "auto":
        return NoPrices()
    try:
        return InstalledPrices(version(PACKAGE))
    except PackageNotFoundError:
        return NoPrices()


class InstalledPrices:
    """The prices of the installed package, which is loaded when the first one is asked for."""

    def __init__(self, number: str) -> None:
        self.label = f"{PACKAGE} {number}"
        self._known: dict[tuple[str, int], ModelRates | None] = {}

    def rates(self, model: str, day: int) -> ModelRates | None:
        """Return the prices of a model at noon of a day (UTC), None if the table has none for it."""
        if (model, day) not in self._known:
            self._known[model, day] = _rates(model, noon(day))
        return self._known[model, day]


def noon(day: int) -> datetime:
    """Return the time at which prices are asked for: some of them depend on the hour."""
    return datetime.combine(date.fromordinal(day), time(12), UTC)


def _rates(model: str, when: datetime) -> ModelRates | None:
    package = _package()
    try:
        found = package.calc_price(package.Usage(input_tokens=0, output_tokens=0), model, genai_request_timestamp=when)
    except (LookupError, ValueError):
        return None
    price = found.model_price
    given, made = _steps(price.input_mtok), _steps(price.output_mtok)
    if given is None or made is None or (given.base and _FREE.search(model)):
        return None
    written = _steps(price.cache_write_mtok) or given
    return ModelRates(
        given,
        made,
        _steps(price.cache_read_mtok) or given,
        written,
        _steps(price.cache_write_1h_mtok) or written,
        _steps(price.output_reasoning_mtok),
    )


@cache
def _package() -> Any:
    import genai_prices  # noqa: PLC0415 - an extra, and slow to load

    return genai_prices


def _steps(price: Any) -> PriceSteps | None:
    """Return a price of the package, which is a decimal number or has tiers."""
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return PriceSteps(float(price))
    return PriceSteps(float(price.base), tuple((tier.start, float(tier.price)) for tier in tiers))

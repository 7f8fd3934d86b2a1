"""What tokens cost by the prices of a day. Pure: the prices themselves come from `pricetable`."""

from typing import NamedTuple, Protocol

from katod.usage.cells import STEPS, CostState, UsageCell


class PriceSteps(NamedTuple):
    """US dollars for a million tokens, and from which size of the prompt on there is another price."""

    base: float
    tiers: tuple[tuple[int, float], ...] = ()  # more tokens than this: that price, in rising order

    def at(self, prompt: int) -> float:
        """Return the price for each token of an answer to a prompt of this size."""
        return next((price for start, price in reversed(self.tiers) if prompt > start), self.base)


class ModelRates(NamedTuple):
    """The prices of one model on one day."""

    input: PriceSteps
    output: PriceSteps
    cache_read: PriceSteps
    cache_write: PriceSteps
    cache_hour: PriceSteps
    reasoning: PriceSteps | None = None  # if it has a price of its own


class PriceTable(Protocol):
    """Prices by model and day."""

    @property
    def label(self) -> str:
        """The name and the version of the table; empty if there are no prices."""

    def rates(self, model: str, day: int) -> ModelRates | None:
        """Return the prices of a model on a day, None if it has none."""


class NoPrices:
    """Prices nothing."""

    label = ""

    def rates(self, _model: str, _day: int) -> ModelRates | None:
        """Return None."""
        return None


def price_of(cell: UsageCell, prices: PriceTable) -> float | None:
    """Return what the answers of a cell cost, None if that cannot be computed."""
    key = cell.key
    has_price = key.state == CostState.OPEN and key.model and key.day
    rates = prices.rates(key.model, key.day) if has_price else None
    if rates is None:
        return None
    prompt = STEPS[key.size - 1] + 1 if key.size else 0
    tokens = cell.tokens
    reasoning = tokens.reasoning if rates.reasoning is not None else 0
    parts = (
        (tokens.input, rates.input), (tokens.output - reasoning, rates.output),
        (reasoning, rates.reasoning or rates.output),
        (tokens.cache_read, rates.cache_read), (tokens.cache_write - tokens.cache_hour, rates.cache_write),
        (tokens.cache_hour, rates.cache_hour),
    )  # fmt: skip
    return sum(count * steps.at(prompt) for count, steps in parts) / 1_000_000

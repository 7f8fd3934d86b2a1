"""What tokens cost by the prices of a day. Pure: the prices themselves come from `pricetable`."""

from typing import Final, NamedTuple, Protocol

from katod.usage.cells import STEPS, CellKey, CostState, UsageCell

EXTRA: Final = "prices"  # has the table of prices


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


class CellPrices:
    """Computes what the answers of cells cost; the prices of each kind of cell are looked up once."""

    def __init__(self, prices: PriceTable) -> None:
        self._prices = prices
        self._known: dict[CellKey, tuple[float, ...]] = {}  # empty: no price

    def of(self, cell: UsageCell) -> float | None:
        """Return what the answers of a cell cost, None if that cannot be computed."""
        key, tokens = cell.key, cell.tokens
        if key not in self._known:
            self._known[key] = self._looked_up(key)
        if not (known := self._known[key]):
            return None
        given, made, reasoned, read, written, hour = known
        return (
            tokens.input * given + (tokens.output - tokens.reasoning) * made + tokens.reasoning * reasoned
            + tokens.cache_read * read + (tokens.cache_write - tokens.cache_hour) * written + tokens.cache_hour * hour
        ) / 1_000_000  # fmt: skip

    def _looked_up(self, key: CellKey) -> tuple[float, ...]:
        has_price = key.state == CostState.OPEN and key.model and key.day
        rates = self._prices.rates(key.model, key.day) if has_price else None
        if rates is None:
            return ()
        prompt = STEPS[key.size - 1] + 1 if key.size else 0
        kinds = (
            rates.input, rates.output, rates.reasoning or rates.output, rates.cache_read, rates.cache_write,
            rates.cache_hour,
        )  # fmt: skip
        return tuple(steps.at(prompt) for steps in kinds)

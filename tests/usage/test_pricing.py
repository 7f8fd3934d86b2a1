"""What tokens cost by the prices of a day."""

import pytest

from katod.usage.cells import CellKey, CostState, UsageCell, size_of
from katod.usage.counts import TokenCounts
from katod.usage.pricing import CellPrices, ModelRates, NoPrices, PriceSteps

FLAT = ModelRates(PriceSteps(1), PriceSteps(10), PriceSteps(0.5), PriceSteps(2), PriceSteps(4))
TOKENS = TokenCounts(input=1_000_000, output=100_000, cache_read=10_000, cache_write=3_000, cache_hour=1_000, reasoning=40_000)  # fmt: skip


class Prices:
    """The same prices for each day of one model."""

    label = "a table"

    def __init__(self, rates=FLAT):
        self._rates = rates

    def rates(self, model, _day):
        return self._rates if model == "m" else None


def cell(tokens, prompt=0, model="m", state=CostState.OPEN):
    return UsageCell(CellKey(7, model, size_of(prompt), state), 1, tokens, 0.0)


def price_of(cell, prices):
    return CellPrices(prices).of(cell)


def test_each_kind_of_token_has_its_price():
    """What is kept for an hour costs more than what else is written to the cache."""
    assert price_of(cell(TOKENS), Prices()) == pytest.approx(1 + 1 + 0.005 + 0.004 + 0.004)


def test_reasoning_may_have_a_price_of_its_own():
    """Otherwise it is output like any other."""
    assert price_of(cell(TOKENS), Prices(FLAT._replace(reasoning=PriceSteps(20)))) == pytest.approx(2.013 + 0.4)


def test_all_tokens_of_a_larger_prompt_cost_more():
    """A tier applies if the prompt has more tokens than it says."""
    rates = FLAT._replace(input=PriceSteps(1, ((200_000, 2), (272_000, 3))))
    prices = [price_of(cell(TokenCounts(1_000_000), prompt), Prices(rates)) for prompt in (200_000, 200_001, 300_000)]
    assert prices == [1, 2, 3]


@pytest.mark.parametrize("state", [CostState.RECORDED, CostState.INCOMPLETE, CostState.SHARED])
def test_only_what_is_open_has_a_computed_price(state):
    """A recorded cost is not computed again, nor one of which tokens are missing."""
    assert price_of(cell(TOKENS, state=state), Prices()) is None


def test_a_model_without_a_price_has_none():
    """None is not 0."""
    assert price_of(cell(TOKENS, model="other"), Prices()) is None
    assert price_of(cell(TOKENS, model=""), Prices()) is None
    assert price_of(cell(TOKENS), NoPrices()) is None

"""How tokens and costs are written."""

from katod.usage.cells import CostState
from katod.usage.grouping import grouped, priced
from katod.usage.pricing import NoPrices
from katod.usage.shown import notes, short_number, shown_cost
from tests.usage.test_grouping import cell
from tests.usage.test_pricing import Prices


def total(*cells, prices=None):
    return grouped(priced(cells, prices or NoPrices(), lambda _project: ""), "day").total


def test_numbers_are_short():
    """At most five characters, up to a thousand billions."""
    numbers = (0, 999, 1000, 1234, 99_949, 99_950, 999_499, 999_500, 12_345_678, 5_000_000_000)
    assert [short_number(number) for number in numbers] == [
        "0", "999", "1.0k", "1.2k", "99.9k", "100k", "999k", "1.0M", "12.3M", "5.0G",
    ]  # fmt: skip


def test_a_cost_says_what_it_is_made_of():
    """~ for a computed part, + for tokens without a price; never 0 for want of one."""
    recorded, computed = cell(state=CostState.RECORDED, cost=0.5), cell(model="m")
    assert shown_cost(total(recorded)) == "$0.50"
    assert shown_cost(total(recorded, computed, prices=Prices())) == "~$1.50"
    assert shown_cost(total(recorded, cell(model="x"))) == "$0.50+"
    assert shown_cost(total(cell(model="x"))) == "unpriced"
    assert shown_cost(total()) == ""


def test_the_signs_are_explained():
    """Only those that there are, and why tokens have no price."""
    recorded, unpriced = cell(state=CostState.RECORDED, cost=0.5), cell(model="x", given=7)
    assert list(notes(total(recorded), NoPrices(), "auto")) == ["A cost without ~ is as the agents recorded it."]
    assert list(notes(total(unpriced), NoPrices(), "none")) == ["7 tokens have no price: `prices.source` is none."]
    (missing,) = notes(total(unpriced), NoPrices(), "auto")
    assert missing.startswith("7 tokens have no price: the extra `prices` is not installed (")
    assert list(notes(total(cell(), unpriced, prices=Prices()), Prices(), "auto")) == [
        "~ is computed, in part or as a whole, with the prices of each day (a table).",
        "+ and unpriced: 7 tokens of x have no price in a table.",
    ]


def test_models_without_a_price_are_named():
    """Five of them, in one line whatever their names are; an answer may have no model."""

    def last(*models: str) -> str:
        *_, note = notes(total(*(cell(model=model, given=1) for model in models), prices=Prices()), Prices(), "auto")
        return note.removeprefix(f"{len(models)} tokens of ").removesuffix(" have no price in a table.")

    assert last("b", "a\n<b>") == "a <b> and b"
    assert last("", "x" * 100) == f"unknown models and {'x' * 40}"
    assert last(*"abcdefg") == "a, b, c, d, e and 2 more"

"""The table of prices inside an installed package."""

import os
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

import orjson
import pytest

from katod.errors import PricesError
from katod.usage import pricetable
from katod.usage.cells import STEPS, CellKey, CostState, UsageCell, size_of
from katod.usage.counts import TokenCounts
from katod.usage.pricetable import InstalledPrices, open_table
from katod.usage.pricing import CellPrices, ModelRates, PriceSteps

DAY = date(2026, 3, 1).toordinal()
NAMES = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "output_reasoning")


@pytest.fixture
def asked(monkeypatch):
    """Install a package with one model in place of the real one; return the days that it was asked for."""
    days = []
    tiers = SimpleNamespace(base=Decimal(3), tiers=[SimpleNamespace(start=200_000, price=Decimal(6))])
    known = dict.fromkeys((f"{name}_mtok" for name in NAMES), None) | {"input_mtok": tiers, "output_mtok": Decimal(15)}

    def calc(_usage, model, _provider, _url, when):
        days.append(when.date())
        if model not in ("known", "known-free", "unpriced"):
            raise LookupError(model)
        prices = dict.fromkeys(known, None) if model == "unpriced" else known
        return SimpleNamespace(model_price=SimpleNamespace(**prices))

    snapshot = SimpleNamespace(get_snapshot=lambda: SimpleNamespace(calc=calc))
    package = SimpleNamespace(data_snapshot=snapshot, Usage=lambda **_: None)
    monkeypatch.setattr(pricetable, "_package", lambda: package)
    return days


def test_a_price_of_the_table_is_taken_with_its_tiers(asked):
    """What has no price of its own costs what the input does; of the reasoning, what the output does."""
    given, made = PriceSteps(3.0, ((200_000, 6.0),)), PriceSteps(15.0)
    assert InstalledPrices("1").rates("known", DAY) == ModelRates(given, made, given, given, given, None)


def test_the_table_is_asked_once_for_a_day(asked):
    """With the day, as prices change."""
    prices = InstalledPrices("1")
    for day in (DAY, DAY, DAY + 1):
        prices.rates("known", day)
    assert [str(day) for day in asked] == ["2026-03-01", "2026-03-02"]


def test_a_model_that_is_not_in_the_table_has_no_price(asked):
    """Nor has one whose prices are not known, or a free one that is taken for another."""
    for model in ("unknown", "unpriced", "known-free"):
        assert InstalledPrices("1").rates(model, DAY) is None


def test_without_the_package_there_are_no_prices(monkeypatch):
    """The same with `none`, whatever is installed."""

    def version(name):
        raise pricetable.PackageNotFoundError(name)

    monkeypatch.setattr(pricetable, "version", lambda _name: "7.1")
    assert open_table("auto").label == "genai-prices 7.1"
    assert open_table("none").label == ""
    monkeypatch.setattr(pricetable, "version", version)
    assert open_table("auto").label == ""


PRICES = [
    {
        "id": "mine", "name": "Mine", "api_pattern": "https://mine", "models": [
            {"id": "known", "match": {"equals": "known"}, "prices": {"input_mtok": 3, "output_mtok": 15}},
            {"id": "odd", "match": {"equals": "odd"}, "prices": {
                "input_mtok": {"base": 1, "tiers": [{"start": 12345, "price": 2}]}, "output_mtok": 15
            }},
        ], "model_match": {"or": [{"equals": "known"}, {"equals": "odd"}]},
    }
]  # fmt: skip


def test_prices_may_be_in_a_file(tmp_path):
    """In the JSON of the package; the label says of which day it is."""
    pytest.importorskip("genai_prices")
    path = tmp_path / "prices.json"
    path.write_bytes(orjson.dumps(PRICES))
    os.utime(path, (86_400 * 365, 86_400 * 365))
    table, flat = open_table(str(path)), PriceSteps(3.0)
    assert table.label == "prices.json of 1971-01-01"
    assert table.rates("known", DAY) == ModelRates(flat, PriceSteps(15.0), flat, flat, flat, None)
    assert table.rates("claude-opus-4-6", DAY) is None
    assert table.rates("odd", DAY) is None, "its tier begins between two steps"


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"[1]", b'[{"id": 1}]', b"\xff"])
def test_another_file_is_refused(tmp_path, content):
    """By its name, and without what is in it."""
    pytest.importorskip("genai_prices")
    path = tmp_path / "prices.json"
    path.write_bytes(content)
    with pytest.raises(PricesError, match="has no prices in the JSON of genai-prices"):
        open_table(str(path))


def test_a_file_that_is_missing_is_named(tmp_path, monkeypatch):
    """So is a package that is."""
    monkeypatch.setattr(pricetable, "_package", SimpleNamespace)
    with pytest.raises(PricesError, match=r"prices\.json: No such file"):
        open_table(str(tmp_path / "prices.json"))

    def missing():
        raise ImportError

    (tmp_path / "prices.json").write_text("[1]")
    monkeypatch.setattr(pricetable, "_package", missing)
    with pytest.raises(PricesError, match="which is not installed"):
        open_table(str(tmp_path / "prices.json"))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["claude-opus-4-6", "claude-sonnet-4-5-20250929", "gpt-5.4", "gemini-2.5-pro"])
@pytest.mark.parametrize("scale", [1, 50, 300])
def test_a_price_is_that_of_the_package(model, scale):
    """For each answer, small or large, it is what the package computes for it."""
    package = pytest.importorskip("genai_prices")
    tokens = TokenCounts(1000 * scale, 70 * scale, 500 * scale, 40 * scale, 0, 10 * scale)
    usage = package.Usage(
        input_tokens=tokens.prompt, output_tokens=tokens.output, cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
    )  # fmt: skip
    theirs = package.calc_price(usage, model, genai_request_timestamp=pricetable.noon(DAY)).total_price
    cell = UsageCell(CellKey(DAY, model, size_of(tokens.prompt), CostState.OPEN), 1, tokens, 0.0)
    assert CellPrices(open_table("auto")).of(cell) == pytest.approx(float(theirs))


@pytest.mark.slow
def test_each_tier_of_the_package_begins_at_a_step():
    """Answers are summed up between steps: a tier that began elsewhere would be missed."""
    pytest.importorskip("genai_prices")
    from genai_prices.data import providers  # noqa: PLC0415 - an extra
    from genai_prices.types import TieredPrices  # noqa: PLC0415

    models = [model for provider in providers for model in provider.models]
    prices = [one.prices for model in models for one in (model.prices if isinstance(model.prices, list) else [model])]
    steps = [price for one in prices for price in vars(one).values() if isinstance(price, TieredPrices)]
    assert {tier.start for price in steps for tier in price.tiers} <= set(STEPS)

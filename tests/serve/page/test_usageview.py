"""The page of tokens and cost: what is drawn and written of given figures."""

import re
from datetime import date

from katod.serve.page.usageview import AskedUsage, UsageFigures, usage_page
from katod.usage.cells import CostState
from katod.usage.grouping import BY, grouped, priced
from katod.usage.pricing import NoPrices
from tests.usage.test_grouping import DAY, cell


def figures(*cells):
    """Return the figures of cells whose project is known."""
    found = priced(cells, NoPrices(), lambda _project: "/home/me/app")
    return UsageFigures(AskedUsage(), "", [grouped(found, by) for by in BY], [], "UTC", True)


def bars(text, name):
    """Return what the bars of a chart are of, and whether each has a height."""
    chart = re.search(rf'<svg [^>]*aria-labelledby="{name}-title.*?</svg>', text, re.DOTALL)
    found = re.findall(r'height="([\d.]+)"><title>(.*?)</title>', chart[0]) if chart else []
    return [(about, float(height) > 0) for height, about in found]


def day(number):
    """Return a day of February 2026, as `cell` counts them."""
    return date(2026, 2, number).toordinal() - DAY


def test_each_day_has_a_bar():
    """Also one on which nothing was used, so that the distances are right."""
    text = usage_page(figures(cell(day=day(1), given=5), cell(day=day(3), given=9)))
    assert bars(text, "tokens") == [
        ("2026-02-01: 5 tokens", True), ("2026-02-02: 0 tokens", False), ("2026-02-03: 9 tokens", True),
    ]  # fmt: skip


def test_costs_are_drawn_if_there_are_any():
    """What has no price has no bar of 0 dollars."""
    assert bars(usage_page(figures(cell(day=day(1)))), "cost") == []
    text = usage_page(figures(cell(day=day(1), state=CostState.RECORDED, cost=2.5), cell(day=day(2), given=7)))
    assert bars(text, "cost") == [("2026-02-01: $2.50", True), ("2026-02-02: unpriced", False)]


def test_many_days_are_drawn_by_month():
    """All months between the first and the last have a bar."""
    text = usage_page(figures(*(cell(day=day(1) + 31 * n, given=5) for n in (0, 1, 5))))
    assert [about for about, _ in bars(text, "tokens")] == [
        f"2026-{month:02}: {count} tokens" for month, count in enumerate((5, 5, 0, 0, 0, 5), 2)
    ]


def test_many_months_are_drawn_by_year():
    """All years between the first and the last have a bar; up to 120 months are drawn each."""
    text = usage_page(figures(*(cell(day=date(*at, 1).toordinal() - DAY, given=5) for at in ((2016, 2), (2026, 1)))))
    assert [bars(text, "tokens")[at] for at in (0, -1)] == [("2016-02: 5 tokens", True), ("2026-01: 5 tokens", True)]
    assert len(bars(text, "tokens")) == 120
    text = usage_page(figures(*(cell(day=date(*at, 1).toordinal() - DAY, given=5) for at in ((2016, 2), (2026, 2)))))
    assert [about for about, _ in bars(text, "tokens")] == [
        f"{year}: {5 if year in (2016, 2026) else 0} tokens" for year in range(2016, 2027)
    ]
    assert "Tokens by year<" in text


def test_of_too_many_years_the_last_ones_are_drawn():
    """As the caption says: a file may name any year, and the page stays small."""
    text = usage_page(figures(*(cell(day=date(year, 1, 1).toordinal() - DAY, given=5) for year in (2, 9879, 9998))))
    found = bars(text, "tokens")
    assert (len(found), found[0], found[-1]) == (120, ("9879: 5 tokens", True), ("9998: 5 tokens", True))
    assert "<figcaption>Tokens by year, the last 120 years</figcaption>" in text
    assert len(text) < 50_000


def test_a_chart_is_named_for_those_who_do_not_see_it():
    """With a title, and where the same numbers are."""
    text = usage_page(figures(cell(day=day(1))))
    assert 'role="img" aria-labelledby="tokens-title tokens-about"' in text
    assert '<title id="tokens-title">Tokens by day</title>' in text
    assert '<desc id="tokens-about">Each bar is a day; the table below has the same numbers by day.</desc>' in text


def test_a_day_that_is_unknown_is_in_the_table_alone():
    """There is no place for it in a chart."""
    text = usage_page(figures(cell(day=-DAY)))
    assert "<svg" not in text
    assert '<th scope="row">unknown</th>' in text

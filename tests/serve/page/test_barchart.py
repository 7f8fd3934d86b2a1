"""Bar charts as SVG."""

import re

from katod.serve.page.barchart import ChartBar, bar_chart


def heights(text):
    return [float(height) for height in re.findall(r'<rect [^>]*height="([\d.]+)"', text)]


def test_bars_are_as_high_as_what_they_are_of():
    """The largest fills the chart; a small one can still be seen, and nothing is not drawn."""
    text = bar_chart(
        "c",
        "T",
        "about",
        [ChartBar("a", 50, ""), ChartBar("b", 200, ""), ChartBar("c", 0.001, ""), ChartBar("d", 0, "")],
    )
    assert heights(text) == [25, 100, 1, 0]
    assert 'viewBox="0 0 40 100"' in text


def test_a_chart_says_where_it_begins_and_ends():
    """A single bar is both."""
    ends = [re.findall(r"<span>(.*?)</span>", bar_chart("c", "T", "about", [ChartBar(name, 1, "") for name in names]))
            for names in ("", "a", "abc")]  # fmt: skip
    assert ends == [["", ""], ["a", ""], ["a", "c"]]


def test_words_are_escaped():
    """Whatever they are."""
    text = bar_chart("c", "<T>", "<about>", [ChartBar("<a>", 1, "<w>")])
    assert not re.search(r"<(T|about|a|w)>", text)
    assert "&lt;a&gt;: &lt;w&gt;" in text


def test_an_empty_chart_is_one():
    """It has neither bars nor ends."""
    assert heights(bar_chart("c", "T", "about", [])) == []

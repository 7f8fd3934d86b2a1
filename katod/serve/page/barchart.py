"""Bar charts as SVG, without a script. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from katod.formats.text.markup import Markup, escape, fill, join

_HEIGHT: Final = 100.0  # of the drawing, in its own units; the page scales it
_WIDTH: Final = 10.0  # of a bar and the gap after it
_GAP: Final = 2.0
_LEAST: Final = 1.0  # so that a small bar can be seen


class ChartBar(NamedTuple):
    """One bar: what it is of, its size, and that in words."""

    label: str
    size: float
    words: str


def bar_chart(name: str, title: str, about: str, bars: Sequence[ChartBar]) -> Markup:
    """Return a chart; `name` is unique in the page, `about` says in words what the chart shows."""
    largest = max((bar.size for bar in bars), default=0.0)
    drawn = join(_bar(number, bar, largest) for number, bar in enumerate(bars))
    return fill(
        '<figure class="chart"><figcaption>{title}</figcaption>'
        '<svg viewBox="0 0 {width:.0f} {height:.0f}" preserveAspectRatio="none" role="img" '
        'aria-labelledby="{name}-title {name}-about"><title id="{name}-title">{title}</title>'
        '<desc id="{name}-about">{about}</desc>{drawn}</svg>'
        '<p class="ends"><span>{first}</span><span>{last}</span></p></figure>\n',
        name=escape(name), title=escape(title), about=escape(about), drawn=drawn, height=_HEIGHT,
        width=_WIDTH * max(1, len(bars)), first=escape(bars[0].label if bars else ""),
        last=escape(bars[-1].label if len(bars) > 1 else ""),
    )  # fmt: skip


def _bar(number: int, bar: ChartBar, largest: float) -> Markup:
    height = max(_LEAST, _HEIGHT * bar.size / largest) if bar.size > 0 else 0.0
    return fill(
        '<rect x="{:.0f}" y="{:.2f}" width="{:.0f}" height="{:.2f}"><title>{}: {}</title></rect>',
        _WIDTH * number, _HEIGHT - height, _WIDTH - _GAP, height, escape(bar.label), escape(bar.words),
    )  # fmt: skip

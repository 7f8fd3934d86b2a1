"""Text for people: styled lines, and tables that fit the terminal. Cells are cleaned of what would affect it."""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import click
from rich.cells import cell_len, set_cell_size

from katod.cli.printing import cleaned, width_of
from katod.cli.wrapping import wrapped

_GAP: Final = "  "
_LEAST: Final = 8  # cells of a column that is cut
# The top left corner, the end of a line of which the rest is erased, and the end of all lines.
_HOME, _NEXT, _REST = "\x1b[H", "\x1b[K\n", "\x1b[K\x1b[J"
_STYLES: Final[dict[str, dict[str, Any]]] = {
    "": {},
    "bold": {"bold": True},
    "dim": {"dim": True},
    "command": {"dim": True},  # to be copied: its line is not broken
    "red": {"fg": "red"},
    "green": {"fg": "green"},
    "yellow": {"fg": "yellow"},
}


class TextSpan(NamedTuple):
    """A piece of a line and its style: a key of `_STYLES`."""

    text: str
    style: str = ""


Line = Sequence[TextSpan]


def line(text: str, style: str = "") -> Line:
    """Return a line of one style."""
    return (TextSpan(text, style),)


def terminal_width() -> int | None:
    """Return the width of the terminal in cells, None if standard output is not one: then nothing is cut."""
    return width_of()


def is_terminal() -> bool:
    """Return whether a person can be asked: standard input and output are a terminal that can move its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def show(lines: Iterable[Line], *, err: bool = False) -> None:
    """Print lines; on a terminal, in colour, and broken between words."""
    width = width_of(err=err)
    for spans in map(_cleaned, lines):
        is_whole = width is None or any(style == "command" for _, style in spans)
        for row in (spans,) if is_whole else wrapped(spans, width or 0):
            styled = (click.style(text, **_STYLES[style]) if style else text for text, style in row)
            click.echo("".join(styled), err=err)


def draw(lines: Sequence[Line], width: int, height: int) -> None:
    """Show lines in place of those on the screen, cut to this size, in one write: nothing flickers.

    `width` is less than that of the screen: of a line that reaches its end, the last cell would be erased.
    """
    left_out = len(lines) - height
    if left_out > 0:
        lines = [*lines[: max(0, height - 1)], line(f"… {left_out + 1} more lines", "dim")]
    has_colour = click.get_current_context().color is not False
    shown = (cropped(spans, width) for spans in lines)
    texts = ("".join(click.style(text, **_STYLES[style if has_colour else ""]) for text, style in row) for row in shown)
    click.echo(f"{_HOME}{_NEXT.join(texts)}{_REST}", nl=False, color=True)


def _cleaned(spans: Line) -> list[TextSpan]:
    return [TextSpan(one_text(text), style) for text, style in spans]


def one_text(text: str) -> str:
    """Return text on one line, cleaned."""
    return cleaned(text).replace("\n", " ").replace("\t", " ")


def cropped(spans: Line, width: int) -> Line:
    """Return the beginning of a line that fits in so many cells."""
    left, kept = width, []
    for text, style in _cleaned(spans):
        kept.append(TextSpan(cut(text, left), style))
        left -= cell_len(text)
        if left <= 0:
            break
    return kept


def cut(text: str, width: int) -> str:
    """Return text in at most `width` cells, with an ellipsis where it is cut: after a word, if one ends near there."""
    if cell_len(text) <= width:
        return text
    kept = set_cell_size(text, max(0, width - 1)).rstrip()
    words, _, rest = kept.rpartition(" ")
    is_split = text[len(kept) : len(kept) + 1].strip() and len(rest) * 3 <= len(kept)
    return f"{words.rstrip() if is_split else kept}…"


def table(
    rows: Sequence[Sequence[TextSpan]],
    *,
    width: int | None,
    flexible: Sequence[int] = (),
    optional: Sequence[int] = (),
    loose: Mapping[int, int] = MappingProxyType({}),
) -> list[Line]:
    """Return rows as lines with aligned columns; the first row is the header.

    A cell of a `loose` column that is wider than given there takes its room from the end of its own row alone.

    If they do not fit, the columns with the numbers in `flexible` are cut, the widest first. If that is not enough,
    those in `optional` are left out, in this order; so are those of them that are empty.
    """
    cells = [_cleaned(row) for row in rows]
    widths = {number: min(size, loose.get(number, size)) for number, size in _sizes(cells, optional)}
    if width is not None:
        _leave_out(widths, flexible, optional, width)
        _shrink(widths, flexible, _total(widths) - width)
    lines = (_row(row, widths, loose) for row in cells)
    return [cropped(one, width) for one in lines] if width is not None and loose else list(lines)


def _sizes(cells: Sequence[Line], optional: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield each column and its widest cell; an optional one only if it has anything below the header."""
    for number, column in enumerate(zip(*cells, strict=True)):
        sizes = [cell_len(cell.text) for cell in column]
        if number not in optional or any(sizes[1:]):
            yield number, max(sizes)


def _leave_out(widths: dict[int, int], flexible: Sequence[int], optional: Sequence[int], width: int) -> None:
    """Leave out columns, in this order, until the others can be cut so that they fit."""
    for number in optional:
        if _least(widths, flexible) > width:
            widths.pop(number, None)


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1)


def _least(widths: Mapping[int, int], flexible: Sequence[int]) -> int:
    """Return how wide a table is whose flexible columns are cut as far as they may be."""
    return _total({number: min(size, _LEAST) if number in flexible else size for number, size in widths.items()})


def _shrink(widths: dict[int, int], flexible: Sequence[int], excess: int) -> None:
    """Take what is too much from the widest of the flexible columns, cell by cell."""
    shown = [number for number in flexible if number in widths]
    for _ in range(max(0, excess) if shown else 0):
        widest = max(shown, key=lambda number: widths[number])
        if widths[widest] <= _LEAST:
            return
        widths[widest] -= 1


def _row(row: Sequence[TextSpan], widths: Mapping[int, int], loose: Collection[int]) -> Line:
    """Return the cells of the columns that are shown, padded but for the last one, and cut unless they are loose."""
    out: list[TextSpan] = []
    for number, width in widths.items():
        text, style = row[number]
        shown = text if number in loose else cut(text, width)
        out.append(TextSpan(f"{shown}{' ' * (width - cell_len(shown))}{_GAP}", style))
    return [*out[:-1], out[-1]._replace(text=out[-1].text.rstrip(" "))] if out else out

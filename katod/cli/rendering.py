"""Transcripts in a terminal: Markdown in colour, a section at a time, with collapsed blocks opened and indented.

What is shown is cleaned last of all, so what Markdown spells (`&#8238;`) affects the terminal no more than what is
written.
"""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from io import StringIO
from typing import Any, ClassVar, Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from katod.cli.printing import cleaned
from katod.search.query import Query
from katod.search.sections import MARK, Sections, messages, place_in, sections_of, without_front_matter

_INDENT: Final = 3  # cells for each level of collapsed blocks
_MOST_LEVELS: Final = 6
_WIDEST: Final = 120  # cells: longer lines of prose are hard to read
_THEME: Final = "ansi_dark"  # the terminal's own colours
_MOST_COLOURED: Final = 32 * 1024  # characters of one block of code
_HTML: Final = re.compile(
    r"(?P<open><details\b[^>]*>)|(?P<close></details\s*>)|<summary\b[^>]*>(?P<summary>.*?)</summary\s*>"
    r"|<!--.*?(?:-->|\Z)|(?P<text>(?:(?!</?details\b|<summary\b|<!--).)+)",
    re.DOTALL | re.IGNORECASE,
)
_TAG: Final = re.compile(r"<(/?)([A-Za-z][\w-]*)\b[^<>]*>")
_BREAK: Final = re.compile(r"<br\s*/?>", re.IGNORECASE)
_STYLES: Final = {"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "code": "markdown.code"}
_TRAILING: Final = re.compile(r" +$", re.MULTILINE)
_THEMED: Final = Theme({"markdown.code": "cyan", "markdown.block_quote": "dim", "markdown.link_url": "blue underline"})
_HEADINGS: Final = {"h1": "bold underline", "h2": "bold green", "h3": "bold cyan"}


def render(
    pieces: Iterable[str], width: int, query: Query | None = None, *, is_recording: bool = False
) -> Iterator[str]:
    """Yield a transcript as a terminal shows it, for each part of the Markdown as soon as it is complete.

    In a message with all words of a query, a mark stands before the part to look at; a recording has messages whatever
    became of its head.
    """
    screen = Screen(width)
    if query is None:
        for piece in without_front_matter(pieces):
            yield from screen.take(piece)
        yield from screen.flush()
        return
    for message in messages(sections_of(pieces, is_recording=is_recording)):
        place = place_in(message, query)
        for number, section in enumerate(message):
            shown = screen.shown(section.shown)
            yield f"{MARK} {shown.lstrip(chr(10))}" if number == place else shown


class Screen:
    """Turns Markdown that arrives in pieces into lines with colours."""

    def __init__(self, width: int) -> None:
        # Of the environment, only the number of colours counts here: who prints decides whether there are any.
        self._console = Console(
            file=StringIO(), force_terminal=True, width=min(width, _WIDEST), highlight=False, emoji=False, theme=_THEMED
        )
        self._sections = Sections()
        self._level = 0
        self._is_apart = True  # whether a blank line, or nothing at all, was shown last

    def take(self, piece: str) -> Iterator[str]:
        """Yield what is complete with one more piece of Markdown."""
        yield from (self.shown(section.shown) for section in self._sections.take(piece))

    def flush(self) -> Iterator[str]:
        """Yield the rest: the Markdown so far is complete."""
        yield from (self.shown(section.shown) for section in self._sections.flush())

    def shown(self, section: str) -> str:
        """Return one section as a terminal shows it."""
        text = ""
        for part, is_summary in self._parts(Markdown(section, code_theme=_THEME, hyperlinks=False).parsed):
            with self._console.capture() as captured:
                self._console.print(_Cleaned(part))
            shown = _TRAILING.sub("", captured.get()).strip("\n")
            text += f"{shown}\n" if is_summary else f"{shown}\n\n"
        is_apart, self._is_apart = self._is_apart, section.endswith("\n\n")
        gap = "\n" if section[:1] in ("\n", "#") and not is_apart else ""
        return f"{gap}{text.rstrip(chr(10))}\n{chr(10) if self._is_apart else ''}" if text else ""

    def _parts(self, parsed: Iterable[Any]) -> Iterator[tuple[RenderableType, bool]]:
        """Yield what to show one below the other, and whether it is the first line of a collapsed block."""
        tokens: list[Any] = []
        for token in parsed:
            if token.type == "html_block" and token.level == 0:
                yield from self._blocks(tokens)
                yield from self._html(token.content)
                tokens = []
            else:
                tokens += _without_html(token)
        yield from self._blocks(tokens)

    def _blocks(self, tokens: list[Any]) -> Iterator[tuple[RenderableType, bool]]:
        if tokens:
            yield self._indented(_MarkdownBlocks(tokens)), False

    def _html(self, html: str) -> Iterator[tuple[RenderableType, bool]]:
        """Yield the text of a block of HTML, and note the collapsed blocks that begin and end in it."""
        for part in _HTML.finditer(html):
            if part["open"]:
                self._level += 1
            elif part["close"]:
                self._level = max(0, self._level - 1)
            elif part["summary"] is not None:
                yield self._indented(_styled(part["summary"]), level=self._level - 1), True
            elif part["text"] and (text := _styled(part["text"])).plain.strip():
                yield self._indented(text), False

    def _indented(self, shown: RenderableType, *, level: int | None = None) -> RenderableType:
        cells = _INDENT * max(0, min(self._level if level is None else level, _MOST_LEVELS))
        return Padding(shown, (0, 0, 0, cells)) if cells else shown


class _Cleaned:
    """Something that is shown without what would affect the terminal."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for text, style, control in console.render(self._shown, options):
            if not control:
                yield Segment(cleaned(text), style)


class _PlainHeading(Heading):
    """A heading on the left, in the size of text."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        self.text.stylize(_HEADINGS.get(self.tag, "bold"))
        yield self.text


class _CodeBlock(CodeBlock):
    """A block of code without a frame; a very long one without colours, too."""

    def __rich_console__(self, _console: Console, _options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        lexer = self.lexer_name if len(code) <= _MOST_COLOURED else "text"
        yield Padding(Syntax(code, lexer, theme=_THEME, word_wrap=True, background_color="default"), (0, 0, 0, 2))


class _MarkdownBlocks(Markdown):
    """Blocks of Markdown that are parsed already."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements, "heading_open": _PlainHeading, "fence": _CodeBlock, "code_block": _CodeBlock,
    }  # fmt: skip

    def __init__(self, tokens: list[Any]) -> None:
        super().__init__("", code_theme=_THEME, hyperlinks=False)
        self.parsed = tokens


def _without_html(token: Any) -> list[Any]:
    """Return a token of Markdown with text in place of HTML, of which rich shows nothing."""
    for child in token.children or ():
        if child.type == "html_inline" and _BREAK.fullmatch(child.content):
            child.type = "hardbreak"
    if token.type != "html_block":
        return [token]
    kind = type(token)
    text = kind("text", "", 0, content=_styled(token.content).plain.strip())
    return [kind("paragraph_open", "p", 1), text, kind("paragraph_close", "p", -1)]


def _styled(html: str) -> Text:
    """Return the text of HTML, with the few styles that transcripts use; no tag is left."""
    text, styles, at = Text(), [], 0  # type: ignore[var-annotated]
    for tag in _TAG.finditer(html):
        text.append(unescape(html[at : tag.start()]), style=" ".join(styles))
        at = tag.end()
        style = _STYLES.get(tag[2].lower())
        if style and not tag[1]:
            styles.append(style)
        elif style in styles:
            styles.remove(style)
    text.append(unescape(html[at:]), style=" ".join(styles))
    return text

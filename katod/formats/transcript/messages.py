"""Messages in Markdown as HTML. Loads the libraries for it, so it is imported only when HTML is printed."""

from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from katod.formats.text.linkbase import based
from katod.formats.text.markup import NOTHING, Markup, fill
from katod.text import clean

_SCHEMES: Final = ("http:", "https:", "mailto:")
_LONGEST_CODE: Final = 100_000  # characters that are coloured
_MOST_BRACKETS: Final = 1000  # for the end of each, the parser looks through all that follows
_LONGEST_PROMPT: Final = 100_000  # characters that are read as Markdown
_DEEPEST: Final = 200  # levels of quotations and lists, of which a list has two
# What plain text becomes: paragraphs of words, and the ends of their lines.
_PARAGRAPH: Final = frozenset({"paragraph_open", "inline", "paragraph_close"})
_WORDS: Final = frozenset({"text", "softbreak", "hardbreak"})
_PLAIN: Final = HtmlFormatter(nowrap=True)


class _Renderer(RendererHTML):
    """Renders tokens: pictures as links, nothing that loads or runs."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> Markup:
        """Return a picture of a message as a link: what it shows is somewhere else."""
        token = tokens[idx]
        label = self.renderInlineAsText(token.children, options, env) or "picture"
        target = _target(str(token.attrs.get("src", "")), env)
        if not target:
            return fill("<a>{}</a>", _escaped(label))
        return fill('<a href="{}" rel="noreferrer">{}</a>', _escaped(target), _escaped(label))

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Return the beginning of a link that tells its target nothing; one that leads nowhere is text."""
        token = tokens[idx]
        if target := _target(str(token.attrs.get("href", "")), env):
            token.attrSet("href", target)
            token.attrSet("rel", "noreferrer")
        else:
            token.attrs.pop("href", None)
        return self.renderToken(tokens, idx, options, env)


def _below_the_speaker(state: StateCore) -> None:
    """Give each heading of a message a level below the conversation's own ones; no level is left out."""
    above: list[int] = []
    speaker: int = state.env["speaker"]
    for token in state.tokens:
        if token.type == "heading_open":
            level = int(token.tag[1:])
            above = [*(other for other in above if other < level), level]
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(speaker + len(above), 6)}"


def _target(url: str, env: EnvType) -> str:
    """Return what a link leads to for whoever has the page, empty for nothing.

    A path is meant within the project: it leads below the base, if there is one.
    """
    return url if url.startswith("#") or _is_known(url) else based(url, env["base"])


def _is_allowed(url: str) -> bool:
    """Return whether a link may have this target: of a known scheme, or a place in a page or folder."""
    scheme = url.partition("/")[0].partition("?")[0].partition("#")[0]
    return ":" not in scheme or _is_known(url)


def _is_known(url: str) -> bool:
    """Return whether the scheme of a target is known: it neither runs anything nor is a file of this machine."""
    return url.strip().lower().startswith(_SCHEMES)


@cache
def _parser(*, breaks: bool = False) -> MarkdownIt:
    """Return a parser of messages; with `breaks`, each line of a paragraph stays one."""
    options = {"html": False, "highlight": _highlighted, "maxNesting": _DEEPEST, "breaks": breaks}
    parser = MarkdownIt("commonmark", options, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.disable("reference")  # a definition would be shown as nothing
    parser.core.ruler.push("below_the_speaker", _below_the_speaker)
    parser.validateLink = _is_allowed  # type: ignore[method-assign]
    return parser


def _highlighted(text: str, language: str, _: Any) -> Markup:
    return coloured(text, language)


def _escaped(text: str) -> Markup:
    """Escape a part of a message, which was cleaned as a whole."""
    return Markup(escape(text))


def coloured(text: str, language: str) -> Markup:
    """Return code with its parts in elements of their own, to be coloured by a style sheet; escaped in any case."""
    if len(text) > _LONGEST_CODE or not language:
        return _escaped(text)
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return _escaped(text)
    return Markup(str(highlight(text, lexer, _PLAIN)))


def as_html(text: str, speaker: int, base: str = "") -> Markup:
    """Return a message's Markdown as HTML: no raw HTML, no other links than to known schemes, nothing that loads.

    `speaker` is the level of the heading above it, `base` what relative links lead to; without one, they are text. A
    message that is nested too deeply, or has so many brackets that it takes long to read, is shown as it was written.
    """
    shown = _trimmed(text)
    if shown.count("[") > _MOST_BRACKETS:
        return fill("<pre>{}</pre>", _escaped(shown))
    parser, env = _parser(), {"speaker": speaker, "base": base}
    tokens = parser.parse(shown, env)
    return fill("<pre>{}</pre>", _escaped(shown)) if _is_too_deep(tokens) else _rendered(parser, tokens, env)


def typed_as_html(text: str, speaker: int, base: str = "") -> Markup:
    """Return a prompt's Markdown as HTML, as `as_html` does, with its line breaks.

    Nothing is returned of one that is plain text, nested too deeply, or would take long to read: it is best shown as it
    was typed.
    """
    shown = _trimmed(text)
    if shown.count("[") > _MOST_BRACKETS or len(shown) > _LONGEST_PROMPT:
        return NOTHING
    parser, env = _parser(breaks=True), {"speaker": speaker, "base": base}
    tokens = parser.parse(shown, env)
    return NOTHING if _is_too_deep(tokens) or _is_plain(tokens, shown) else _rendered(parser, tokens, env)


def _trimmed(text: str) -> str:
    return clean(text).strip("\n").rstrip()


def _is_too_deep(tokens: Sequence[Token]) -> bool:
    return any(token.level >= _DEEPEST - 2 for token in tokens)


def _is_plain(tokens: Sequence[Token], text: str) -> bool:
    """Return whether a text consists of paragraphs in which only spaces and the ends of lines may differ."""
    if any(token.type not in _PARAGRAPH for token in tokens):
        return False
    parts = [part for token in tokens for part in token.children or ()]
    shown = "".join(part.content for part in parts)
    return all(part.type in _WORDS for part in parts) and "".join(shown.split()) == "".join(text.split())


def _rendered(parser: MarkdownIt, tokens: Sequence[Token], env: EnvType) -> Markup:
    return Markup(str(parser.renderer.render(tokens, parser.options, env)).rstrip("\n"))

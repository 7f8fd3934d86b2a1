"""HTML in the lines of one message: complete tags that only mark up are kept, the rest is shown as text. Pure.

Text counts as code, and so not as HTML, only if its backticks close in the same line and none before them in the
paragraph is open.
"""

import re
from typing import Final

from katod.formats.text.ownlines import poses

# A bar may end a table cell, and with it the code or tag that it is in. So no backticks and no bars here.
_VALUE: Final = r"""(?:"[^"<`|]*+"|'[^'<`|]*+'|[^\s"'=<>`|]++)"""
_ADDRESS: Final = r"""(?=["']?+(?:https?://|mailto:|[A-Za-z0-9_./#%-]++["'\s>]))"""
_ATTRIBUTE: Final = (
    r"\s++(?:(?:align|alt|class|colspan|dir|height|lang|open|rel|rowspan|start|target|title|width)"
    rf"(?:\s*+=\s*+{_VALUE})?+|(?:href|src)\s*+=\s*+{_ADDRESS}{_VALUE})"
)
TAG: Final = rf"<(?:[a-z][a-z0-9-]*+(?:{_ATTRIBUTE})*+\s*+/?|/[a-z][a-z0-9-]*+\s*+)>"
# No HTML element has an underscore in its name, but people and models mark up text with such tags.
_HTML: Final = (
    rf"(?P<comment><!--(?!-?>)[^<>`|]*+>(?<=-->))|(?P<tag>{TAG}|</?[a-z][a-z0-9_-]*+>)|(?P<sign><(?=[a-z/!?]))"
)
_IN_HTML: Final = re.compile(_HTML, re.ASCII | re.IGNORECASE)
_IN_TEXT: Final = re.compile(
    r"\\[!-/:-@\[-`{-~]|(?P<code>(?P<ticks>`++)[^`]*+(?P=ticks)(?!`))|(?P<run>`++)"
    r"|(?P<address>(?:https?://|ftp://|www\.)[^\s<]*+)"  # to a forge it ends at a blank, whatever backticks are in it
    rf"|(?P<link><(?:https?://|mailto:|[\w.+-]++@)[^\s<>`|]*+>)|{_HTML}",
    re.ASCII | re.IGNORECASE,
)
_NAME: Final = re.compile("[A-Za-z0-9_-]+")
_HEADING: Final = re.compile(r"(</?h)([123])\b", re.IGNORECASE)  # the levels of the conversation itself
# Elements that run, load, restyle, ask for input, or hide their content.
_ACTIVE: Final = frozenset({
    "applet", "audio", "base", "body", "button", "canvas", "datalist", "dialog", "embed", "form", "frame",
    "frameset", "head", "html", "iframe", "image", "input", "link", "map", "marquee", "math", "meta", "noembed",
    "noframes", "noscript", "object", "optgroup", "option", "plaintext", "portal", "script", "select", "style",
    "svg", "template", "textarea", "title", "video", "xmp",
})  # fmt: skip
# Elements that contain or mark up everything after them until they are closed.
_CONTAINING: Final = frozenset({
    "a", "abbr", "address", "article", "aside", "b", "bdi", "bdo", "big", "blockquote", "center", "cite", "code",
    "del", "details", "dfn", "div", "dl", "em", "fieldset", "figcaption", "figure", "font", "footer", "h4",
    "h5", "h6", "header", "i", "ins", "kbd", "label", "main", "mark", "nav", "nobr", "ol", "pre", "q", "ruby", "s",
    "samp", "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tt", "u", "ul", "var",
})  # fmt: skip
_DEEPEST: Final = 100
_FAR: Final = (
    200  # characters in which the beginning of an address is looked for; of more without a blank, all may be one
)


class Tags:
    """Tracks the tags of one message, line by line."""

    def __init__(self, *, tables: bool, ends: int, literal: bool = False) -> None:
        """`tables`: a bar may end what is in a line; `ends`: the number of characters that may end a tag.

        If the text is `literal`, no tag is kept.
        """
        self._literal = literal
        self._tables = tables
        self._ends = ends
        self._open: list[str] = []
        self._sure = True  # no earlier backtick of the paragraph may still find its counterpart
        self._unseen: list[str] = []  # earlier lines of the paragraph that contain backticks, not yet examined

    def begin(self) -> None:
        """Begin another block: code spans do not continue across blocks."""
        self._sure = True
        self._unseen.clear()

    def pass_by(self, line: str) -> None:
        """Note a line with backticks but without tags; it matters only if a tag follows in the same paragraph."""
        self._unseen.append(line)

    def line(self, line: str, *, is_html: bool) -> str:
        """Return a line as it is printed; a block of HTML contains no code."""
        self._ends -= line.count(">")
        if "<" not in line:
            if "`" in line:
                self.pass_by(line)
            return line
        for before in self._unseen:
            _IN_TEXT.sub(self._piece, before)
        self._unseen.clear()
        return (_IN_HTML if is_html else _IN_TEXT).sub(self._literally if self._literal else self._piece, line)

    def opens(self, text: str) -> bool:
        """Return whether a line begins with HTML that is kept."""
        match = _IN_HTML.match(text)
        if match is None or self._literal:
            return False
        return match.lastgroup == "comment" or (match[0] != "<" and self._stays(match))

    @property
    def innermost(self) -> str:
        """The element that was opened last and is still open; empty if there is none."""
        return self._open[-1] if self._open else ""

    def closing(self) -> str:
        """Return the end tags of the elements that were left open."""
        return "".join(f"</{name}>" for name in reversed(self._open))

    def _piece(self, match: re.Match[str]) -> str:
        kind, piece = match.lastgroup, match[0]
        if kind is None:
            return _escaped(match)
        if kind == "sign":
            return self._sign(match)
        self._sure = self._sure and not self._may_be_no_code(kind, piece)
        if kind == "tag" and self._sure:
            return self._tag(match)
        return piece if self._sure else self._shown(match)

    def _may_be_no_code(self, kind: str, piece: str) -> bool:
        """Return whether renderers disagree about what is code from here on."""
        in_table = kind == "code" and self._tables and "|" in piece
        return kind == "run" or in_table or (kind == "address" and "`" in piece)

    def _literally(self, match: re.Match[str]) -> str:
        """Return a piece of text in which no tag is kept."""
        return self._shown(match) if match.lastgroup in ("comment", "tag") else self._piece(match)

    def _sign(self, match: re.Match[str]) -> str:
        """Return a `<` that begins no tag, unescaped if it cannot become one.

        In a block of HTML it always can: a browser reads on in the next line, and in katod's own tags.
        """
        harmless = match.re is not _IN_HTML and self._ends <= 0 and _is_within(match)
        return match[0] if harmless else self._shown(match)

    def _tag(self, match: re.Match[str]) -> str:
        """Return a tag unchanged, moved down if it is a heading, or escaped if it is not allowed."""
        tag = match[0]
        if not self._stays(match):
            return self._shown(match)
        name = _name(tag)
        if name in _CONTAINING and tag[1] != "/":
            self._open.append(name)
        elif name in _CONTAINING:
            self._open.pop()
        return _HEADING.sub(_moved, tag) if name in ("h4", "h5", "h6") else tag

    def _shown(self, match: re.Match[str]) -> str:
        """Return a piece as visible, inert text.

        A backslash is easier to read than an entity, but an address in front of it would swallow it.
        """
        line, end = match.string, match.end()
        if _goes_on(match[0]) and line[end : end + 1].strip():
            self._sure = False  # what follows belongs to an address in the piece, or not
        signs = (match.start() + at for at, sign in enumerate(match[0]) if sign == "<")
        is_escaped = self._literal and not any(_goes_on(_before(line, sign)) for sign in signs)
        return match[0].replace("<", "\\<" if is_escaped else "&lt;")

    def _stays(self, match: re.Match[str]) -> bool:
        """Return whether a tag is kept: if it does nothing, and no line that poses as one of katod's begins with it.

        An end tag may only close what this message opened last.
        """
        tag, name = match[0], _name(match[0])
        if name in _CONTAINING and tag[1] == "/":
            return self._open[-1:] == [name]
        may_stay = len(self._open) < _DEEPEST if name in _CONTAINING else name not in _ACTIVE
        return may_stay and not poses(match.string, match.start())


def _escaped(match: re.Match[str]) -> str:
    """Return an escaped character; an address in front of it, in a tag that is shown, would swallow the backslash."""
    return "&lt;" if match[0] == "\\<" and _goes_on(_before(match.string, match.start())) else match[0]


def _before(line: str, at: int) -> str:
    """Return as much of a line in front of a place as may belong to an address."""
    return line[max(at - _FAR, 0) : at]


def _goes_on(text: str) -> bool:
    """Return whether text may end within what a forge takes for an address, which ends at a blank."""
    word = text[-_FAR:].rsplit(None, 1)[-1] if text[-1:].strip() else ""
    return len(word) == _FAR or any(sign in word for sign in ("://", "@", "www."))


def _is_within(match: re.Match[str]) -> bool:
    """Return whether a sign directly follows a word, as in `a<b`, and nothing after it in the line ends a tag."""
    before = match.string[match.start() - 1 : match.start()]
    return (before.isalnum() or before in ("<", ")")) and ">" not in match.string[match.end() :]


def _name(tag: str) -> str:
    """Return the name of a tag's element, with headings moved down."""
    match = _NAME.search(_HEADING.sub(_moved, tag))
    return match[0].lower() if match else ""


def _moved(heading: re.Match[str]) -> str:
    return f"{heading[1]}{int(heading[2]) + 3}"

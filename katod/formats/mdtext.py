"""Text for Markdown: what a message may say without leaving its place. Pure."""

import re
from typing import Final

# Terminal sequences, control characters (newline and tab stay) and bidirectional overrides.
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What makes a line-by-line look necessary: headings, underlines, fences, HTML.
_STRUCTURE: Final = re.compile(r"^[ \t]*(?:#|={1,}[ \t]*$|-{1,}[ \t]*$|`{3}|~{3})|<", re.MULTILINE)
_FENCE: Final = re.compile(r"([ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(`{3,}|~{3,})(.*)")
_HEADING: Final = re.compile(r"( {0,3}(?:(?:[-*+>]|\d{1,9}[.)])[ \t]+)*)(#{1,6})(?=[ \t]|$)")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-+)[ \t]*")
_HTML_HEADING: Final = re.compile(r"(</?[hH])([12])\b")
# Elements that swallow what follows when nobody closes them.
_SWALLOWING: Final = re.compile(
    r"<(/?)(details|script|style|pre|textarea|table|div|xmp|title|iframe)\b[^>]*>", re.IGNORECASE
)
_COMMENT: Final = re.compile(r"<!--|-->")
_TICKS: Final = re.compile("`+")
_EMPHASIS: Final = re.compile(r"([\\`*\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|~~)")


def clean(text: str) -> str:
    """Remove what would act on a terminal or turn text around."""
    if not _CONTROLS.search(text):
        return text
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _CONTROLS.sub("", text)


def body(text: str) -> str:
    """Return a message's text for its place below a level-2 heading.

    Headings move two levels down (outside fences), so that none can pose as a speaker; a fence, comment or
    HTML block left open is closed at the end.
    """
    text = clean(text).strip("\n").rstrip()
    if not _STRUCTURE.search(text):
        return text
    return _Body().run(text)


class _Body:
    """Walks the lines of one message."""

    def __init__(self) -> None:
        self.fence = ""
        self.indent = ""
        self.open: list[str] = []
        self.comment = False
        self.out: list[str] = []

    def run(self, text: str) -> str:
        for line in text.split("\n"):
            self.out.append(self._line(line))
        if self.fence:
            self.out.append(self.indent + self.fence)
        if self.comment:
            self.out.append("-->")
        if self.open:
            self.out.append("\n" + "".join(f"</{name}>" for name in reversed(self.open)))
        return "\n".join(self.out)

    def _line(self, line: str) -> str:
        match = _FENCE.match(line)
        if self.fence:
            closes = match and match[2][0] == self.fence[0] and len(match[2]) >= len(self.fence)
            if match and closes and not match[3].strip():
                self.fence = ""
            return line
        if match and not (match[2][0] == "`" and "`" in match[3]):
            self.fence, self.indent = match[2], " " * len(match[1].expandtabs(4))
            return line
        if "<" in line or self.comment:
            line = _HTML_HEADING.sub(lambda m: f"{m[1]}{int(m[2]) + 2}", line)
            self._html(line)
        return self._heading(line)

    def _heading(self, line: str) -> str:
        underline = _UNDERLINE.fullmatch(line)
        if underline and self.out and self.out[-1].strip() and not self._is_block(self.out[-1]):
            self.out[-1] = f"### {self.out[-1].strip()}"
            return ""
        match = _HEADING.match(line)
        if not match:
            return line
        level = min(6, len(match[2]) + 2)
        return f"{match[1]}{'#' * level}{line[match.end() :]}"

    @staticmethod
    def _is_block(line: str) -> bool:
        """Say whether a line is a block of its own, which no underline can make a heading."""
        head = line.lstrip()
        return head.startswith(("#", "|", "```", "~~~")) or (
            head.startswith((">", "- ", "* ", "+ ")) or head[:1].isdigit()
        )

    def _html(self, line: str) -> None:
        for match in _COMMENT.finditer(line):
            self.comment = match[0] == "<!--"
        plain = re.sub(r"`[^`]*`", "", line)
        for match in _SWALLOWING.finditer(plain):
            name = match[2].lower()
            if not match[1]:
                self.open.append(name)
            elif name in self.open:
                while self.open.pop() != name:
                    pass


def inline(text: str) -> str:
    """Return text for the middle of a line: one line, nothing in it is markup."""
    text = " ".join(clean(text).split())
    return _EMPHASIS.sub(r"\\\1", text).replace("&", "&amp;").replace("<", "&lt;")


def code(text: str) -> str:
    """Return text as inline code, whatever backticks it holds."""
    text = " ".join(clean(text).split())
    ticks = "`" * (_longest(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fenced(text: str, language: str = "") -> str:
    """Return text as a code block; the fence is longer than any run of backticks in it."""
    text = clean(text).rstrip("\n")
    ticks = "`" * max(3, _longest(text) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def html(text: str) -> str:
    """Return text for the inside of an HTML element: one line, nothing in it is markup."""
    text = " ".join(clean(text).split())
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quoted(text: str) -> str:
    """Return text as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in body(text).split("\n"))


def _longest(text: str) -> int:
    return max((len(run) for run in _TICKS.findall(text)), default=0) if "`" in text else 0

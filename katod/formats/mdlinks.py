"""Links that would run or embed something when they are clicked are shown as text. Pure."""

import re
from html import unescape
from typing import Final

# What a message with such a link contains, as far as a quick search can tell: a scheme, or a way to spell one.
SUSPECT: Final = r"\](?:\([ \t]*$|\([ \t]*<?[^\s)/]{0,400}?(?i:script|data|&|\\))|<(?i:javascript|vbscript|data):"
_LINK: Final = re.compile(r"(?<!\\)\](?=\([ \t]*(?:<?([^\s)>]{1,400})|$))")
_AUTOLINK: Final = re.compile(r"<(?=(?i:javascript|vbscript|data):)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_ACTIVE: Final = ("javascript:", "vbscript:", "data:")


def disarmed(line: str) -> str:
    """Return a line of text, outside code, with its active links as text; code spans are left alone."""
    if "](" in line:
        line = _without_active_links(line)
    return _AUTOLINK.sub("&lt;", line) if "<" in line else line


def _without_active_links(line: str) -> str:
    """Go through the ends of link texts once, knowing whether each is in code and whether it is of a picture."""
    pieces: list[str] = []
    at = ticks = 0
    picture = False
    for match in _LINK.finditer(line):
        before = line[at : match.start()]
        ticks += before.count("`")
        opened, closed = before.rfind("!["), before.rfind("]")
        picture = opened > closed if max(opened, closed) >= 0 else picture
        active = ticks % 2 == 0 and _is_active(match[1], picture=picture)
        pieces += before, "\\]" if active else "]"
        at, picture = match.end(), False
    return "".join([*pieces, line[at:]])


def _is_active(target: str | None, *, picture: bool) -> bool:
    """Return whether a target runs something: renderers resolve entities and escapes in it. None: on the next line."""
    if target is None:
        return True
    spelled = unescape(_ESCAPE.sub(r"\1", target)).lower()
    return spelled.startswith(_ACTIVE) and not (picture and spelled.startswith("data:image/"))

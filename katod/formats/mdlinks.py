"""Links that would run or embed something when they are clicked are shown as text. Pure."""

import re
from html import unescape
from typing import Final

# What a message with such a link contains, as far as a quick search can tell: a scheme, or a way to spell one.
SUSPECT: Final = r"\](?:\([ \t]*$|\([ \t]*<?[^\s)/]*?(?i:script|data|&|\\))|<(?i:javascript|vbscript|data):"
_LINK: Final = re.compile(r"(?<!\\)\](?=\([ \t]*(?:<?([^\s)>]{1,400})|$))")
_AUTOLINK: Final = re.compile(r"<(?=(?i:javascript|vbscript|data):)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_ACTIVE: Final = ("javascript:", "vbscript:", "data:")
_PICTURE: Final = re.compile(r"!\[[^\]]*$")


def disarmed(line: str) -> str:
    """Return a line of text, outside code, with its active links as text; code spans are left alone."""
    if "](" in line:
        line = _LINK.sub(_shown, line)
    return _AUTOLINK.sub("&lt;", line) if "<" in line else line


def _shown(match: re.Match[str]) -> str:
    before = match.string[: match.start()]
    if before.count("`") % 2 or not _is_active(match[1], picture=_PICTURE.search(before) is not None):
        return "]"
    return "\\]"


def _is_active(target: str | None, *, picture: bool) -> bool:
    """Return whether a target runs something: renderers resolve entities and escapes in it. None: on the next line."""
    if target is None:
        return True
    spelled = unescape(_ESCAPE.sub(r"\1", target)).lower()
    return spelled.startswith(_ACTIVE) and not (picture and spelled.startswith("data:image/"))

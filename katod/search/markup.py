"""Markdown of katod's as it is shown. Pure."""

import re
from html import unescape
from typing import Final

_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_TAG: Final = re.compile(r"(?<!\\)</?[a-z][^<>\n]*>")


def plain(text: str) -> str:
    """Return the text that Markdown of katod's shows: without its escapes and tags."""
    return unescape(_ESCAPE.sub(r"\1", _TAG.sub("", text)))

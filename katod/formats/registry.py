"""The formats by name."""

from typing import Any, Final

from katod.formats.html import Html
from katod.formats.jsonl import Jsonl
from katod.formats.markdown import Markdown
from katod.formats.protocol import Format
from katod.model import Options

FORMATS: Final[dict[str, type[Format]]] = {Markdown.name: Markdown, Jsonl.name: Jsonl, Html.name: Html}


def open_format(name: str, options: Options, state: dict[str, Any] | None = None) -> Format:
    """Return a format at the start of an output, or continued from `state()`."""
    return FORMATS[name](options, state)

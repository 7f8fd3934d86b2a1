"""Loads the formats by name."""

from pkgutil import resolve_name
from typing import Any, cast

from katod.formats.protocol import Format
from katod.formatspec import FORMATS
from katod.model import Options


def open_format(name: str, options: Options, state: dict[str, Any] | None = None) -> Format:
    """Return a format at the start of an output, or continued from `state()`."""
    printer = cast("type[Format]", resolve_name(f"katod.formats.{FORMATS[name].printer.replace('.', ':')}"))
    return printer(options, state)

"""Loads the formats by name."""

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, cast

from katod.formats.protocol import DocumentFormat, Format, Spool
from katod.formatspec import FORMATS
from katod.model import Options


def open_format(name: str, options: Options, state: dict[str, Any] | None = None) -> Format:
    """Return a format at the start of an output, or continued from `state()`."""
    return cast("type[Format]", _printer(name))(options, state)


def open_document(name: str, options: Options, spool: Callable[[], Spool]) -> DocumentFormat:
    """Return an empty document of a format that is one."""
    return cast("type[DocumentFormat]", _printer(name))(options, spool)


def load_formats() -> None:
    """Load all of them."""
    for name in FORMATS:
        _printer(name)


def _printer(name: str) -> object:
    module, _, printer = FORMATS[name].printer.rpartition(".")
    return resolve_name(f"katod.formats.{module}:{printer}")

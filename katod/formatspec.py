"""The formats by name: what can be said of each without loading it, and how it is loaded.

A format is one module in `formats` and one row here.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NewType, cast

from katod.model import Options

if TYPE_CHECKING:
    from katod.formats.protocol import DocumentFormat, Format, Spool

# The name of a format that a recording can be written in.
FormatName = NewType("FormatName", str)
MARKDOWN: Final = FormatName("markdown")
SIGNATURE: Final = ".sig.cbor"  # of a record, in place of `.json`


class FormatSpec(NamedTuple):
    """One format: a class in `katod.formats`."""

    name: str
    suffix: str
    printer: str  # its class, such as `markdown.Markdown`
    about: str
    begins: bytes  # what every file of it begins with, in all versions, as a regular expression
    version: int = 1  # rises when the same events would print different text
    in_chat: bool = False  # whether a name typed in the chat may have its suffix
    has_end: bool = False  # nothing can be appended to a file of it
    carries_pictures: bool = False  # the content of pictures is in its lines
    shows_results: bool = False  # of tools, collapsed, unless the settings say something else
    is_document: bool = False  # made of a conversation as a whole, not event by event
    has_words: bool = True  # whether it says what was said, whatever the settings are
    heeds_tools: bool = False  # whether `content.tools` says what it prints of tools; others always print the same

    @property
    def short(self) -> str:
        """What people call it by its suffix, such as `md`."""
        return self.suffix.removeprefix(".")

    def is_printed(self, head: bytes) -> bool:
        """Return whether a file begins as katod writes this format, given its first bytes."""
        return re.match(self.begins, head) is not None


_ROWS: Final = (
    FormatSpec(
        "markdown", ".md", "transcript.markdown.Markdown", "a transcript to read",
        rb"---\n(?:[a-z]+: [^\n]*\n)*tags: \[katod, ", in_chat=True, version=4, heeds_tools=True,
    ),
    FormatSpec(
        "jsonl", ".jsonl", "jsonl.Jsonl", "all events, one per line; katod reads it like a session",
        rb'\{"schema":"katod\.event/', in_chat=True,
    ),
    FormatSpec(
        "html", ".html", "transcript.html.Html", "the transcript as one page, with its pictures",
        rb'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        rb'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; ', in_chat=True, has_end=True,
        version=4, shows_results=True, heeds_tools=True,
    ),
    FormatSpec(
        "stream", ".stream.jsonl", "stream.printer.Stream", "the messages of CodingBridge, one per line",
        rb'\{"type":"(?:stream|session_event|model_changed|permission_mode_changed|stopped|interrupted)"[,}]',
    ),
    FormatSpec(
        "lifecycle", ".lifecycle.jsonl", "lifecycle.LifecycleLines",
        "what the agent does at each step, not what is said", rb'\{"type":"session","id":"', has_words=False,
    ),
    FormatSpec(
        "matrix", ".matrix.jsonl", "matrix.printer.MatrixPrinter", "events for a Matrix room (OpenEarth), one per line",
        rb'\{"txn_id":"[0-9a-f-]{36}","type":"', carries_pictures=True, heeds_tools=True,
    ),
    FormatSpec(
        "otlp", ".otlp.jsonl", "otlp.printer.OtlpPrinter", "OpenTelemetry spans (OTLP/JSON), one per line",
        rb'\{"resourceSpans":\[\{"resource":\{"attributes":', has_words=False, heeds_tools=True,
    ),
    FormatSpec(
        "agent-record", ".acr.json", "records.agentrecord.AgentRecord",
        "a record that can be signed (IETF draft, version 00)",
        rb'\{"(?:file-attribution":\{"files"|id":"[0-9a-f-]{36}")', is_document=True,
    ),
    FormatSpec(
        "vcon", ".vcon.json", "records.vcon.Vcon", "the same record in a vCon, a conversation container of the IETF",
        rb'\{"uuid":"[0-9a-f-]{36}","created_at":', is_document=True,
    ),
    FormatSpec(
        "agent-trace", ".trace.json", "records.agenttrace.AgentTrace",
        "which lines the agent wrote: Agent Trace 0.1.0", rb'\{"version":"0\.1\.', is_document=True, has_words=False,
    ),
    FormatSpec(
        "atif", ".atif.json", "atif.document.Atif", "a trajectory for evaluations: ATIF 1.7",
        rb'\{"schema_version":"ATIF-v1\.', is_document=True,
    ),
    FormatSpec(
        "atif-1.8", ".atif.json", "atif.document.Atif18", "the same, ATIF 1.8", rb'\{"schema_version":"ATIF-v1\.',
        is_document=True,
    ),
)  # fmt: skip
FORMATS: Final = {spec.name: spec for spec in _ROWS}
SHORT_FORMATS: Final = {spec.short: spec.name for spec in reversed(_ROWS)}  # of two with one suffix, the first


def format_of(name: str) -> FormatSpec | None:
    """Return the format that a file name ends like, None if it has the suffix of none or nothing before it.

    Of several suffixes that it ends in, the longest counts: a name in `.stream.jsonl` also ends in `.jsonl`.
    """
    folded = name.lower()
    alike = [spec for spec in _ROWS if folded.endswith(spec.suffix) and len(name) > len(spec.suffix)]
    return max(alike, key=lambda spec: len(spec.suffix), default=None)


def split_name(name: str) -> tuple[str, str]:
    """Return a file name without the suffix of its format, and that suffix; of another name, the last extension."""
    spec = format_of(name)
    if spec is not None:
        return name[: -len(spec.suffix)], name[-len(spec.suffix) :]
    stem, dot, ending = name.rpartition(".")
    return (stem, dot + ending) if stem else (name, "")


def signature_name(name: str) -> str:
    """Return what the signature of a record is called if nobody chose another name."""
    return f"{name.removesuffix('.json')}{SIGNATURE}"


def suffixes_in_chat() -> list[str]:
    """Return the suffixes that a name typed in the chat may have."""
    return [spec.suffix for spec in _ROWS if spec.in_chat]


def recorded_formats() -> list[str]:
    """Return the names of the formats that a recording can be written in: those that can be appended to."""
    return [spec.name for spec in _ROWS if not (spec.has_end or spec.is_document)]


def open_format(name: str, options: Options, state: dict[str, Any] | None = None) -> "Format":
    """Return a format at the start of an output, or continued from `state()`."""
    return cast("type[Format]", _printer(name))(options, state)


def open_document(name: str, options: Options, spool: "Callable[[], Spool]") -> "DocumentFormat":
    """Return an empty document of a format that is one."""
    return cast("type[DocumentFormat]", _printer(name))(options, spool)


def load_formats() -> None:
    """Load all of them."""
    for name in FORMATS:
        _printer(name)


def _printer(name: str) -> object:
    from pkgutil import resolve_name  # noqa: PLC0415 - every command imports this module, and few print

    module, _, printer = FORMATS[name].printer.rpartition(".")
    return resolve_name(f"katod.formats.{module}:{printer}")

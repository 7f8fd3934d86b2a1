"""What `katod export` does: a session, a file or a recording, in any format. Needs no daemon."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import Any

import click

from katod import durable
from katod.agents import AGENTS
from katod.agents.sniffing import sniff
from katod.agents.spec import AgentSpec
from katod.archive.archived import events_of as archived_events
from katod.archive.parts import ArchivedSession
from katod.cli.context import Context
from katod.cli.ending import cleared_at_signals
from katod.cli.formatchoice import require_page
from katod.cli.printing import say
from katod.cli.selection import recording_named, select_anywhere, select_recordings, shown_with
from katod.config import with_home
from katod.discover.found import FoundSession
from katod.errors import LedgerError, OutputReplaced, SelectionError
from katod.formats.eventlines import MOST, begins_with_events
from katod.formats.transcript.pullrequest import pull_request
from katod.formats.transcript.turns import gathered
from katod.formatspec import FORMATS, MARKDOWN, format_of, split_name
from katod.metadata import Replay
from katod.model import Options, SessionKey
from katod.record.export import (
    Stretch,
    Tally,
    for_export,
    linking_from,
    picture_folder,
    picture_saver,
    publish_new,
    read_katod,
    render_all,
    render_recording,
    replay,
)
from katod.record.policy import Policy
from katod.record.ranges import recorded
from katod.record.reading import opened
from katod.store.rows import OutputRow


def export_chosen(
    context: Context,
    what: str | None,
    *,
    recording: str | None,
    format_name: str | None,
    output: str,
    purpose: str | None,
    base: str,
    thinking: bool,
    tools: Any,
    redact: bool,
) -> None:
    """Export what the options of `katod export` choose. Raises UsageError if they exclude each other."""
    if recording is not None:
        if any((format_name, thinking, tools, not redact, purpose, base)):
            raise click.UsageError("--recording uses the recording's own settings: the only other option is -o")
        row, pieces = _recording(context, recording)
        _write(output, pieces, row.path.name)
        return
    chosen = format_name or _by_suffix(Path(output))
    options = replace(options_of(context, chosen, thinking=thinking, tools=tools, redact=redact), base=base)
    require_page(chosen, base)
    if purpose == "pr" and chosen != "markdown":
        raise click.UsageError("--for pr writes Markdown: omit -f and other file extensions")
    _one(context, what or "", output, chosen, options, for_pull_request=purpose == "pr")


def _one(
    context: Context, what: str, output: str, format_name: str, options: Options, *, for_pull_request: bool
) -> None:
    """Export one session or file."""
    name, events = events_of(context, what)
    file_name = f"{name}{FORMATS[format_name].suffix}"
    if for_pull_request:
        pieces = iter([_for_pull_request(events, options)])
    else:
        pieces = _rendered(events, format_name, options, _target(output, file_name))
    _write(output, with_words(pieces, what or name), file_name)


def _by_suffix(output: Path) -> str:
    """Return the format that the output's name implies. Raises UsageError for an unknown file extension."""
    if not output.suffix or output.is_dir():
        return "markdown"
    spec = format_of(output.name)
    if spec is None:
        known = ", ".join(dict.fromkeys(spec.suffix for spec in FORMATS.values()))
        raise click.UsageError(f"unknown file extension {output.suffix} (known: {known}): choose a format with -f")
    return spec.name


def events_of(context: Context, what: str) -> tuple[str, Replay]:
    """Return the name of the export, without its extension, and the events of the session, recording or file."""
    path = with_home(what)
    is_file = _is_a_file(what, path)
    row = _recording_named(context, what, is_file=is_file)
    if is_file and (row is None or what.isdecimal()):
        return split_name(path.name)[0], _noticed(_file(context, path), what)
    if row is not None:
        return split_name(row.path.name)[0], _of_recording(context, row, what)
    if path.suffix == FORMATS["jsonl"].suffix:
        raise SelectionError("no such file", path=what)
    found = select_anywhere(context, what)
    return _file_name(found.key), _noticed(_session(context, found), what or str(found.key))


def _recording_named(context: Context, what: str, *, is_file: bool) -> OutputRow | None:
    """Return the recording with this number or file, if any; a file can be exported without the ledger, too."""
    try:
        return recording_named(context, what)
    except LedgerError:
        if is_file:
            return None
        raise


def _is_a_file(what: str, path: Path) -> bool:
    """Return whether this is a file, but none in Markdown: those are recordings. Raises SelectionError for a folder."""
    if what and path.is_dir():
        raise SelectionError("is a directory", path=what, hint="name a session file, or a session of `katod sessions`")
    return bool(what) and path.is_file() and path.suffix != FORMATS["markdown"].suffix


def _of_recording(context: Context, row: OutputRow, what: str) -> Replay:
    """Return the events of a recording: those in its own file, if that has events and is named; else of its session."""
    if not what.isdecimal() and row.format == FORMATS["jsonl"].name and os.path.lexists(row.path):
        return _noticed(_lines_of(row), what)
    key, stretches = _sources_of(context, row)
    return recorded(row, replay(key, stretches, context.log, counts=True))


def _noticed(events: Replay, what: str) -> Replay:
    """Yield events; if no message is among them, but records of unknown shape are, say so in the end."""
    tally = Tally()
    yield from tally.over(events)
    if tally.problem:
        say(f"katod: {what}: {tally.problem}", err=True)


def _session(context: Context, found: FoundSession) -> Replay:
    if isinstance(found, ArchivedSession):
        require_events(found)
        return archived_events(found)
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    with suppress(LedgerError), context.reading() as ledger:
        return replay(found.key, stretches, context.log, said=ledger.personal.of(found.key) if ledger else None)
    return replay(found.key, stretches, context.log)


def require_events(found: ArchivedSession) -> None:
    """Raise SelectionError for a session of which there is only the text."""
    if not found.has_events:
        what = f"the machine {found.machine} exported only its text, as {found.path.name}"
        raise SelectionError(what, path=str(found.key), hint=f"`{shown_with(found)}` shows it")


def _file(context: Context, path: Path) -> Replay:
    if _is_katod(path):
        with path.open("rb") as lines:
            yield from read_katod(lines, path)
        return
    identity = _agent(context, path.absolute()).named(path.absolute())
    yield from replay(identity.key, [Stretch(str(path.absolute()), identity)], context.log)


def _lines_of(row: OutputRow) -> Replay:
    """Yield the events in a recording's own file. Raises OutputUnreadable, SourceError."""
    with opened(row) as lines:
        yield from read_katod(lines, row.path)


def _for_pull_request(events: Replay, options: Options) -> str:
    conversation = gathered(events, options)
    return pull_request(conversation) if conversation and conversation.turns else ""


def with_words(pieces: Iterator[str], what: str) -> Iterator[str]:
    """Return the text of an export. Raises SelectionError if there is none: an empty file is no page and no record."""
    first = next(filter(None, pieces), None)
    if first is None:
        raise SelectionError("nothing was said in it yet", path=what)
    return chain((first,), pieces)


def _agent(context: Context, path: Path) -> AgentSpec:
    """Return the agent that wrote this file, judged by its first records and its place. Raises SelectionError."""
    if spec := sniff(path):
        relatives = [root for root in context.roots() if root.spec.form == spec.name]
        return next((root.spec for root in relatives if Path(os.path.realpath(path)).is_relative_to(root.path)), spec)
    products = ", ".join(sorted(spec.product for spec in AGENTS.values()))
    hint = f"katod reads session files of {products}, and its own JSONL"
    raise SelectionError("not a session file that katod recognises", path=path, hint=hint)


def is_read_as_events(path: Path) -> bool:
    """Return whether a file is katod's own JSONL, or the session file of an agent."""
    return _is_katod(path) or sniff(path) is not None


def _is_katod(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"schema":"katod.event/' in file.readline(4096)[:64] or begins_with_events(path.name, file.read(MOST))


def _recording(context: Context, recording: str) -> tuple[OutputRow, Iterator[str]]:
    rows = select_recordings(context, recording)
    if len(rows) != 1:
        numbers = ", ".join(str(row.id) for row in rows)
        raise SelectionError(f"{len(rows)} recordings match {recording!r}", hint=f"name one by its number: {numbers}")
    [row] = rows
    return row, render_recording(row, *_sources_of(context, row), context.log)


def _sources_of(context: Context, row: OutputRow) -> tuple[SessionKey, list[Stretch]]:
    """Return the session of a recording, and what belongs to it of its sources."""
    with context.reading() as ledger:
        assert ledger is not None
        sources = ledger.sources_of(row.session)
        return ledger.session(row.session).key, [Stretch(s.path, s.identity, row.limit(s)) for s in sources]


def _file_name(key: SessionKey) -> str:
    return f"{key.id}-agent-{key.subagent}" if key.subagent else key.id


def options_of(context: Context, form: str = MARKDOWN, **content: Any) -> Options:
    """Return the options of an export in a format: the configured ones, unless others are given."""
    return Policy.of(context.settings, ()).export_options(form, **content)


def _rendered(events: Replay, format_name: str, options: Options, target: Path | None) -> Iterator[str]:
    """Yield the text of an export. Pictures are saved beside a file; a stream only has their names."""
    folder = picture_folder(target.name, format_name, options) if target else ""
    options = for_export(linking_from(options, target.parent if target else Path()), format_name, folder)
    if target is None or not folder:
        return render_all(events, format_name, options)
    save = picture_saver(target.parent.absolute(), (target.name,), folder)
    return render_all(events, format_name, options, save)


def _target(output: str, name: str) -> Path | None:
    """Return the file that is written, `name` if the output is a folder; None for standard output."""
    if output == "-":
        return None
    target = with_home(output)
    return target / name if target.is_dir() or output.endswith("/") else target


def _write(output: str, pieces: Iterator[str], name: str) -> None:
    """Write to standard output, to `name` in a folder, or to a new file, readable only by its owner."""
    target = _target(output, name)
    if target is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    first = next(pieces, "")
    if os.path.lexists(target):
        raise _taken(target)
    folder, hidden = Path(os.path.realpath(target.parent)), f".katod-export-{token_hex(4)}.tmp"
    try:  # half an export would look whole, and block the next one
        with durable.naming(target), cleared_at_signals(partial(_remove, folder / hidden)):
            publish_new(chain((first,), pieces), folder, target.name, hidden)
    except OutputReplaced:
        raise _taken(target) from None
    say(f"wrote {target}")


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _taken(target: Path) -> SelectionError:
    return SelectionError("already exists", path=target, hint="choose another name")

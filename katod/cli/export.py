"""`katod export`: a session, a file, a recording or everything, in any format. Needs no daemon."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from katod.agents import AGENTS, sniff
from katod.agents.base import AgentSpec
from katod.cli.context import Context, Found
from katod.cli.printing import say
from katod.errors import KatodError, SelectionError, SourceError
from katod.formats.registry import FORMATS
from katod.model import FORMAT_OF, SUFFIXES, Options, SessionKey
from katod.record.export import Stretch, read_katod, render_all, render_recording, replay
from katod.record.policy import Policy
from katod.store.rows import OutputRow


@click.command()
@click.argument("what", required=False, metavar="[SESSION|FILE]")
@click.option(
    "--recording",
    type=int,
    metavar="ID",
    help="Render a recording again, with its own settings (ids: `katod status`).",
)
@click.option(
    "--all", "everything", is_flag=True, help="Export every session, each to its own file in the directory of -o."
)
@click.option(
    "-f",
    "--format",
    "format_name",
    type=click.Choice(list(FORMATS)),
    help="Output format. Default: by the file extension of -o, else markdown.",
)
@click.option(
    "-o", "--output", default="-", metavar="FILE|DIRECTORY|-", help="Where to write. Default: -, standard output."
)
@click.option("--thinking", is_flag=True, help="Include the agent's thinking.")
@click.option("--tools", type=click.Choice(["none", "summary", "full"]), help="How to show tool calls.")
@click.option("--no-redact", is_flag=True, help="Do not redact secrets.")
@click.pass_obj
def export(
    context: Context,
    what: str | None,
    recording: int | None,
    everything: bool,
    format_name: str | None,
    output: str,
    thinking: bool,
    tools: Any,
    no_redact: bool,
) -> None:
    """Export a session, a session file, a recording, or everything.

    SESSION is a session id, a unique prefix of one, `agent:prefix`, or `latest`. FILE is an agent's session file or
    a JSONL file that katod wrote. Existing files are never overwritten.
    """
    if sum((what is not None, recording is not None, everything)) != 1:
        raise click.UsageError("give exactly one of SESSION, FILE, --recording ID or --all")
    if recording is not None:
        if format_name or thinking or tools or no_redact:
            raise click.UsageError("--recording uses the recording's own settings: the only other option is -o")
        row, pieces = _recording(context, recording)
        _write(output, pieces, row.path.name)
        return
    options = _options(context, thinking=thinking, tools=tools, redact=not no_redact)
    chosen = format_name or _by_suffix(Path(output), everything=everything)
    if everything:
        _all(context, Path(output), chosen, options)
        return
    name, pieces = _one(context, str(what), chosen, options)
    _write(output, pieces, f"{name}{SUFFIXES[chosen]}")


def _by_suffix(output: Path, *, everything: bool) -> str:
    """Return the format that the output's name implies. Raises UsageError for an unknown file extension."""
    if everything or not output.suffix or output.is_dir():
        return "markdown"
    if output.suffix not in FORMAT_OF:
        known = ", ".join(FORMAT_OF)
        raise click.UsageError(f"unknown file extension {output.suffix} (known: {known}): choose a format with -f")
    return FORMAT_OF[output.suffix]


def _one(context: Context, what: str, format_name: str, options: Options) -> tuple[str, Iterator[str]]:
    """Return the name of the export, without its extension, and its text."""
    path = Path(what).expanduser()
    if path.is_file():
        return path.stem, _file(context, path, format_name, options)
    if "/" in what or path.suffix == ".jsonl":
        raise SelectionError("no such file", path=what)
    found = context.select(what)
    return _file_name(found.key), _session(context, found, format_name, options)


def _session(context: Context, found: Found, format_name: str, options: Options) -> Iterator[str]:
    stretches = [Stretch(path, identity) for path, identity, _ in found.files]
    return render_all(replay(found.key, stretches, context.log), format_name, options)


def _file(context: Context, path: Path, format_name: str, options: Options) -> Iterator[str]:
    if _is_katod(path):
        with path.open("rb") as lines:
            yield from render_all(read_katod(lines, path), format_name, options)
        return
    identity = _agent(path).named(path.absolute())
    stretch = Stretch(str(path.absolute()), identity)
    yield from render_all(replay(identity.key, [stretch], context.log), format_name, options)


def _agent(path: Path) -> AgentSpec:
    """Return the agent that wrote this file, judged by its first records. Raises SelectionError."""
    if spec := sniff(path.absolute()):
        return spec
    products = ", ".join(sorted(spec.product for spec in AGENTS.values()))
    hint = f"katod reads session files of {products}, and its own JSONL"
    raise SelectionError("not a session file that katod recognises", path=path, hint=hint)


def _is_katod(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"schema":"katod.event/' in file.readline(4096)[:64]


def _recording(context: Context, recording: int) -> tuple[OutputRow, Iterator[str]]:
    ledger = context.ledger()
    rows = {row.id: row for row in ledger.outputs()} if ledger else {}
    if ledger is None or recording not in rows:
        raise SelectionError(f"there is no recording {recording}", hint="run `katod status --json` to list them")
    row = rows[recording]
    key = ledger.session(row.session).key
    stretches = [Stretch(s.path, s.identity, row.limit(s)) for s in ledger.sources_of(row.session)]
    ledger.close()
    return row, render_recording(row, key, stretches, context.log)


def _all(context: Context, folder: Path, format_name: str, options: Options) -> None:
    if str(folder) == "-":
        raise click.UsageError("--all needs a directory: add -o DIRECTORY")
    suffix = SUFFIXES[format_name]
    failed = written = 0
    sessions = sorted(context.found().values(), key=lambda found: found.key)
    for found in _progress(sessions):
        target = folder / found.key.agent / f"{_file_name(found.key)}{suffix}"
        try:
            _write(str(target), _session(context, found, format_name, options), target.name, announce=False)
            written += 1
        except SelectionError:
            continue  # exported before: existing files are never overwritten
        except SourceError as error:
            failed += 1
            say(f"katod: {error}", err=True)
    say(f"wrote {written}, skipped {len(sessions) - written - failed} that already existed")
    if failed:
        raise KatodError(f"{failed} of {len(sessions)} sessions could not be exported")


def _file_name(key: SessionKey) -> str:
    return f"{key.id}-agent-{key.subagent}" if key.subagent else key.id


def _progress(sessions: list[Found]) -> Iterable[Found]:
    if not sys.stderr.isatty():
        return sessions
    from rich.console import Console  # noqa: PLC0415 - only needed on a terminal
    from rich.progress import track  # noqa: PLC0415

    return track(sessions, "exporting", console=Console(stderr=True))


def _options(context: Context, *, thinking: bool, tools: Any, redact: bool) -> Options:
    base = Policy.of(context.settings, ()).options()
    return replace(
        base,
        thinking=thinking or base.thinking,
        tools=tools or base.tools,
        redact=redact and base.redact,
        attachments="name",
    )


def _write(output: str, pieces: Iterator[str], name: str, *, announce: bool = True) -> None:
    """Write to standard output, to `name` in a folder, or to a new file, readable only by its owner."""
    if output == "-":
        for piece in pieces:
            sys.stdout.buffer.write(piece.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
        return
    target = Path(output).expanduser()
    if target.is_dir() or output.endswith("/"):
        target = target / name
    target.parent.mkdir(parents=True, exist_ok=True)
    first = next(pieces, "")
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise SelectionError("already exists", path=target, hint="choose another name") from None
    try:
        with open(fd, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(first)
            file.writelines(pieces)
    except BaseException:
        target.unlink(missing_ok=True)  # half an export would block the next one
        raise
    if announce:
        say(f"wrote {target}")

"""`katod verify`: does each output still contain what the sources say?"""

from collections import Counter
from typing import NamedTuple

import click

from katod.cli.context import Context
from katod.cli.parameters import RECORDING
from katod.cli.printing import say
from katod.cli.record import ask
from katod.cli.selection import select_recordings
from katod.errors import KatodError, OutputUnreadable, SourceError
from katod.formats.redact.version import RULES_VERSION
from katod.record.restore import Missing
from katod.store.ledger import Ledger
from katod.store.rows import UNNAMED, OutputRow

_LISTED = 10
_WIDTH = 80


class Verdict(NamedTuple):
    """The result for one recording: whether everything is there (None if unknown), one line about it, and
    what is missing.
    """

    good: bool | None
    text: str
    missing: Missing | None = None


@click.command()
@click.argument("recording", type=RECORDING, default="")
@click.option("--append-missing", is_flag=True, help="Append what is missing to the transcript, after asking.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--strict", is_flag=True, help="Also fail if a transcript can no longer be checked.")
@click.pass_obj
def verify(context: Context, recording: str, append_missing: bool, yes: bool, strict: bool) -> None:
    """Check transcripts against the agents' session files.

    RECORDING is the number or the file of a recording, or its session. Without it, all recordings are checked. katod
    renders each recording again and compares it with the file; text that you added is ignored. The exit code is 1 if
    anything is missing or changed. Use `--append-missing` if an editor saved an older copy over a transcript.
    """
    rows, results = select_recordings(context, recording), Counter[bool | None]()
    for row in rows:
        verdict = _checked(context, row)
        if append_missing and verdict.missing is not None and _append(context, row, verdict.missing, yes=yes):
            verdict = _checked(context, row)
        results[verdict.good] += 1
    if unknown := results[None]:
        say(f"{unknown} of {len(rows)} recordings can no longer be checked", err=True)
    if failed := results[False]:
        raise KatodError(f"{failed} of {len(rows)} recordings do not match")
    if unknown and strict:
        raise KatodError("--strict requires that every recording can be checked")


def _checked(context: Context, row: OutputRow) -> Verdict:
    """Compare an output as the ledger has it now, print the result, and return it."""
    ledger = context.ledger()
    assert ledger is not None
    row = next(now for now in ledger.outputs(row.session) if now.id == row.id)
    verdict = _verify(ledger, row, context)
    ledger.close()
    say(f"{row.id}  {row.path}: {verdict.text}")
    return verdict


def _append(context: Context, row: OutputRow, missing: Missing, *, yes: bool) -> bool:
    """List what is missing and have it appended; return whether it was. Raises TargetRefused."""
    for number in missing.numbers[:_LISTED]:
        say(f"   {_first_line(missing.pieces[number])}")
    if (more := len(missing.numbers) - _LISTED) > 0:
        say(f"   and {more} more")
    if not yes and not click.confirm(f"Append {len(missing.numbers)} to {row.path.name}?"):
        return False
    ask(context, missing.key, "restore", str(row.id))
    return True


def _first_line(piece: bytes) -> str:
    line = next(filter(None, piece.decode().split("\n")), "")
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _verify(ledger: Ledger, row: OutputRow, context: Context) -> Verdict:
    if row.held is not None:
        return Verdict(good=True, text=f"nothing written yet: {UNNAMED}")
    if not row.made:
        return Verdict(good=True, text="nothing written yet")
    try:
        return _verify_made(row, Missing.of(row, ledger, context.log))
    except SourceError as error:
        return Verdict(good=None, text=f"can no longer be checked (session file: {error.what})")
    except OutputUnreadable as error:
        what = f"{error.what} (moved, renamed or deleted?)" if error.is_gone else f"{error.what} ({error.hint})"
        return Verdict(good=False, text=what)


def _verify_made(row: OutputRow, missing: Missing) -> Verdict:
    """Return the result for an output, including what is waiting to be written to it."""
    verdict = _compare(missing)
    if verdict.good is False and row.options.redact and row.options.rules != RULES_VERSION:
        return Verdict(good=False, text=f"{verdict.text} (its secrets were redacted by an older set of rules)")
    if row.intent is None or missing.written.endswith(row.intent):
        return verdict
    waiting = f"{len(row.intent)} bytes are waiting to be written{f' ({row.problem})' if row.problem else ''}"
    return verdict._replace(text=f"{verdict.text}; {waiting}")


def _compare(missing: Missing) -> Verdict:
    pieces = [piece for piece in missing.pieces if piece]
    if missing.numbers:
        text = f"{len(missing.numbers)} of {len(pieces)} parts are missing or changed"
        return Verdict(good=False, text=text, missing=missing)
    if missing.content == b"".join(pieces):
        return Verdict(good=True, text="as recorded")
    return Verdict(good=True, text=f"all {len(pieces)} parts found, with other text between them")

"""`katod verify`: does each output still contain what the sources say?"""

from collections.abc import Iterable
from typing import NamedTuple

import click

from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import KatodError, SelectionError, SourceError
from katod.formats.redact import RULES_VERSION
from katod.record.export import Stretch, render_recording
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow


class Verdict(NamedTuple):
    """The result for one recording: whether everything is there, and one line about it."""

    good: bool
    text: str


@click.command()
@click.argument("recording", type=int, required=False)
@click.pass_obj
def verify(context: Context, recording: int | None) -> None:
    """Check transcripts against the agents' session files.

    Renders each recording again and compares it with the file. Text that you added is ignored. Exits with 1 if
    anything is missing or changed.
    """
    ledger = context.ledger()
    rows = [row for row in (ledger.outputs() if ledger else []) if recording in (None, row.id)]
    if ledger is None or (recording is not None and not rows):
        raise SelectionError(
            f"there is no recording {recording}" if recording is not None else "nothing has been recorded yet",
            hint="run `katod status --json` to list them" if recording is not None else "type ::start in a chat",
        )
    failed = 0
    for row in rows:
        verdict = _verify(ledger, row, context)
        failed += not verdict.good
        say(f"{row.id}  {row.path}: {verdict.text}")
    ledger.close()
    if failed:
        raise KatodError(f"{failed} of {len(rows)} recordings do not match")


def _verify(ledger: Ledger, row: OutputRow, context: Context) -> Verdict:
    if not row.made:
        return Verdict(good=True, text="nothing written yet")
    try:
        return _verify_made(ledger, row, context)
    except SourceError as error:
        return Verdict(good=True, text=f"cannot be checked any more (session file: {error.what})")
    except OSError as error:
        return Verdict(good=False, text=f"{error.strerror} (moved, renamed or deleted?)")


def _verify_made(ledger: Ledger, row: OutputRow, context: Context) -> Verdict:
    """Compare an output, including what is waiting to be written to it. Raises SourceError, OSError."""
    key = ledger.session(row.session).key
    stretches = [Stretch(s.path, s.identity, row.reached(s)) for s in ledger.sources_of(row.session)]
    content, intent = row.path.read_bytes(), row.intent or b""
    verdict = compare(content + intent, render_recording(row, key, stretches, context.log))
    if not verdict.good and row.options.redact and row.options.rules != RULES_VERSION:
        return Verdict(good=False, text=f"{verdict.text} (its secrets were redacted by an older set of rules)")
    if content.endswith(intent):
        return verdict
    waiting = f"{len(intent)} bytes are waiting to be written{f' ({row.problem})' if row.problem else ''}"
    return Verdict(verdict.good, f"{verdict.text}; {waiting}")


def compare(content: bytes, pieces: Iterable[str]) -> Verdict:
    """Find each piece in the content, in order; anything between them was added by the user."""
    at = found = missing = 0
    alone = True
    for piece in pieces:
        wanted = piece.encode("utf-8", "replace")
        here = content.find(wanted, at)
        end = here + len(wanted) if here >= 0 else _lines_end(content, wanted, at)
        if end < 0:
            missing += 1
            continue
        alone &= here == at
        found += bool(wanted)
        at = end
    if missing:
        return Verdict(good=False, text=f"{missing} of {found + missing} parts are missing or changed")
    whole = alone and at == len(content)
    return Verdict(good=True, text="as recorded" if whole else f"all {found} parts found, with other text between them")


def _lines_end(content: bytes, wanted: bytes, at: int) -> int:
    """Return where the lines of a part end if they follow in order, other text among them; -1 if one is missing."""
    for line in filter(None, wanted.split(b"\n")):
        found = content.find(line, at)
        if found < 0:
            return -1
        at = found + len(line)
    return at

"""`katod verify`: does each output still contain what the sources say?"""

import json
from collections import Counter
from contextlib import suppress
from typing import Any, Final, NamedTuple

import click

from katod.cli.context import Context
from katod.cli.parameters import RECORDING, exclude
from katod.cli.printing import say
from katod.cli.record import ask
from katod.cli.selection import select_recordings
from katod.errors import KatodError, OutputUnreadable, SourceError, TargetRefused
from katod.formats.chain import chain_of
from katod.formats.redact.redactor import redact_json
from katod.formats.redact.version import RULES_VERSION
from katod.formatspec import FORMATS
from katod.record.output import chain_kept, missing_events
from katod.record.reading import opened
from katod.record.restore import Missing
from katod.store.ledger import Ledger
from katod.store.rows import UNNAMED, OutputRow

_LISTED = 10
_WIDTH = 80
# What a receipt says is known to be missing in a session.
_GAPS: Final = {
    "encryptedThinking": "with encrypted thinking",
    "missingParent": "with a parent that is not in the file",
    "partsNotUnderstood": "with parts not understood",
}


class Verdict(NamedTuple):
    """The result for one recording: whether everything is there (None if unknown), one line about it, what is
    missing, and what became of the records of its session, if that is known.
    """

    good: bool | None
    text: str
    missing: Missing | None = None
    receipt: dict[str, Any] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing; what the user changed is there."""
        return bool(self.good) or (self.missing is not None and not self.missing.absent)


@click.command()
@click.argument("recording", type=RECORDING, default="")
@click.option("--append-missing", is_flag=True, help="Append what is missing to the transcript, after asking.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--strict", is_flag=True, help="Also fail if a transcript can no longer be checked.")
@click.option("--chain", is_flag=True, help="Compare recordings in JSONL with the heads that katod keeps of them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per recording.")
@click.pass_obj
def verify(
    context: Context, recording: str, append_missing: bool, yes: bool, strict: bool, chain: bool, as_json: bool
) -> None:
    """Check transcripts against the agents' session files.

    RECORDING is the number or the file of a recording, or its session. Without it, all recordings are checked. katod
    renders each recording again and compares it with the file; text that you added is ignored, and so are front matter,
    the title and line ends. The exit code is 1 if anything is missing or changed. A second line says what became of the
    agent's records: translated, left out by name, or not
    understood. Use `--append-missing` if an editor saved an older copy
    over a transcript.

    With --chain, no session file is needed: the events in each recording in JSONL are compared with the head of the
    chain over what katod wrote to it. That finds accidents; someone who can change both can hide a change. A head that
    you published with `katod seal --head` reveals every change.
    """
    if chain:
        exclude("--chain cannot be combined with other options", append_missing, yes, strict, as_json)
        check_chains(context, recording)
        return
    rows, results = select_recordings(context, recording), Counter[bool | None]()
    for row in rows:
        verdict = _checked(context, row, as_json=as_json)
        if append_missing and _complete(context, row, verdict, yes=yes):
            verdict = _checked(context, row, as_json=as_json)
        results[verdict.good] += 1
    if unknown := results[None]:
        say(f"{unknown} of {len(rows)} recordings can no longer be checked", err=True)
    if failed := results[False]:
        raise KatodError(f"{failed} of {len(rows)} recordings do not match")
    if unknown and strict:
        raise KatodError("--strict requires that every recording can be checked")


def check_chains(context: Context, recording: str) -> None:
    """Compare recordings with the heads in the ledger. Raises KatodError if one does not match, or none has a chain."""
    rows = [row for row in select_recordings(context, recording) if row.format == FORMATS["jsonl"].name and row.made]
    failed = 0
    for row in rows:
        with context.reading() as ledger:  # it may have gone on meanwhile
            now = _now(ledger, row) if ledger else row
        good, text = chain_verdict(now)
        failed += not good
        say(f"{now.id}  {now.path}: {text}")
    if not rows:
        raise KatodError("only recordings in JSONL have a chain, and there are none")
    if failed:
        raise KatodError(f"{failed} recordings do not match their chain")


def chain_verdict(row: OutputRow) -> tuple[bool, str]:
    """Return whether the file of a recording has the events that katod wrote, and a line about it."""
    kept = chain_kept(row)
    if kept is None:
        return True, "began without a chain"
    try:
        with opened(row) as lines:
            found = chain_of(lines, kept.events)
    except OutputUnreadable as error:
        return False, error.what
    about = f"; notes beside them: {found.notes:,}" if found.notes else ""
    if found.strange:
        return False, f"{found.strange}{about}"
    if waiting := missing_events(row, found.whole):
        about = f", except those that wait to be written{about}"
    if found.whole.after(waiting).is_at(kept):
        if doubt := kept.doubt():
            about = f", but {doubt}{about}"
        return True, f"all {kept.events:,} events are intact{about}"
    if found.whole.events != kept.events:
        return False, f"has {found.whole.events:,} of {kept.events:,} events{about}"
    return False, f"an event was changed or moved{about}"


def _now(ledger: Ledger, row: OutputRow) -> OutputRow:
    """Return an output as the ledger has it now, with the path where its file was found."""
    now = next((now for now in ledger.outputs(row.session) if now.id == row.id), row)
    return now._replace(root=row.root, path=row.path)


def _checked(context: Context, row: OutputRow, *, as_json: bool) -> Verdict:
    """Compare an output as the ledger has it now, print the result, and return it."""
    ledger = context.ledger()
    assert ledger is not None
    row = _now(ledger, row)
    verdict = _verify(ledger, row, context)
    key = str(ledger.session(row.session).key) if as_json else ""
    ledger.close()
    if as_json:
        say(json.dumps(_as_json(row, key, verdict)))
        return verdict
    say(f"{row.id}  {row.path}: {verdict.text}")
    if verdict.receipt:
        say(f"   {receipt_in_words(verdict.receipt)}")
    return verdict


def _as_json(row: OutputRow, key: str, verdict: Verdict) -> dict[str, Any]:
    """Return what is known of a recording, without what is unknown."""
    found = {"id": row.id, "session": key, "output": str(row.path), "matches": verdict.good, "text": verdict.text}
    lost = {"missing": len(verdict.missing.numbers)} if verdict.missing is not None else {}
    found |= lost | ({"receipt": verdict.receipt} if verdict.receipt else {})
    return {name: value for name, value in found.items() if value is not None}


def receipt_in_words(receipt: dict[str, Any]) -> str:
    """Return what became of the records of a session, in a line for people."""
    left, unknown = receipt["leftOut"], receipt["notUnderstood"]
    parts = [f"{receipt['told']:,} of {receipt['records']:,} translated"]
    parts += [f"{receipt['repeated']:,} written again"] if receipt["repeated"] else []
    parts += [f"{sum(left.values()):,} left out ({_names(left)})"] if left else []
    parts += [f"{sum(unknown.values()):,} not understood ({_names(unknown)})"] if unknown else []
    gaps = [f"{number:,} {_GAPS.get(name, name)}" for name, number in receipt["gaps"].items()]
    known = f"; of these {', '.join(gaps)}" if gaps else ""
    return f"agent's records in it: {', '.join(parts)}{known}"


def _names(counts: dict[str, int]) -> str:
    """Return the names with the highest counts, each in one line: they are the agent's."""
    most = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    shown = [f"{' '.join(name.split())} {number:,}" for name, number in most[:_LISTED]]
    more = len(most) - _LISTED
    return ", ".join([*shown, *([f"{more} other kind{'s' * (more > 1)}"] if more > 0 else [])])


def _complete(context: Context, row: OutputRow, verdict: Verdict, *, yes: bool) -> bool:
    """Have what is missing appended, and noted if nothing is; return whether anything was appended."""
    if verdict.missing is not None and _append(context, row, verdict.missing, yes=yes):
        return True
    if row.made and row.reverted and verdict.is_complete:
        _note_complete(context, row)
    return False


def _append(context: Context, row: OutputRow, missing: Missing, *, yes: bool) -> bool:
    """List what is missing and have it appended; return whether it was. Raises TargetRefused."""
    if not (absent := missing.absent):
        say("   nothing to append: each event is there, under its id")
        return False
    for number in absent[:_LISTED]:
        say(f"   {_first_line(missing.pieces[number])}")
    if (more := len(absent) - _LISTED) > 0:
        say(f"   and {more} more")
    if not yes and not click.confirm(f"Append {len(absent)} to {row.path.name}?"):
        return False
    ask(context, missing.key, "restore", str(row.id))
    return True


def _note_complete(context: Context, row: OutputRow) -> None:
    """Note that an output lacks nothing over which an older copy was saved: the user has put the newer one back.

    What cannot be noted now is noted the next time.
    """
    with context.reading() as ledger:
        key = ledger.session(row.session).key if ledger else None
    with suppress(TargetRefused):
        ask(context, key, "restore", str(row.id))


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
    # What an agent calls its records may be anything.
    verdict = _compare(missing)._replace(receipt=redact_json(missing.receipt))
    if verdict.good is False and row.options.redact and row.options.rules != RULES_VERSION:
        text = f"{verdict.text} (its secrets were redacted by an older set of rules)"
        return verdict._replace(text=text, missing=None)
    if row.intent is None or missing.written.endswith(row.intent):
        return verdict
    waiting = f"{len(row.intent)} bytes are waiting to be written{f' ({row.problem})' if row.problem else ''}"
    return verdict._replace(text=f"{verdict.text}; {waiting}")


def _compare(missing: Missing) -> Verdict:
    pieces = [piece for piece in missing.pieces if piece]
    if missing.numbers:
        text = f"{len(missing.numbers)} of {len(pieces)} parts are missing or changed"
        return Verdict(good=False, text=text, missing=missing)
    if missing.is_exact:
        return Verdict(good=True, text="as recorded")
    if missing.has_other_receipts:
        return Verdict(good=True, text=f"all {len(pieces)} parts found; the agent's records were counted differently")
    if missing.has_other_session:
        return Verdict(good=True, text=f"all {len(pieces)} parts are intact, but the session has changed since")
    return Verdict(good=True, text=f"all {len(pieces)} parts found, in a file that was edited")

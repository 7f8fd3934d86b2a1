"""`katod seal --head`: publishes the head of a recording's chain, and compares recordings with published heads."""

from functools import partial
from pathlib import Path
from typing import Final

from katod.cli.context import Context
from katod.cli.printing import say
from katod.cli.selection import select_recordings
from katod.errors import SealError
from katod.formats.chain import chain_of
from katod.formatspec import signature_name
from katod.record.output import chain_kept, missing_events
from katod.record.reading import opened
from katod.seal.cose import LARGEST, Claims, read_signature, sign
from katod.seal.head import PublishedHead, parse_head
from katod.seal.keys import PrivateKey, PublicKey
from katod.seal.record import LARGEST as _LONGEST_LINE
from katod.seal.signing import verify_bytes
from katod.smallfile import create_small, read_small
from katod.store.rows import OutputRow

HEAD: Final = ".head.json"
_SHARED: Final = 0o644  # less what the umask takes: it is to be published
_MEANING: Final = (
    "This proves that these events are as they were when the head was signed, not that what was said is true."
)


def publish(context: Context, recording: str, key: PrivateKey) -> None:
    """Write the head of a recording, and its signature, beside its file. Raises SealError."""
    rows = [row for row in select_recordings(context, recording) if row.format == "jsonl" and row.made]
    if len(rows) != 1:
        raise SealError("name one recording in JSONL: other formats have no chain", hint="`katod status` lists them")
    head = _head_of(rows[0])
    path = rows[0].path.with_name(f"{rows[0].path.stem}.{head.chain.events}{HEAD}")
    claims = Claims(key.public.urn, head.session, key.public.thumbprint)
    beside = path.with_name(signature_name(path.name))
    _require_no_other_key(path, beside, head, key.public)
    _create(beside, sign(claims, {}, head.data(), key.sign))  # first: a head without a signature looks like one
    _create(path, head.data())
    say(f"wrote {path}: the head after {head.chain.events:,} events")
    say(f"wrote {beside}: its signature; publish both")
    if doubt := head.chain.doubt():
        say(doubt, err=True)


def _require_no_other_key(path: Path, signature: Path, head: PublishedHead, key: PublicKey) -> None:
    """Raise SealError if this head has the signature of another key: it is the same head nevertheless."""
    try:
        signer = read_signature(read_small(signature, LARGEST)).claims.issuer
        is_published = path.exists()
        is_same = not is_published or read_small(path, LARGEST) == head.data()
    except (OSError, SealError):
        return  # there is none, or it is none: what is there is compared
    if not is_same or signer == key.urn:
        return
    what = "this head is published already" if is_published else "there is a signature without its head"
    hint = "move that signature away to sign the head with this key, too; --verify accepts it with --signature"
    raise SealError(f"{what}, signed by another key: {signer}", path=signature, hint=hint)


def _create(path: Path, data: bytes) -> None:
    """Write a file, which may be there from an attempt that did not come to its end. Raises SealError."""
    try:
        create_small(path, data, _SHARED)
    except FileExistsError:
        if read_small(path, LARGEST) != data:
            hint = "move it away, if it is of another recording"
            raise SealError(
                "a different head for the same number of events is already there", path=path, hint=hint
            ) from None


def _head_of(row: OutputRow) -> PublishedHead:
    """Return the head of the recording's file, if that is what katod wrote."""
    with opened(row) as lines:
        chained = chain_of(lines)
    found, kept = chained.whole, chain_kept(row)
    if chained.strange:
        raise SealError(chained.strange, path=row.path)
    if kept is not None and not found.after(missing_events(row, found)).is_at(kept):
        hint = "`katod verify` says what is missing; while it is being recorded, try again"
        raise SealError("the file does not have the events that katod wrote", path=row.path, hint=hint)
    found = found._replace(unchecked=min(kept.unchecked, found.events) if kept else 0)
    agent, session, subagent = row.head["key"]
    return PublishedHead(f"{agent}:{session}{f'/{subagent}' if subagent else ''}", found)


def verify_head(path: Path, signature: Path, recording: Path | None, key: PublicKey) -> None:
    """Check a published head, and the recording that it is of. Raises SealError."""
    head = parse_head(read_small(path, LARGEST))
    found = read_signature(read_small(signature, LARGEST))
    verify_bytes(head.data(), found, key)
    if found.claims.subject != head.session:
        raise SealError("its signature names another session", path=signature)
    lines = recording or path.with_name(f"{path.name.removesuffix(HEAD).rpartition('.')[0]}.jsonl")
    hint = "name the recording with --recording"
    if not lines.is_file():
        raise SealError("is not the file of a recording", path=lines, hint=hint)
    try:
        with lines.open("rb") as file:
            there = head.check(iter(partial(file.readline, _LONGEST_LINE), b""))
    except OSError as error:
        raise SealError(f"cannot be read: {error.strerror}", path=lines, hint=hint) from error
    except SealError as error:
        raise SealError(f"does not match {path.name}: {error.what}", path=lines) from None
    say(f"{lines}: the first {head.chain.events:,} events are as they were signed")
    say(f"  signed by  {key.urn}")
    say(f"  session    {head.session}")
    if more := there.whole.events - head.chain.events:
        say(f"  after it   {more:,} more events, which this head does not cover")
    if there.notes:
        count = "1 note" if there.notes == 1 else f"{there.notes:,} notes"
        say(f"  beside     {count} in the file, not signed")
    say(_MEANING)

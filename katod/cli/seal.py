"""`katod seal`: signs agent records, verifies signatures, makes keys."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.parameters import complete_files, exclude
from katod.cli.printing import say
from katod.cli.sealhead import HEAD, publish, verify_head
from katod.config import seal_key_path
from katod.discover.found import FoundSession
from katod.errors import SealError, SourceError
from katod.formatspec import SIGNATURE, signature_name
from katod.log import EventLog
from katod.model import SessionKey
from katod.record.export import Stretch, replay
from katod.seal.cose import LARGEST, read_signature
from katod.seal.growth import OPEN, Ending, ending, growth
from katod.seal.head import is_head
from katod.seal.keys import PrivateKey, make_key, public_path, read_private, read_public, require_extra
from katod.seal.record import SignedRecord, Time, read_record
from katod.seal.signing import Verified, compare, sign_record, verify_bytes
from katod.smallfile import create_small, read_small

_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_SHARED: Final = 0o644  # less what the umask takes: a signature is to be passed on
_LONGEST: Final = 300  # characters of one thing that is said
_MEANING: Final = "This proves who signed the record and that nothing changed since, not that what was said is true."


@click.command()
@click.argument("record", type=_FILE, required=False, shell_complete=complete_files)
@click.option("--verify", is_flag=True, help="Check the signature of RECORD instead of signing it.")
@click.option("--new-key", is_flag=True, help="Create a key, and do nothing else.")
@click.option(
    "--key",
    type=_FILE,
    metavar="FILE",
    shell_complete=complete_files,
    help="The private key to sign with, or the public key to check with. Default: `seal-key.pem` or"
    " `seal-key.pub.pem` in the configuration directory.",
)
@click.option("--head", is_flag=True, help="Publish the head of a recording in JSONL, RECORD: its number or file.")
@click.option(
    "--recording",
    type=_FILE,
    metavar="FILE",
    shell_complete=complete_files,
    help="The recording that a published head is of. Default: the file with its name beside it.",
)
@click.option("--checkpoint", is_flag=True, help="Sign a session that may continue; the signature says so.")
@click.option(
    "--signature",
    type=_FILE,
    metavar="FILE",
    shell_complete=complete_files,
    help=f"The signature file. Default: the name of RECORD with {SIGNATURE} in place of .json.",
)
@click.pass_obj
def seal(
    context: Context,
    record: Path | None,
    verify: bool,
    new_key: bool,
    key: Path | None,
    head: bool,
    recording: Path | None,
    checkpoint: bool,
    signature: Path | None,
) -> None:
    """Sign an agent record, so that others can check that nothing changed.

    RECORD is a file written by `katod export -f agent-record`. The signature is written to a separate file. With both
    files and your public key, anyone can check who signed the record, using katod or any COSE library. A session that
    may still change is refused, unless you use --checkpoint. Existing files are never overwritten.

    With --head, RECORD is a recording in JSONL, which may continue: katod signs the head of the chain over its
    events so far. `katod seal --verify NAME.head.json` checks the recording against it.
    """
    if new_key:
        exclude("--new-key can be combined only with --key", record, verify, checkpoint, signature, head)
        require_extra()
        _make(key or seal_key_path())
        return
    if record is None:
        raise click.UsageError("Missing argument 'RECORD'.")
    require_extra()
    if head:
        exclude("--head can be combined only with --key", verify, checkpoint, signature, recording)
        publish(context, str(record), _private(key))
    elif verify:
        exclude("--verify reports by itself whether it is a checkpoint: leave out --checkpoint", checkpoint)
        _check(record, signature, recording, _public_path(key))
    else:
        _sign(context, record, signature or _beside(record), key or seal_key_path(), checkpoint=checkpoint)


def _private(key: Path | None) -> PrivateKey:
    return read_private(key or seal_key_path())


def _public_path(key: Path | None) -> Path:
    return key or public_path(seal_key_path())


def _beside(record: Path) -> Path:
    """Return where the signature of a record is by default."""
    return record.with_name(signature_name(record.name))


def _check(path: Path, signature: Path | None, recording: Path | None, key: Path) -> None:
    """Verify a record, or the published head of a recording."""
    if path.name.endswith(HEAD) or _is_head(path):
        verify_head(path, signature or _beside(path), recording, read_public(key))
    else:
        _verify(path, signature or _beside(path), key)


def _is_head(path: Path) -> bool:
    """Return whether a file is a published head, whatever it is called now."""
    if not path.is_file():
        return False
    with suppress(OSError), path.open("rb") as file:
        return is_head(file.read(_LONGEST))
    return False


def _make(path: Path) -> None:
    name = make_key(path).urn
    say(f"wrote {path}: the private key; keep it secret, and keep a backup")
    say(f"wrote {public_path(path)}: the public key; give it to those who verify your signatures")
    say(f"key id: {name}")


# -- signing --------------------------------------------------------------------------------------


def _sign(context: Context, path: Path, target: Path, key_path: Path, *, checkpoint: bool) -> None:
    if target.exists():
        raise _taken(target)
    key = read_private(key_path)
    record = read_record(path)
    notes = [] if checkpoint else [_ended(context, record, path)]
    try:
        create_small(target, sign_record(record, key, checkpoint=checkpoint), _SHARED)
    except FileExistsError:
        raise _taken(target) from None
    say(f"wrote {target}{', the signature of a checkpoint' if checkpoint else ''}")
    say(f"signed by {key.public.urn}")
    for note in filter(None, notes):
        say(f"katod: {path}: {note}", err=True)


def _taken(target: Path) -> SealError:
    hint = "check it with --verify; move it away to sign again, or name another file with --signature"
    return SealError("a signature already exists", path=target, hint=hint)


def _ended(context: Context, record: SignedRecord, path: Path) -> str:
    """Return what a person has to know of why it is unknown whether the session ended, empty if it has.

    Raises SealError if it still grows.
    """
    if record.origin is None:
        return "not known to have been written by katod: whether its session is still growing was not checked"
    try:
        known = _known(context, record.origin.key)
    except SourceError as error:
        hint = "seal it as a checkpoint with --checkpoint"
        raise SealError(
            f"cannot determine whether its session is still growing: {error}", path=path, hint=hint
        ) from error
    if known is None:
        return f"{record.origin.key} was not found on this machine: whether it is still growing was not checked"
    found, now = known
    if grows := growth(now, record.origin.last, time.time() - found.changed_ns / 1e9):
        raise SealError(grows.why, path=path, hint=grows.hint)
    return ""


def _known(context: Context, key: SessionKey) -> tuple[FoundSession, Ending] | None:
    """Return the session of a record as it is on this machine, None if it is not there. Raises SourceError.

    A file may be called by another id than its session: those that changed lately are looked into as well.
    """
    for found in _candidates(context, key):
        stretches = [Stretch(path, identity) for path, identity, _ in found.files]
        now = ending(event for event, _ in replay(found.key, stretches, context.log))
        if now.session == key.id:
            return found, now
    return None


def _candidates(context: Context, key: SessionKey) -> Iterator[FoundSession]:
    """Yield what may be this session: first those that are called like it."""
    everything = [found for found in context.found().values() if found.key.agent == key.agent]
    yield from (found for found in everything if _may_be(found.key, key))
    since = int(time.time() * 1e9) - OPEN * 1_000_000_000
    for found in everything:
        if found.changed_ns > since and not _may_be(found.key, key) and _begins_as(found) == key.id:
            yield found


def _begins_as(found: FoundSession) -> str:
    """Return the id of a session as its first event has it."""
    stretches = (Stretch(path, identity) for path, identity, _ in found.files)
    first = next(iter(replay(found.key, stretches, EventLog())), None)
    return first[0].session.id if first else ""


def _may_be(found: SessionKey, key: SessionKey) -> bool:
    """Return whether a session may be this one: the names of some agents' files have only the beginning of its id."""
    is_cut = AGENTS[found.agent].cuts_ids and key.id.startswith(found.id)
    return found == key or (is_cut and found._replace(id=key.id) == key)


# -- verifying ------------------------------------------------------------------------------------


def _verify(path: Path, signature: Path, key_path: Path) -> None:
    key = read_public(key_path)
    try:
        found = read_signature(_signature(signature))
        record = read_record(path, lambda data: verify_bytes(data, found, key))
        verified = compare(record, found)
    except SealError as error:
        raise SealError(f"does not verify: {error.what}", path=error.path or signature, hint=error.hint) from error
    say(f"{path}: verified, nothing changed since it was signed")
    for name, text in _told(record, verified, key.urn):
        say(f"  {name:<11}{_line(text)}")
    say(_MEANING)


def _signature(path: Path) -> bytes:
    try:
        return read_small(path, LARGEST)
    except FileNotFoundError:
        raise SealError("there is no signature", path=path, hint="name its file with --signature") from None
    except OSError as error:
        raise SealError(f"cannot be read: {error.strerror}", path=path) from error


def _told(record: SignedRecord, verified: Verified, name: str) -> Iterator[tuple[str, str]]:
    """Yield what the signature and the record say, with what it is called."""
    yield "signed by", name
    if verified.claims.issuer != name:
        yield "issuer", f"{verified.claims.issuer!r} (not derived from the key, so katod cannot check it)"
    yield "session", record.session
    yield "agent", f"{record.agent or 'unknown'}, model {record.model} of {record.provider}"
    yield "began", _shown(record.start)
    yield "ended", _shown(record.end)
    if verified.claims.checkpoint:
        yield "state", "a checkpoint: the session was expected to go on"
    if verified.unknown:
        yield "also signed", f"{', '.join(map(str, verified.unknown))}, which katod does not know and did not check"
    if verified.unsigned:
        yield (
            "beside",
            f"header {', '.join(map(str, verified.unsigned))}, which is not signed, and which katod did not check",
        )


def _line(text: str) -> str:
    """Return what another program wrote, on one line, so that it cannot pass for what katod says."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


def _shown(time: Time | None) -> str:
    return "unknown" if time is None else str(time)

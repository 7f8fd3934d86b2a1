"""`katod status`: what katod is doing, and recent problems."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import orjson

from katod.cli.context import Context
from katod.cli.printing import say
from katod.config import local_zone
from katod.errors import ConfigError
from katod.formats.when import When
from katod.log import EventLog
from katod.metadata import Counts
from katod.model import NearMiss
from katod.record.placed import is_reverted
from katod.service.lock import holder
from katod.store.integrity import quarantined
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import UNNAMED, OutputRow, SessionRow, SourceRow

_LAST = 10
_QUARANTINED = "quarantined; a new one was created. Type ::start to record again, then delete this file"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--watch", is_flag=True, help="Refresh every two seconds until Ctrl-C.")
@click.pass_obj
def status(context: Context, as_json: bool, watch: bool) -> None:
    """Show the daemon, the recordings and recent problems."""
    with suppress(KeyboardInterrupt):  # how `--watch` is left
        _print(context, as_json=as_json)
        while watch:
            time.sleep(2)
            if not as_json:
                click.clear()
            _print(context, as_json=as_json)
    _ = context.settings  # checked last, so that an invalid configuration hides nothing


def _print(context: Context, *, as_json: bool) -> None:
    row = collect(context)
    if as_json:
        click.echo(orjson.dumps(row))
    else:
        say("\n".join(_lines(row)))


def collect(context: Context) -> dict[str, Any]:
    """Return the status as plain data, in the shape of `--json` (see README.md)."""
    pid = holder(context.state)
    row: dict[str, Any] = {"daemon": {"running": pid is not None} | ({"pid": pid} if pid else {})}
    row |= {"sources": 0, "recordings": [], "ended": [], "parked": [], "missing": []}
    row |= {"refused": [], "problems": [], "nearMisses": []}
    row["problems"] += [_quarantined(path) for path in quarantined(context.state, LEDGER_NAME)]
    ledger = context.ledger()
    if ledger is not None:
        try:
            found = _of_ledger(ledger, context.log)
            row |= found | {"problems": row["problems"] + found["problems"]}
        finally:
            ledger.close()
    with suppress(ConfigError):
        context.found()
    row["problems"] += [{"path": folder, "problem": problem} for folder, problem in context.problems.items()]
    return row


def _quarantined(path: Path) -> dict[str, str]:
    kind = "a damaged ledger" if ".damaged-" in path.name else "the ledger of an unreleased version"
    return {"path": str(path), "problem": f"{kind}, {_QUARANTINED}"}


def _of_ledger(ledger: Ledger, log: EventLog) -> dict[str, Any]:
    sessions = {session.id: session for session in ledger.sessions()}
    outputs = ledger.outputs()
    sources = list(ledger.sources(SourceRow))
    return {
        "sources": len(sources),
        "recordings": [_recording(output, sessions) for output in outputs if output.open],
        "ended": [_recording(output, sessions) for output in outputs if not output.open],
        "parked": [_parked(output) for output in outputs if output.problem],
        "missing": [
            {"id": output.id, "output": str(output.path)} | ({"events": count} if count else {})
            for output in outputs
            if (count := _count_missing(output, ledger, log)) != 0
        ],
        "refused": [
            {"session": str(refusal.session), "time": refusal.time, "command": refusal.word, "reason": refusal.reason}
            for refusal in ledger.refusals()
        ],
        "problems": [{"path": source.path, "problem": source.problem} for source in sources if source.problem]
        + _strange(ledger),
        "nearMisses": [
            {"session": str(miss.session), "time": miss.time, "kind": miss.kind, "command": miss.word}
            for miss in ledger.near_misses()
        ],
    }


def _count_missing(row: OutputRow, ledger: Ledger, log: EventLog) -> int | None:
    """Return what `count_missing` does; it is only loaded for an output that may be an older copy."""
    if not row.reverted and not is_reverted(row):
        return 0
    from katod.record.restore import count_missing  # noqa: PLC0415 - it loads all formats

    return count_missing(row, ledger, log)


def _strange(ledger: Ledger) -> list[dict[str, str]]:
    """Return the agents of which the latest sample was not understood, with its version."""
    what = "{0.raw} of {0.events} records of {0.agent} {0.version} are not understood: katod may be too old for it"
    latest = {sample.agent: sample for sample in sorted(ledger.samples(), key=lambda sample: sample.time)}
    strange = [sample for sample in latest.values() if Counts(sample.events, sample.raw).is_strange]
    return [{"path": sample.path, "problem": what.format(sample)} for sample in strange]


def _recording(output: OutputRow, sessions: dict[int, SessionRow]) -> dict[str, Any]:
    session = sessions[output.session]
    return {
        "id": output.id,
        "session": str(session.key),
        "project": session.cwd,
        "output": str(output.path),
        "waiting": output.held is not None,
        "format": output.format,
        "bytes": output.committed,
        "redactions": output.redactions,
    }


def _parked(output: OutputRow) -> dict[str, Any]:
    return {"id": output.id, "output": str(output.path), "problem": output.problem, "attempts": output.attempts}


def _lines(row: dict[str, Any]) -> list[str]:
    daemon = row["daemon"]
    lines = [f"katod is running (PID {daemon.get('pid', '?')})" if daemon["running"] else "katod is not running"]
    lines.append(f"{_count(row['sources'], 'session file')} known")
    lines += _section("recording", [_shown(one, f"{one['session']} → ") for one in row["recordings"]])
    lines += _section("ended", [_shown(one) for one in row["ended"][-_LAST:]])
    if (more := len(row["ended"]) - _LAST) > 0:
        lines.append(f"  and {more} earlier (--json lists them all)")
    lines += _section("parked", [f"{one['output']}: {one['problem']}" for one in row["parked"]])
    lines += _section("incomplete", [_missing(one) for one in row["missing"]])
    lines += _section("refused", [_refusal(one) for one in row["refused"]])
    lines += _section("problems", [f"{one['path']}: {one['problem']}" for one in row["problems"]])
    lines += _section("looked like commands but were not", [_near_miss(one) for one in row["nearMisses"]])
    return lines


def _shown(row: dict[str, Any], session: str = "") -> str:
    redacted = f" ({_count(row['redactions'], 'secret')} redacted)" if row["redactions"] else ""
    return f"{row['id']}  {session}{UNNAMED if row['waiting'] else row['output']}{redacted}"


def _missing(row: dict[str, Any]) -> str:
    what = f"{_count(row['events'], 'event')} missing or changed" if "events" in row else "an older copy was saved"
    return f"{row['output']}: {what}. Run `katod verify --append-missing {row['id']}`"


def _refusal(row: dict[str, Any]) -> str:
    when = When(local_zone()).stamp(row["time"], "") or "-"
    return f"{when}  ::{row['command']} in {row['session']}: {row['reason']}"


def _near_miss(row: dict[str, Any]) -> str:
    when = When(local_zone()).stamp(row["time"], "") or "-"
    return f"{when}  {NearMiss(row['kind'], row['command'])} in {row['session']}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _section(title: str, rows: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {text}" for text in rows)] if rows else []

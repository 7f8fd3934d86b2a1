"""`katod status`: what katod is doing, and recent problems."""

import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
import orjson

from katod.agents import AGENTS
from katod.agents.reports import is_said_to_go_on
from katod.archive.parts import SharedPart
from katod.cli.cleared import ClearedRows
from katod.cli.context import Context
from katod.cli.layout import Line, draw, show, terminal_width
from katod.cli.overview import Surroundings, overview
from katod.cli.printing import say_to_programs
from katod.config import local_zone, rescue_path
from katod.destinations import MatrixSettings, OtlpSettings
from katod.discover.found import FoundSession
from katod.discover.roots import stat_source
from katod.errors import ConfigError, OutputUnreadable
from katod.events import seconds as seconds_of
from katod.formats.text.when import utc
from katod.log import EventLog
from katod.model import SessionKey
from katod.project.allowed import Allowed, look_around
from katod.record.formatdrift import not_understood
from katod.record.outputfile import is_reverted
from katod.record.reading import located, opened
from katod.rescue.names import saved_keys
from katod.rescue.notes import problems
from katod.service import home, interrupted
from katod.service.lock import holder
from katod.service.manager import how_to_start
from katod.service.pause import paused_since
from katod.states import State, is_over
from katod.store.deliveries import Summary
from katod.store.integrity import quarantined
from katod.store.ledger import LEDGER_NAME, MOST_REFUSALS, Ledger
from katod.store.rows import OutputRow, PersonalRow, SessionRow
from katod.store.statefolder import trouble_with

_LAST: Final = 10  # refused commands, and near misses
_OPTIONAL: Final = frozenset({"title", "since", "changed"})  # left out where they are not known
_OF_BLOCKED: Final = ("agent", "session", "project", "title", "last", "changed")
_PERIOD: Final = 2.0  # seconds
_QUARANTINED: Final = "quarantined; a new one was created. Type ::start to record again, then delete this file"
# A screen of its own, and back: what was there is there again.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--watch", is_flag=True, help="Refresh every two seconds until Ctrl-C.")
@click.option(
    "--all", "everything", is_flag=True, help="Also show recordings that have had no new messages for two weeks."
)
@click.option(
    "--clear",
    is_flag=True,
    help="Clear the lists of interrupted recordings, refused commands, lines that resemble commands and project files.",
)
@click.pass_obj
def status(context: Context, as_json: bool, watch: bool, everything: bool, clear: bool) -> None:
    """Show the daemon, the recordings and recent problems."""
    if clear:
        _clear(context)
    if watch and not as_json and sys.stdout.isatty():
        _watch(context, everything=everything)
    with suppress(KeyboardInterrupt):  # how `--watch` is left
        _print(context, as_json=as_json, everything=everything)
        while watch and not sys.stdout.isatty():
            time.sleep(_PERIOD)
            context.forget_settings()
            _print(context, as_json=as_json, everything=everything)
    _ = context.settings  # checked last, so that an invalid configuration hides nothing


def _print(context: Context, *, as_json: bool, everything: bool) -> None:
    row = collect(context)
    if as_json:
        say_to_programs(orjson.dumps(row))
    else:
        show(_shown(row, terminal_width(), everything=everything))


def _shown(row: dict[str, Any], width: int | None, *, everything: bool) -> list[Line]:
    now = time.time()
    around = Surroundings(now, local_zone(), str(Path.home()), width, how_to_start())
    return overview(row, around, everything=everything)


def _watch(context: Context, *, everything: bool) -> None:
    """Show the status on a screen of its own, cut to its size, until Ctrl-C; the last one stays on the terminal."""
    click.echo(_ENTER, nl=False, color=True)
    try:
        while True:
            width, height = shutil.get_terminal_size()
            draw(_shown(collect(context), width - 1, everything=everything), width - 1, height)
            time.sleep(_PERIOD)
            context.forget_settings()
    except KeyboardInterrupt:
        pass
    finally:
        click.echo(_LEAVE, nl=False, color=True)


def _clear(context: Context) -> None:
    with context.reading() as ledger:
        if ledger is not None:
            outputs = _of_outputs(located(ledger.outputs()), ledger)
            projects = _projects(context.state, outputs["recordings"])
            ClearedRows(context.state).clear([*_refusals(ledger), *_near_misses(ledger), *projects])
    interrupted.clear(context.state)
    if home.moved(context.state):
        home.accept(context.state)


def collect(context: Context) -> dict[str, Any]:
    """Return the status as plain data, in the shape of `--json` (see README.md)."""
    pid = holder(context.state)
    paused = paused_since(context.state)
    daemon = {"running": pid is not None} | ({"pid": pid} if pid else {}) | ({"paused": paused} if paused else {})
    row: dict[str, Any] = {"daemon": daemon}
    row |= {"sources": 0, "recordings": [], "blocked": [], "ended": [], "interrupted": [], "parked": [], "missing": []}
    row |= {"refused": [], "problems": [], "nearMisses": [], "projects": []}
    row |= {"delivery": {"on": False}, "otlp": {"on": False}}
    row |= {"rescued": len(saved_keys(rescue_path())), "machines": []}
    if (trouble := trouble_with(context.state)) is not None:
        row["problems"].append(
            {"path": str(trouble.path), "problem": ": ".join(filter(None, (trouble.what, trouble.hint)))}
        )
    row["problems"] += [_unsaved(name, what) for name, what in problems(context.state).items()]
    row["problems"] += [_quarantined(path) for path in quarantined(context.state, LEDGER_NAME)]
    if moved := home.moved(context.state):
        row["problems"].append({"path": str(context.state), "problem": f"{moved}: {home.ADVICE}"})
    ledger = context.ledger()
    if ledger is not None:
        try:
            found = _of_ledger(ledger, ClearedRows(context.state), context.log)
            row |= found | {"problems": row["problems"] + found["problems"]}
        finally:
            ledger.close()
    with suppress(ConfigError):
        row |= _deliveries(context, is_running=pid is not None)
        row["blocked"] = [] if row["recordings"] else _blocked(context.found(with_words=True))
        context.look()
        row["machines"] = list(map(_machine, context.shared.others))
        context.problems.update(context.shared.problems)
    with suppress(OSError):
        row["interrupted"] = _interrupted(context.state, row["recordings"])
        row["projects"] = ClearedRows(context.state).unseen(_projects(context.state, row["recordings"]))
    row["problems"] += [{"path": folder, "problem": problem} for folder, problem in context.problems.items()]
    return row


def _machine(part: SharedPart) -> dict[str, Any]:
    """Return what a machine shares."""
    changed = max((one.changed_ns for one in part.sessions.values()), default=0)
    row = {"machine": part.name, "folder": str(part.root), "sessions": len(part.sessions)}
    return row | ({"exported": utc(changed / 1e9)} if changed else {})


def _interrupted(state: Path, recordings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the recordings that ended when the state directory was removed, but those of sessions recorded again."""
    again = {one["session"] for one in recordings}
    return [row._asdict() for row in interrupted.read(state) if row.session not in again]


def _deliveries(context: Context, *, is_running: bool) -> dict[str, dict[str, Any]]:
    """Return how the deliveries are going: to a Matrix room, and to a collector of spans. Raises ConfigError."""
    settings = context.settings
    named = {"delivery": ("matrix", "room"), "otlp": ("otlp", "endpoint")}
    with context.reading() as ledger:
        found = {
            key: _delivery(settings.deliveries[kind], ledger, kind, name, is_running=is_running)
            for key, (kind, name) in named.items()
        }
    found["delivery"] |= {"homeserver": settings.matrix.homeserver} if settings.matrix.is_on else {}
    return found


def _delivery(
    settings: MatrixSettings | OtlpSettings, ledger: Ledger | None, kind: str, name: str, *, is_running: bool
) -> dict[str, Any]:
    """Return how the delivery to one destination is going; `name` is what that is called."""
    row: dict[str, Any] = {"on": settings.is_on} | ({name: settings.destination} if settings.is_on else {})
    if ledger is None:
        return row
    now = ledger.deliveries.running(kind) if is_running else ()
    found = ledger.deliveries.summary(settings.destination)
    elsewhere = ledger.deliveries.elsewhere(kind, settings.destination)
    if is_running and now != settings.parts:
        row["running"] = now[0] if now else ""
    if elsewhere:
        row["elsewhere"] = [{name: destination, "ids": outputs} for destination, outputs in elsewhere.items()]
    return row | _summary(found) if settings.is_on else row


def _summary(found: Summary) -> dict[str, Any]:
    problems = [{"id": output, "problem": problem} for output, problem in found.problems]
    row = {"sent": found.sent, "refused": found.refused, "unfinished": found.unfinished, "incomplete": problems}
    state = {"since": found.destination.since, "problem": found.destination.problem}
    return row | {name: said for name, said in state.items() if said} | {"stopped": found.destination.stopped}


def _blocked(found: Mapping[SessionKey, FoundSession]) -> list[dict[str, Any]]:
    """Return the sessions that wait for the user, of those that changed within a day."""
    now = time.time()
    recent = [one for key, one in found.items() if not key.subagent and not is_over(one.changed_ns / 1e9, now)]
    if not recent:
        return []
    from katod.cli.sessionrow import describe_session  # noqa: PLC0415 - it loads the translation
    from katod.record.currentstate import current_state  # noqa: PLC0415

    rows = []
    for one in recent:
        state = current_state(one.files, now)
        if state is not None and state.state is State.BLOCKED:
            row = describe_session(one) or {}
            rows.append({name: row[name] for name in _OF_BLOCKED if name in row} | state.row())
    return rows


def _unsaved(name: str, problem: str) -> dict[str, str]:
    return {"path": name, "problem": f"not saved from deletion: {problem}"}


def _quarantined(path: Path) -> dict[str, str]:
    kind = "a damaged ledger" if ".damaged-" in path.name else "the ledger of an unreleased version"
    return {"path": str(path), "problem": f"{kind}, {_QUARANTINED}"}


def _of_ledger(ledger: Ledger, seen: ClearedRows, log: EventLog) -> dict[str, Any]:
    outputs = located(ledger.outputs())
    return _of_outputs(outputs, ledger) | {
        "sources": ledger.count_sources(),
        "parked": [_parked(output) for output in outputs if output.problem],
        "missing": _missing(outputs, ledger, log),
        "refused": seen.unseen(_refusals(ledger, _LAST)),
        "problems": [{"path": path, "problem": problem} for path, problem in ledger.source_problems()]
        + _strange(ledger),
        "nearMisses": seen.unseen(_near_misses(ledger, _LAST)),
    }


def _of_outputs(outputs: list[OutputRow], ledger: Ledger) -> dict[str, Any]:
    sessions = {number: ledger.session(number) for number in {output.session for output in outputs}}
    said = ledger.personal.all()
    recorded = {str(sessions[output.session].key) for output in outputs if output.open}
    now = time.time()
    return {
        "recordings": [
            _recording(output, sessions, said) | _state(output.session, ledger, now) | _successor(output, recorded)
            for output in outputs
            if output.open or output.paused
        ],
        "ended": [
            _recording(output, sessions, said) | ({"copy": True} if output.is_copy else {})
            for output in outputs
            if not (output.open or output.paused)
        ],
    }


def _state(session: int, ledger: Ledger, now: float) -> dict[str, Any]:
    """Return the state of a session, empty if it is unknown."""
    found = [
        (source, stat_source(AGENTS[source.identity.key.agent], source.path)) for source in ledger.sources_of(session)
    ]
    sources = [(source.path, source.identity, stat[1]) for source, stat in found if stat is not None]
    if not sources:
        return {}
    path, identity, stat = max(sources, key=lambda source: source[2].mtime_ns)
    if is_over(stat.mtime_ns / 1e9, now) and not is_said_to_go_on(path, identity.key):
        return {}
    from katod.record.currentstate import current_state  # noqa: PLC0415 - it loads the translation

    state = current_state(sources, now)
    return {} if state is None else state.row()


def _successor(output: OutputRow, recorded: set[str]) -> dict[str, str]:
    """Return the session in which the user of a recording went on, unless it is recorded, too."""
    return {"successor": output.successor} if output.successor and output.successor not in recorded else {}


def _projects(state: Path, recordings: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the project files without effect: of what is being recorded, and those that once were allowed."""
    try:
        found = look_around({one["project"] for one in recordings}, Path.home(), Allowed(state).read())
    except ConfigError as error:  # it is not known which do
        return [{"path": str(error.path), "sha256": "", "problem": error.what, "advice": error.hint}]
    return [
        {"path": str(one.path), "sha256": one.digest, "problem": one.problem, "advice": one.advice}
        for one in found
        if one.problem
    ]


def _refusals(ledger: Ledger, most: int = MOST_REFUSALS) -> list[dict[str, str]]:
    return [
        {"session": str(row.session), "time": row.time, "command": row.word, "reason": row.reason}
        for row in ledger.refusals(most)
    ]


def _near_misses(ledger: Ledger, most: int = MOST_REFUSALS) -> list[dict[str, str]]:
    return [
        {"session": str(row.session), "time": row.time, "kind": row.kind, "command": row.word}
        for row in ledger.near_misses(most)
    ]


def _missing(outputs: list[OutputRow], ledger: Ledger, log: EventLog) -> list[dict[str, Any]]:
    return [
        {"id": output.id, "output": str(output.path)} | ({"events": count} if count else {})
        for output in outputs
        if (count := _count_missing(output, ledger, log)) != 0
    ]


def _count_missing(row: OutputRow, ledger: Ledger, log: EventLog) -> int | None:
    """Return what `count_missing` does; it is only loaded for an output that may be an older copy."""
    if not row.reverted and not is_reverted(row):
        return 0
    from katod.record.restore import count_missing  # noqa: PLC0415 - it loads all formats

    return count_missing(row, ledger, log)


def _strange(ledger: Ledger) -> list[dict[str, str]]:
    return [{"path": sample.path, "problem": problem} for sample, problem in not_understood(ledger.samples.all())]


def _recording(
    output: OutputRow, sessions: dict[int, SessionRow], said: Mapping[SessionKey, PersonalRow]
) -> dict[str, Any]:
    session, head = sessions[output.session], output.head["metadata"]
    own = said[session.key].title if session.key in said else ""
    row = {
        "id": output.id,
        "session": str(session.key),
        "agent": session.key.agent,
        "project": session.cwd,
        "title": own or head.get("title", ""),
        "since": _utc(output.since),
        "changed": _changed(output),
        "output": str(output.path),
        "waiting": output.held is not None,
        "parked": bool(output.problem),
        "paused": output.paused,
        "format": output.format,
        "bytes": output.committed,
        "redactions": output.redactions,
    }
    return {name: value for name, value in row.items() if value or name not in _OPTIONAL}


def _changed(output: OutputRow) -> str:
    """Return when the file of an output last changed (UTC), an empty string if there is none, or another one."""
    try:
        with opened(output) as file:
            return utc(os.fstat(file.fileno()).st_mtime)
    except OutputUnreadable:
        return ""


def _utc(time: str) -> str:
    """Return a recorded time as it is printed, empty if it is not known."""
    moment = seconds_of(time)
    return utc(moment) if moment else ""


def _parked(output: OutputRow) -> dict[str, Any]:
    return {"id": output.id, "output": str(output.path), "problem": output.problem, "attempts": output.attempts}

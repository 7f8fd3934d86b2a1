"""What `katod status` shows people: pure, made from the object that `--json` prints."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.cli.layout import Line, TextSpan, cut, line, one_text, table
from katod.cli.shortids import SHORTEST_ID
from katod.formats.text.when import When, ago, utc
from katod.model import NearMiss
from katod.paths import in_home, name_of
from katod.record.news import NOT_RECORDED
from katod.states import Need, State
from katod.store.rows import UNNAMED

Row = Mapping[str, Any]
_LAST: Final = 5  # ended recordings
_ASLEEP: Final = 14 * 86_400  # seconds without a word, after which a recording is only counted
_HEADER: Final = ("", "#", "recording", "project", "agent", "state", "since", "size", "last write")
_STATES: Final = {"working": "green", "blocked": "yellow", "stalled": "yellow", "error": "red"}
_FLEXIBLE: Final = (2, 3)  # columns that are cut where the terminal is narrow
_OPTIONAL: Final = (8, 7, 6, 4, 3, 1, 2, 5)  # those that are left out where it is narrower still, in this order
_WIDEST: Final = 60  # cells of a title, however wide the terminal is, or without one
_INDENT: Final = "       "
_BLOCKED: Final = State.BLOCKED.value
_NO_TITLE: Final = "no name yet"
_INTERRUPTED: Final = "ended, because katod's state directory was removed while it ran"
_CLEARED: Final = ("interrupted", "refused", "nearMisses", "projects")
_CLEAR: Final = "  `katod status --clear` clears this list"


class Surroundings(NamedTuple):
    """What the view depends on beside the status: now (seconds since 1970), zone, home directory, width, the service.

    `width` is that of the terminal, None if there is none; `start` is the command that starts katod.
    """

    now: float
    zone: str
    home: str
    width: int | None
    start: str


def overview(row: Row, around: Surroundings, *, everything: bool = False) -> list[Line]:
    """Return the lines: the daemon, the recordings (the sleeping ones are counted), then what needs attention."""
    awake = [one for one in row["recordings"] if everything or not _sleeps(one, around.now)]
    lines = [*_daemon(row, around), *_recordings(awake, around, running=row["daemon"]["running"])]
    if asleep := len(row["recordings"]) - len(awake):
        lines += [
            line(f"{_count(asleep, 'more recording')} without new messages for two weeks (--all shows them)", "dim")
        ]
    lines += _section("waiting for you, not recorded", row["blocked"], _blocked)
    lines += _ended("ended", [one for one in row["ended"] if "copy" not in one], around)
    lines += _ended("written by ::keep and ::export", [one for one in row["ended"] if "copy" in one], around)
    if saved := row["rescued"]:
        lines += [line(""), line(f"{_count(saved, 'session')} safe from deletion: `katod rescue` lists them")]
    lines += _section("other machines", row["machines"], lambda one: _machine(one, around))
    lines += _section(_INTERRUPTED, row["interrupted"], lambda one: _interrupted(one, around))
    lines += _delivery(row["delivery"], "room", "event", around)
    lines += _delivery(row["otlp"], "endpoint", "span", around)
    lines += _section("parked, retried until it works", row["parked"], lambda one: _problem(one, "output", around))
    lines += _section("incomplete", row["missing"], lambda one: _missing(one, around))
    lines += _section("problems", row["problems"], lambda one: _problem(one, "path", around))
    lines += _section("refused", row["refused"], lambda one: _refusal(one, around))
    lines += _section("looked like commands but were not", row["nearMisses"], lambda one: _near_miss(one, around))
    lines += _section("project files without effect", row["projects"], lambda one: _project(one, around))
    if any(row[name] for name in _CLEARED):
        lines.append(line(_CLEAR, "dim"))
    return lines


def _daemon(row: Row, around: Surroundings) -> list[Line]:
    known = f"{_count(row['sources'], 'session file')} known"
    daemon = row["daemon"]
    lines: list[Line] = []
    if daemon["running"]:
        lines.append((TextSpan("katod is running", "green"), TextSpan(f" (PID {daemon.get('pid', '?')}), {known}")))
    else:
        lines.append((TextSpan("katod is not running", "red"), TextSpan(f", {known}")))
        lines.append(line(f"  nothing is recorded until you start it: `{around.start}`"))
    if daemon.get("paused"):
        moment = recent(daemon["paused"], around.now, When(around.zone))
        since = f" since {moment}" if moment else ""
        lines.append(
            (TextSpan("paused", "yellow"), TextSpan(f"{since}: nothing is recorded until `katod pause --end`"))
        )
    return lines


def _sleeps(one: Row, now: float) -> bool:
    written = _seconds(one.get("changed", ""))
    return bool(written) and now - written > _ASLEEP and not one.get("parked")


def _recordings(rows: list[Row], around: Surroundings, *, running: bool) -> list[Line]:
    if not rows:
        return [line(""), line("nothing is being recorded: type ::start in a chat")]
    rows = sorted(rows, key=lambda one: one.get("state") != _BLOCKED)
    cells = [[TextSpan(name, "dim") for name in _HEADER], *(_cells(one, around, running=running) for one in rows)]
    header, *lines = table(cells, width=around.width, flexible=_FLEXIBLE, optional=_OPTIONAL)
    shown: list[Line] = [line(""), header]
    for one, shown_cells in zip(rows, lines, strict=True):
        shown.append(shown_cells)
        shown += [line(f"{_INDENT}{words}", "yellow") for words in [*waiting(one), *_left(one)]]
        shown.append(line(f"{_INDENT}{_file(one, around)}", "dim"))
    return shown


def _cells(one: Row, around: Surroundings, *, running: bool) -> list[TextSpan]:
    """Return the cells of one recording, in the order of the header."""
    written = _seconds(one.get("changed", ""))
    return [
        _sign(one, running=running),
        TextSpan(str(one["id"])),
        TextSpan(
            cut(_NO_TITLE if one["waiting"] else one.get("title", "") or Path(one["output"]).stem, _WIDEST), "bold"
        ),
        TextSpan(name_of(one["project"])),
        TextSpan(one["agent"]),
        state_span(one),
        TextSpan(recent(one.get("since", ""), around.now, When(around.zone))),
        TextSpan("" if one["waiting"] else size(one["bytes"])),
        TextSpan(ago(around.now - written) if written else ""),
    ]


def state_span(one: Row) -> TextSpan:
    """Return the state of a session: stalled if it is; one that is only assumed has a question mark."""
    word = "stalled" if one.get("stalled") else one.get("state", "")
    return TextSpan(f"{word}{'?' if one.get('assumed') else ''}", _STATES.get(word, "dim"))


def waiting(one: Row) -> list[str]:
    """Return the needs of a session, empty if it has none or they are not recorded."""
    return [_need(one).words] if one.get("waitsFor") else []


def _left(one: Row) -> list[str]:
    """Return a note that the user of a recording went on in a new session, if they did."""
    return [f"your new session {_short(one['successor'])} {NOT_RECORDED}"] if one.get("successor") else []


def _need(one: Row) -> Need:
    return Need(one.get("waitsFor", ""), one.get("toolName", ""))


def _blocked(one: Row) -> list[Line]:
    """Return which session waits for the user, and what for."""
    title = f' · "{cut(one_text(one["title"]), _WIDEST)}"' if one.get("title") else ""
    where = f" in {name_of(one['project'])}" if one.get("project") else ""
    named = _short(f"{one['agent']}:{one['session']}")
    return [line(f"  {AGENTS[one['agent']].product}{where} {_need(one).words}{title} ({named})")]


def _sign(one: Row, *, running: bool) -> TextSpan:
    if one.get("paused"):
        return TextSpan("‖", "yellow")
    if not running:
        return TextSpan("○", "dim")
    if one.get("parked"):
        return TextSpan("!", "yellow")
    return TextSpan("○", "dim") if one["waiting"] else TextSpan("●", "red")


def _ended(title: str, rows: list[Row], around: Surroundings) -> list[Line]:
    lines = [line(f"  {one['id']:>2}  {_file(one, around)}", "dim") for one in rows[-_LAST:]]
    more = len(rows) - _LAST
    earlier = [line(f"  and {more} earlier (--json lists them all)", "dim")] if more > 0 else []
    return [line(""), line(title), *lines, *earlier] if rows else []


def _interrupted(one: Row, around: Surroundings) -> list[Line]:
    output = in_home(one["output"], around.home) or UNNAMED
    return [
        line(f"  {_when(one, around)}  {output} ({_short(one['session'])})"),
        line("  → type ::start in its chat to record it again", "dim"),
    ]


def _delivery(row: Row, where: str, what: str, around: Surroundings) -> list[Line]:
    """Return how a delivery is going, nothing if there is none: `where` to, and what is sent there."""
    notes = [*_differs(row), *_elsewhere(row, where)]
    if not row["on"]:
        return [line(""), *notes] if notes else []
    refused = f", {_count(row['refused'], what)} refused" if row.get("refused") else ""
    head = f"delivered to {row[where]}: {_count(row.get('sent', 0), what)}{refused}"
    lines: list[Line] = [line(""), line(head), *notes]
    if problem := row.get("problem"):
        moment = recent(row["since"], around.now, When(around.zone))
        kept = f"nothing is lost while the {where} stays the same"
        said, advice = ("stopped", "see `katod doctor`") if row["stopped"] else ("waiting", kept)
        lines += [
            (TextSpan(f"  {said}", "yellow"), TextSpan(f" since {moment}: {problem}")),
            line(f"  → {advice}", "dim"),
        ]
    return lines + [
        line(f"  recording {one['id']} is not complete: {one['problem']}") for one in row.get("incomplete", ())
    ]


def _differs(row: Row) -> list[Line]:
    """Return a note that the running katod has other settings than the file, if it does."""
    if "running" not in row:
        return []
    to = f"delivers to {row['running']}" if row["running"] else "delivers nothing"
    said = (TextSpan("  not in effect", "yellow"), TextSpan(f": the running katod has other settings, and {to}"))
    return [said, line("  → it reads a changed configuration within fifteen seconds; if it did not, restart it", "dim")]


def _elsewhere(row: Row, where: str) -> list[Line]:
    """Return a note on recordings that are sent nowhere, as another destination was set when they started."""
    waiting = row.get("elsewhere", ())
    number = len({output for one in waiting for output in one["ids"]})
    said = f": {_count(number, 'recording')}, started for another {where} ({', '.join(one[where] for one in waiting)})"
    return [(TextSpan("  not sent", "yellow"), TextSpan(said))] if waiting else []


def _section(title: str, rows: Iterable[Row], show: Callable[[Row], list[Line]]) -> list[Line]:
    lines = [shown for row in rows for shown in show(row)]
    return [line(""), line(title, "yellow"), *lines] if lines else []


def _problem(one: Row, name: str, around: Surroundings) -> list[Line]:
    return [line(f"  {in_home(one[name], around.home)}: {one['problem']}")]


def _machine(one: Row, around: Surroundings) -> list[Line]:
    exported = one.get("exported", "")
    when = f", exported {recent(exported, around.now, When(around.zone))}" if exported else ""
    sessions = f"{_count(one['sessions'], 'session')} in {in_home(one['folder'], around.home)}"
    return [line(f"  {one['machine']}: {sessions}{when}")]


def _project(one: Row, around: Surroundings) -> list[Line]:
    return [*_problem(one, "path", around), line(f"  → {one['advice']}", "dim")]


def _missing(one: Row, around: Surroundings) -> list[Line]:
    what = f"{_count(one['events'], 'event')} missing or changed" if "events" in one else "an older copy was saved"
    return [
        line(f"  {in_home(one['output'], around.home)}: {what}"),
        line(f"  → run `katod verify --append-missing {one['id']}`", "dim"),
    ]


def _refusal(one: Row, around: Surroundings) -> list[Line]:
    return [line(f"  {_when(one, around)}  ::{one['command']} in {_short(one['session'])}: {one['reason']}")]


def _near_miss(one: Row, around: Surroundings) -> list[Line]:
    what = NearMiss(one["kind"], one["command"])
    return [
        line(f"  {_when(one, around)}  {what} in {_short(one['session'])}"),
        line(f"  → {what.advice}", "dim"),
    ]


def _when(one: Row, around: Surroundings) -> str:
    return When(around.zone).stamp(one["time"], "") or "-"


def _short(session: str) -> str:
    """Return the beginning of a session's key, as long as `katod sessions` shows most ids."""
    agent, _, name = session.partition(":")
    return f"{agent}:{AGENTS[agent].short_id(name)[:SHORTEST_ID]}" if agent in AGENTS else session


def _file(one: Row, around: Surroundings) -> str:
    redacted = f" ({_count(one['redactions'], 'secret')} redacted)" if one["redactions"] else ""
    return UNNAMED if one["waiting"] else f"{in_home(one['output'], around.home)}{redacted}"


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp() if time else 0.0


def recent(time: str, now: float, zone: When) -> str:
    """Return the clock time of a time today, and the date of an earlier one."""
    day = zone.day(utc(now))
    return zone.stamp(time, day) if zone.day(time) == day else zone.day(time)


def size(number: int) -> str:
    """Return a number of bytes as people read it: `812 B`, `12 kB`, `3.4 MB`."""
    for unit, length in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= length:
            value = number / length
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{number} B"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"

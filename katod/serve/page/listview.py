"""The list of sessions as HTML. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from katod.formats.when import ago
from katod.serve.page.board import Row
from katod.serve.page.frame import closing, opening, text

GROUPS: Final = (("waiting", "Waiting for you"), ("working", "Working"), ("recent", "Recent"))
_LONG_AGO: Final = 30 * 86400  # seconds
_HINT: Final = (
    "Nothing is recorded yet. Type <code>::start</code> in a session of your agent, or "
    '<code>katod start</code> in your shell. To list every session, put <code>sessions = "all"</code> under '
    "<code>[serve]</code> in katod's configuration, and start this server again."
)


def list_page(rows: Sequence[Row], older: str, name: str, now: float) -> str:
    """Return the list over all agents; `name` is what a stream goes on from, `older` what the next page begins with."""
    return (
        f'{opening("Sessions · katod", "list")}<main id="main">\n<h1 class="unseen">Sessions</h1>\n'
        f'<katod-board data-live="/live" data-last="{text(name)}"><div id="groups">\n{groups(rows, now)}</div>'
        f"</katod-board>\n{_rest(older)}</main>\n{closing()}"
    )


def older_page(rows: Sequence[Row], older: str, now: float) -> str:
    """Return a page of older sessions, which does not change while it is open."""
    return (
        f'{opening("Older sessions · katod", "list")}<main id="main">\n<h1 class="unseen">Older sessions</h1>\n'
        f'<div id="groups">\n{groups(rows, now)}</div>\n{_rest(older)}</main>\n{closing()}'
    )


def groups(rows: Sequence[Row], now: float) -> str:
    """Return all groups, those that are empty hidden."""
    return "".join(_group(name, title, [row for row in rows if row.group == name], now) for name, title in GROUPS)


def _group(name: str, title: str, rows: Sequence[Row], now: float) -> str:
    hint = f'<p class="hint">{_HINT}</p>' if name == "recent" else ""
    return (
        f'<section class="group" id="g-{name}" aria-labelledby="h-{name}"><h2 id="h-{name}">{title}</h2>'
        f'<ul class="rows">{"".join(list_row(row, now) for row in rows)}</ul>{hint}</section>\n'
    )


def list_row(row: Row, now: float) -> str:
    """Return one session of the list."""
    return (
        f'<li id="s-{row.name}" class="row" data-group="{row.group}" data-since="{row.since:.3f}" '
        f'data-state="{text(row.state)}"><a href="/s/{row.name}">{text(name_of(row))}</a>'
        f'<span class="where">{where(row)}</span>{pill(row)}'
        f'<span class="meta">{recording(row)}{moment(row.since, now)}</span></li>\n'
    )


def name_of(row: Row) -> str:
    """Return what a session is called, as text."""
    return row.title or "Untitled"


def where(row: Row) -> str:
    """Return whose session it is, and of which project."""
    branch = "" if row.branch == "HEAD" else row.branch  # so Claude Code says that there is none
    return " · ".join(text(part) for part in (row.agent, row.folder, branch) if part)


def pill(row: Row) -> str:
    """Return what a session is doing."""
    return f'<span class="state {text(row.state)}">{text(row.need or row.state)}</span>'


def recording(row: Row) -> str:
    """Return whether a session is recorded."""
    if row.halt:
        return f'<span class="rec halt">{text(row.halt)}</span>'
    if row.is_recording:
        words = "recording" if row.is_recorded else "recording from your next words on"
        return f'<span class="rec on">{words}</span>'
    return f'<span class="rec">{"recorded" if row.is_recorded else "not recorded"}</span>'


def moment(seconds: float, now: float) -> str:
    """Return a time, as far away as it is; a script keeps that up to date."""
    if not seconds:
        return "<time></time>"
    iso = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    words = ago(now - seconds) if now - seconds < _LONG_AGO else iso[:10]
    return f'<time datetime="{iso}" data-ago>{words}</time>'


def _rest(older: str) -> str:
    return f'<p class="quiet"><a href="/?older={text(older)}" rel="next">Older sessions</a></p>\n' if older else ""

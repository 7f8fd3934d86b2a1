"""The list of sessions as HTML. Pure."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.text.when import ago
from katod.serve.page.frame import framed
from katod.serve.page.sessionlist import ListRow

GROUPS: Final = (("waiting", "Waiting for you"), ("working", "Working"), ("recent", "Recent"))
_LONG_AGO: Final = 30 * 86400  # seconds
_HINT: Final = (
    '<p class="hint">'
    "Nothing is recorded yet. Type <code>::start</code> in a session of your agent, or "
    '<code>katod start</code> in your shell. To list every session, put <code>sessions = "all"</code> under '
    "<code>[serve]</code> in katod's configuration, and start this server again.</p>"
)


def list_page(rows: Sequence[ListRow], older: str, name: str, now: float) -> Markup:
    """Return the list over all agents; `name` is what a stream goes on from, `older` what the next page begins with."""
    content = fill(
        '<h1 class="unseen">Sessions</h1>\n'
        '<katod-board data-live="/live" data-last="{}"><div id="groups">\n{}</div></katod-board>\n{}',
        escape(name), groups(rows, now), _rest(older),
    )  # fmt: skip
    return framed("Sessions · katod", "list", content)


def older_page(rows: Sequence[ListRow], older: str, now: float) -> Markup:
    """Return a page of older sessions, which does not change while it is open."""
    content = fill(
        '<h1 class="unseen">Older sessions</h1>\n<div id="groups">\n{}</div>\n{}', groups(rows, now), _rest(older)
    )
    return framed("Older sessions · katod", "list", content)


def groups(rows: Sequence[ListRow], now: float) -> Markup:
    """Return all groups, those that are empty hidden."""
    return join(_group(name, title, [row for row in rows if row.group == name], now) for name, title in GROUPS)


def _group(name: str, title: str, rows: Sequence[ListRow], now: float) -> Markup:
    return fill(
        '<section class="group" id="g-{0}" aria-labelledby="h-{0}"><h2 id="h-{0}">{1}</h2>'
        '<ul class="rows">{2}</ul>{3}</section>\n',
        escape(name), escape(title), join(list_row(row, now) for row in rows),
        fill(_HINT) if name == "recent" else NOTHING,
    )  # fmt: skip


def list_row(row: ListRow, now: float) -> Markup:
    """Return one session of the list."""
    return fill(
        '<li id="s-{name}" class="row" data-group="{group}" data-since="{since:.3f}" '
        'data-state="{state}"><a href="/s/{name}">{star}{title}</a>'
        '<span class="where">{where}</span>{pill}<span class="meta">{recording}{moment}</span></li>\n',
        name=escape(row.name), group=escape(row.group), since=row.since, state=escape(row.state),
        star=star(row), title=escape(name_of(row)), where=where(row), pill=pill(row), recording=recording(row),
        moment=moment(row.since, now),
    )  # fmt: skip


def name_of(row: ListRow) -> str:
    """Return the title of a session, as text."""
    return row.title or "Untitled"


def star(row: ListRow) -> Markup:
    """Return the star of a session, if it has one."""
    return fill('<span class="star" role="img" aria-label="Starred">★</span> ') if row.is_starred else NOTHING


def where(row: ListRow) -> Markup:
    """Return the agent and the project of a session, and its labels."""
    labels = " ".join(f"#{label}" for label in row.labels)
    branch = "" if row.branch == "HEAD" else row.branch  # so Claude Code says that there is none
    return join((escape(part) for part in (row.agent, row.folder, branch, labels) if part), fill(" · "))


def pill(row: ListRow) -> Markup:
    """Return the state of a session."""
    return fill('<span class="state {}">{}</span>', escape(row.state), escape(row.need or row.state))


def recording(row: ListRow) -> Markup:
    """Return whether a session is recorded."""
    if row.halt:
        return fill('<span class="rec halt">{}</span>', escape(row.halt))
    if row.is_recording:
        words = "recording" if row.is_recorded else "recording from your next words on"
        return fill('<span class="rec on">{}</span>', escape(words))
    return fill('<span class="rec">{}</span>', escape("recorded" if row.is_recorded else "not recorded"))


def moment(seconds: float, now: float) -> Markup:
    """Return a time, as far away as it is; a script keeps that up to date."""
    if not seconds:
        return fill("<time></time>")
    iso = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    words = ago(now - seconds) if now - seconds < _LONG_AGO else iso[:10]
    return fill('<time datetime="{}" data-ago>{}</time>', escape(iso), escape(words))


def _rest(older: str) -> Markup:
    if not older:
        return NOTHING
    return fill('<p class="quiet"><a href="/?older={}" rel="next">Older sessions</a></p>\n', escape(older))

"""The list of sessions as HTML. Pure."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Final, NamedTuple

from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.serve.page.frame import framed, moment, name_of, pill, recorded_mark, star, where
from katod.serve.page.listfilter import BY_PROJECT, DAYS, STATES, ListChoices, ListFilter
from katod.serve.page.sessionlist import ListRow

GROUPS: Final = (*STATES.items(), ("recent", "Recent"))
ALL: Final = ListFilter()
_MOST: Final = 60  # choices of one kind
_HINT: Final = (
    '<p class="hint">'
    "There is nothing here yet. Type <code>::start</code> in a session of your agent, or <code>katod start</code> "
    'in your shell, to record it. To see sessions that are not recorded, too, put <code>sessions = "all"</code> '
    "under <code>[serve]</code> in katod's configuration, and start this server again.</p>"
)
_MACHINES: Final = ' <a href="/machines">Other machines</a>'
# The choices that there are for every list, by the field of the filter and its value.
OF_SESSIONS: Final = {
    **{("state", state): words for state, words in STATES.items()},
    ("starred", "1"): "★ Starred", ("recorded", "1"): "Recorded",
    **{("days", days): words for days, words in DAYS.items()},
}  # fmt: skip
_SHOWN: Final = OF_SESSIONS | {("by", BY_PROJECT): "By project"}
Address = Callable[[ListFilter], str]
Shown = Mapping[tuple[str, str], str]  # the words of choices, by the field of the filter and its value
Choice = tuple[str, str, str]  # a field of the filter, its value, and the words for it


class ListView(NamedTuple):
    """What is chosen of the list, and from what; `machines` says whether other machines share theirs."""

    chosen: ListFilter
    there: ListChoices
    machines: bool = False


def list_page(rows: Sequence[ListRow], older: str, name: str, now: float, view: ListView) -> Markup:
    """Return the list over all agents; `name` is what a stream goes on from, `older` what the next page begins with."""
    content = fill(
        '<h1 class="unseen">Sessions</h1>\n<div class="choices">{}<a href="/usage">Tokens and cost</a>{}</div>\n'
        '<katod-board data-live="{}" data-last="{}"><div id="groups">\n{}</div></katod-board>\n{}',
        filters(view, list_address), fill(_MACHINES) if view.machines else NOTHING,
        escape(view.chosen.address("/live")), escape(name), groups(rows, now, view.chosen), _rest(older, view.chosen),
    )  # fmt: skip
    return framed("Sessions · katod", "list", content)


def older_page(rows: Sequence[ListRow], older: str, now: float, chosen: ListFilter) -> Markup:
    """Return a page of older sessions, which does not change while it is open."""
    content = fill(
        '<h1 class="unseen">Older sessions</h1>\n<div id="groups">\n{}</div>\n{}',
        groups(rows, now, chosen), _rest(older, chosen),
    )  # fmt: skip
    return framed("Older sessions · katod", "list", content)


def list_address(chosen: ListFilter) -> str:
    """Return the address of the list with what is chosen."""
    return chosen.address("/")


def filters(view: ListView, address: Address, shown: Shown = _SHOWN) -> Markup:
    """Return what is chosen of sessions, and what can be: links, of which each adds one choice or takes it away.

    `address` returns where other choices lead, `shown` are those that there are always.
    """
    chosen, there = view.chosen, view.there
    rows: tuple[tuple[str, Sequence[Choice]], ...] = (
        ("Show", [(name, value, words) for (name, value), words in shown.items()]),
        ("Labels", [("label", label, f"#{label}") for label in there.labels[:_MOST]]),
        ("Agents", [("agent", agent, agent) for agent in there.agents[:_MOST]]),
        ("Projects", [("project", path, folder) for path, folder in there.projects[:_MOST]]),
    )  # fmt: skip
    choice_of = partial(_chip, chosen, address)
    listed = join(_chips(title, [choice_of(*choice) for choice in choices]) for title, choices in rows if choices)
    active = [choice_of(name, value, _words(name, value, there)) for name, value in chosen._asdict().items() if value]
    clear = fill('<a class="chip" href="{}">Show all</a>', escape(address(ALL))) if active else NOTHING
    return fill(
        '<section id="filters" aria-label="Filter"><details><summary>Filter</summary>{}</details>{}{}</section>\n',
        listed, join(active), clear,
    )  # fmt: skip


def _chips(title: str, chips: Sequence[Markup]) -> Markup:
    return fill('<p class="chips"><b>{}</b>{}</p>', escape(title), join(chips))


def _chip(chosen: ListFilter, address: Address, name: str, value: str, words: str) -> Markup:
    """Return a link to the same with a choice, or, if it is made already, without it."""
    is_made = getattr(chosen, name) == value
    return chip(address(chosen._replace(**{name: "" if is_made else value})), words, is_made=is_made)


def chip(target: str, words: str, *, is_made: bool, sign: str = " ✕") -> Markup:
    """Return the link of one choice, with a sign if it is made."""
    return fill(
        '<a class="chip" href="{}"{}>{}{}</a>',
        escape(target), fill(' aria-current="true"') if is_made else NOTHING, escape(words),
        fill('<span aria-hidden="true">{}</span>', escape(sign)) if is_made and sign else NOTHING,
    )  # fmt: skip


def _words(name: str, value: str, there: ListChoices) -> str:
    if name == "project":
        return dict(there.projects).get(value, value)
    return _SHOWN.get((name, value)) or (f"#{value}" if name == "label" else value)


def groups(rows: Sequence[ListRow], now: float, chosen: ListFilter = ALL) -> Markup:
    """Return all groups, those that are empty hidden; if nothing is there that was chosen, that is said."""
    if not rows and not chosen.is_empty:
        return fill('{}<p class="hint">No session matches.</p>\n', _groups(rows, now, chosen))
    return _groups(rows, now, chosen)


def _groups(rows: Sequence[ListRow], now: float, chosen: ListFilter) -> Markup:
    if chosen.by == BY_PROJECT:
        projects = {row.project: row.folder for row in rows}
        shown = (
            (group_of(path), folder or "No project", [row for row in rows if row.project == path])
            for path, folder in projects.items()
        )
    else:
        shown = ((name, title, [row for row in rows if row.group == name]) for name, title in GROUPS)
    return join(_group(name, title, some, now, chosen) for name, title, some in shown)


def group_of(project: str) -> str:
    """Return how the group of a project is called in a page."""
    return f"p-{blake2b(project.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"


def _group(name: str, title: str, rows: Sequence[ListRow], now: float, chosen: ListFilter) -> Markup:
    return fill(
        '<section class="group" id="g-{0}" aria-labelledby="h-{0}"><h2 id="h-{0}">{1}</h2>'
        '<ul class="rows">{2}</ul>{3}</section>\n',
        escape(name), escape(title), join(list_row(row, now, chosen) for row in rows),
        fill(_HINT) if name == "recent" and chosen.is_empty else NOTHING,
    )  # fmt: skip


def list_row(row: ListRow, now: float, chosen: ListFilter = ALL) -> Markup:
    """Return one session of the list."""
    group = group_of(row.project) if chosen.by == BY_PROJECT else row.group
    return fill(
        '<li id="s-{name}" class="row" data-group="{group}" data-since="{since:.3f}" '
        'data-state="{state}"><a href="/s/{name}">{star}{title}</a>'
        '<span class="where">{where}</span>{pill}<span class="meta">{recording}{moment}</span></li>\n',
        name=escape(row.name), group=escape(group), since=row.since, state=escape(row.state),
        star=star(row), title=escape(name_of(row)), where=where(row), pill=pill(row), recording=recorded_mark(row),
        moment=moment(row.since, now),
    )  # fmt: skip


def _rest(older: str, chosen: ListFilter) -> Markup:
    if not older:
        return NOTHING
    target = chosen.address("/", older=older)
    return fill('<p class="quiet"><a href="{}" rel="next">Older sessions</a></p>\n', escape(target))

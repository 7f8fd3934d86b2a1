"""What other machines share, as HTML. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.text.when import When
from katod.search.run import ShownHit
from katod.serve.page.findview import hit_rows, problem_lines
from katod.serve.page.frame import closing, framed, moment, opening

_HINT: Final = (
    '<p class="hint">Nothing is shared yet. The directories that machines share are named by '
    "<code>archive.folders</code>.</p>"
)


class SharedRow(NamedTuple):
    """One session of another machine; `since` is when it was exported, in seconds since 1970."""

    machine: str
    name: str
    agent: str
    title: str
    folder: str
    since: float

    @property
    def address(self) -> str:
        """Where it is shown."""
        return f"/machines/{quote(self.machine, safe='')}/{self.name}"


class SharedResult(NamedTuple):
    """One session of another machine with hits; `total`: how many there are."""

    row: SharedRow
    hits: Sequence[ShownHit]
    total: int


class SharedList(NamedTuple):
    """The latest sessions of one machine, and how many more there are."""

    machine: str
    rows: Sequence[SharedRow]
    more: int


def found_elsewhere(
    results: Sequence[SharedResult], problems: Sequence[str], words: Sequence[str], when: When, now: float
) -> Markup:
    """Return what was found on other machines, as a part of the page of a search, and what could not be searched."""
    said = problem_lines(problems)
    if not results:
        return said
    count = f"{len(results)} {'session' if len(results) == 1 else 'sessions'} on other machines"
    found = join(_result(result, words, when, now) for result in results)
    return fill('<h2 id="elsewhere">{}</h2>\n{}{}', escape(count), found, said)


def _result(result: SharedResult, words: Sequence[str], when: When, now: float) -> Markup:
    row, left = result.row, result.total - len(result.hits)
    more = fill('<p class="quiet"><a href="{}">{:,} more</a></p>', escape(row.address), left)
    return fill(
        '<article class="result"><h3><a href="{}">{}</a></h3>\n'
        '<p class="where">{} · {} {}</p>\n<ul>{}</ul>{}</article>\n',
        escape(row.address), escape(row.title), _where(row), escape(row.machine), moment(row.since, now),
        hit_rows(row.address, result.hits, words, when), more if left > 0 else NOTHING,
    )  # fmt: skip


def machines_page(lists: Sequence[SharedList], problems: Sequence[str], now: float) -> Markup:
    """Return the list of what each machine shares, and what cannot be read."""
    groups = join(_group(one, now) for one in lists) or fill(_HINT)
    content = fill("<h1>Other machines</h1>\n{}{}", problem_lines(problems), groups)
    return framed("Other machines · katod", "list", content)


def _group(one: SharedList, now: float) -> Markup:
    rest = fill('<p class="quiet">and {} older: a search finds them</p>', one.more)
    return fill(
        '<section class="group"><h2>{}</h2>\n<ul class="rows">{}</ul>{}</section>\n',
        escape(one.machine), join(_item(row, now) for row in one.rows), rest if one.more else NOTHING,
    )  # fmt: skip


def _item(row: SharedRow, now: float) -> Markup:
    return fill(
        '<li class="row"><a href="{}">{}</a><span class="where">{}</span><span class="meta">{}</span></li>\n',
        escape(row.address), escape(row.title), _where(row), moment(row.since, now),
    )  # fmt: skip


def _where(row: SharedRow) -> Markup:
    return join((escape(part) for part in (row.agent, row.folder) if part), fill(" · "))


def shared_head(row: SharedRow) -> Markup:
    """Return the page of a session up to the conversation."""
    return fill(
        '{}<main id="main">\n<h1>{}</h1>\n<p class="where">{} · on <a href="/machines">{}</a></p>\n'
        '<div id="log" role="log" aria-label="Conversation">\n',
        opening(f"{row.title} · katod", "session"), escape(row.title), _where(row), escape(row.machine),
    )  # fmt: skip


def shared_foot(held: Markup, prompts: Markup, problem: str = "") -> Markup:
    """Return the page after the conversation, with what could not be read of it."""
    said = fill('<p class="failed">{}</p>\n', escape(problem)) if problem else NOTHING
    return fill("</div>\n{}{}</main>\n{}{}", held, said, prompts, closing())

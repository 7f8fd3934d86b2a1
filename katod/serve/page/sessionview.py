"""One session as HTML: what is around the conversation. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.record.personal import LONGEST_NAME
from katod.serve.page.frame import closing, find_in, moment, name_of, opening, pill, recording, star, where
from katod.serve.page.sessionlist import ListRow

FOR_PULL_REQUEST: Final = "pr"
DOWNLOADS: Final = {"markdown": ".md", "html": ".html", FOR_PULL_REQUEST: ".md"}  # forms, with their suffixes
_LIVE: Final = frozenset({"working", "blocked", "stalled"})
_NO_PROMPTS: Final = "<nav hidden>\n<b>Prompts</b>\n<ol></ol>\n</nav>\n"  # until there is one


class OutputLink(NamedTuple):
    """A transcript of the session."""

    id: int
    path: str
    is_redacted: bool


class Beside(NamedTuple):
    """What there is to do with a session, and what belongs to it."""

    resume: str = ""  # the command with which its agent goes on
    outputs: Sequence[OutputLink] = ()
    family: Sequence[tuple[int, ListRow]] = ()  # the sessions that it started, each with its depth below it
    more: int = 0  # of such sessions that are not among these
    parent: str = ""  # the session that started it


def session_head(row: ListRow, beside: Beside, now: float) -> Markup:
    """Return the page up to the conversation."""
    return fill(
        '{opening}<div id="bar"><div id="about">{about}</div>'
        '<label class="switch"><input type="checkbox" id="thinking"> Thinking</label>'
        '<details id="more"><summary>More</summary><div class="menu">{menu}</div></details></div>\n'
        '<main id="main" data-awake="{awake}">\n<h1>{title}</h1>\n'
        '<p class="where">{where}</p>\n{family}<div id="log" role="log" aria-label="Conversation">\n',
        opening=opening(f"{name_of(row)} · katod", "session"), about=about(row, now), menu=_menu(row, beside),
        awake=escape("1" if row.state in _LIVE else ""), title=escape(name_of(row)), where=where(row),
        family=_family(beside),
    )  # fmt: skip


def session_foot(row: ListRow, last: str, held: Markup, prompts: Markup) -> Markup:
    """Return the page after the conversation; `last` is the last event that is in it."""
    return fill(
        '</div>\n<div id="held">{}</div>\n<katod-feed data-live="/s/{}/live" data-last="{}"></katod-feed>\n'
        "</main>\n{}{}",
        held, escape(row.name), escape(last), prompts or fill(_NO_PROMPTS), closing(),
    )  # fmt: skip


def about(row: ListRow, now: float) -> Markup:
    """Return the title and the state of a session."""
    return fill(
        '<b class="title">{}{}</b><span class="now">{}{}{}</span>',
        star(row), escape(name_of(row)), pill(row), recording(row), moment(row.since, now),
    )  # fmt: skip


def _menu(row: ListRow, beside: Beside) -> Markup:
    return fill(
        '{find}<ul><li><a href="/s/{name}/files">Files changed</a></li>'
        '<li>In this project: <a href="/s/{name}/older" rel="prev">older session</a>, '
        '<a href="/s/{name}/newer" rel="next">newer session</a></li>'
        '<li><katod-copy data-from="/s/{name}/markdown" data-label="Copy">'
        '<a href="/s/{name}/markdown">Markdown</a></katod-copy></li></ul>'
        '<h2>Download</h2><ul class="forms">{downloads}</ul>'
        '{resume}<div id="own">{own}</div><div id="recorded">{recorded}</div>',
        find=find_in(row.name), downloads=_downloads(row), own=own(row), name=escape(row.name),
        resume=_resume(beside.resume), recorded=recorded(row, beside.outputs),
    )  # fmt: skip


def _downloads(row: ListRow) -> Markup:
    words = {"markdown": "Markdown", "html": "HTML", FOR_PULL_REQUEST: "For a pull request"}
    return join(
        fill('<li><a href="/s/{}/download/{}">{}</a></li>', escape(row.name), escape(form), escape(words[form]))
        for form in DOWNLOADS
    )


def _resume(command: str) -> Markup:
    if not command:
        return NOTHING
    return fill(
        '<h2>Continue in its agent</h2><katod-copy data-label="Copy"><code>{}</code></katod-copy>', escape(command)
    )


def own(row: ListRow) -> Markup:
    """Return the fields in which the user calls a session by a title, marks it with a star, and labels it."""
    gone = join(
        fill('<button name="unlabel" value="{0}" aria-label="Take the label {0} away">#{0} ✕</button>', escape(label))
        for label in row.labels
    )
    word, what = ("unstar", "Remove the star") if row.is_starred else ("star", "Star")
    return fill(
        '<h2>Title and labels</h2><form method="post" action="/s/{0}/own">'
        '<input name="rename" value="{1}" maxlength="{2}" placeholder="Your title" aria-label="Your title">'
        '<button>Rename</button></form>'
        '<form method="post" action="/s/{0}/own"><input name="label" maxlength="{2}" placeholder="Labels" '
        'aria-label="Labels to add"><button>Add</button></form>'
        '<form method="post" action="/s/{0}/own">{3}<button name="{4}" value="1">{5}</button></form>',
        escape(row.name), escape(row.own), LONGEST_NAME, gone, escape(word), escape(what),
    )  # fmt: skip


def recorded(row: ListRow, outputs: Sequence[OutputLink]) -> Markup:
    """Return the transcripts of a session, and the buttons that start and stop a recording."""
    name = escape(row.name)
    rows = join(
        fill('<li><code>{}</code> <a href="/s/{}/transcripts/{}">View</a></li>', escape(one.path), name, one.id)
        for one in outputs
    )
    words = (("stop", "Stop recording"),) if row.is_recording else (
        ("start", "Record from now on"), ("capture", "Record from its beginning")
    )  # fmt: skip
    buttons = join(
        fill('<button name="do" value="{}">{}</button>', escape(word), escape(label)) for word, label in words
    )
    return fill(
        '{}<h2>Recording</h2><form method="post" action="/s/{}/recording">{}</form>',
        fill("<h2>Transcript</h2><ul>{}</ul>", rows) if rows else NOTHING, name, buttons,
    )  # fmt: skip


def _family(beside: Beside) -> Markup:
    """Return links to the sessions that this one started, and to the one that started it."""
    parent = NOTHING
    if beside.parent:
        parent = fill('<p class="quiet">A sub-agent of <a href="/s/{}">this session</a></p>\n', escape(beside.parent))
    if not beside.family:
        return parent
    count = len(beside.family) + beside.more
    more = fill("<p>and {:,} more</p>", beside.more) if beside.more else NOTHING
    return fill(
        '{}<details class="family"><summary>{}</summary><ul>{}</ul>{}</details>\n',
        parent, escape(f"{count:,} sub-agent{'s' if count > 1 else ''}"), _tree(beside.family), more,
    )  # fmt: skip


def _tree(family: Sequence[tuple[int, ListRow]]) -> Markup:
    """Return the items of a list in which each session has a list of those below it."""
    pieces, at = list[Markup](), 1
    for number, (depth, row) in enumerate(family):
        opened = fill("<ul>") if depth > at else join([fill("</li></ul>")] * (at - depth) + [fill("</li>")])
        at = depth
        pieces.append(opened if number else NOTHING)
        pieces.append(fill('<li><a href="/s/{}">{}</a> {}', escape(row.name), escape(name_of(row)), pill(row)))
    return join([*pieces, *[fill("</li></ul>")] * (at - 1), fill("</li>")])


def gone(row: ListRow, outputs: Sequence[OutputLink]) -> Markup:
    """Return the message in place of a conversation whose files no longer exist, with links to its transcripts."""
    if not outputs:
        return fill('<p id="gone">The files of this session no longer exist.</p>\n')
    links = join(
        (
            fill('<a href="/s/{}/transcripts/{}">{}</a>', escape(row.name), one.id, escape(one.path.rpartition("/")[2]))
            for one in outputs
        ),
        fill(", "),
    )
    return fill(
        '<p id="gone">The files of this session no longer exist. What katod wrote of it is left: {}</p>\n', links
    )


def cut_off(words: str) -> Markup:
    """Return the end of a page of which the rest could not be read, with the reason."""
    return fill('</div>\n<p class="failed" role="alert">{}</p>\n</main>\n{}', escape(words), closing())

"""What pages have in common: what is around each, and how a session is marked. Pure."""

from typing import Final

from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
from katod.formats.text.when import ago, utc
from katod.serve.page.sessionlist import ListRow

_LONG_AGO: Final = 30 * 86400  # seconds
_KEYS: Final = (
    ("j / k", "next, previous"), ("Enter", "open"), ("/", "search"), ("g / G", "beginning, end"), ("t", "thinking"),
    ("n / p", "next, previous prompt"), ("f", "find in this session"), ("] / [", "newer, older session of the project"),
    ("u", "all sessions"), ("?", "these keys"),
)  # fmt: skip
_OPENING: Final = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    '<meta name="color-scheme" content="light dark">\n<title>{title}</title>\n'
    '<link rel="icon" href="/static/icon.svg">\n<link rel="stylesheet" href="/static/transcript.css">\n'
    '<link rel="stylesheet" href="/static/page.css">\n<script type="module" src="/static/page.js"></script>\n'
    '</head>\n<body class="{kind}">\n<a id="skip" href="#main">Skip to the content</a>\n'
    '<header id="top">\n<a id="home" href="/" title="All sessions">katod</a><span id="away" role="status"></span>\n'
    '<form id="find" role="search" action="/find"><label><span class="unseen">Search</span>'
    '<input type="search" name="q" value="{query}" placeholder="Search" enterkeyhint="search" '
    'autocomplete="off" maxlength="500"></label></form>\n<span id="tools"></span>\n</header>\n'
)
_CLOSING: Final = (
    '<dialog id="keys" aria-label="Keys"><h2>Keys</h2><dl>{}</dl>'
    '<form method="dialog"><button>Close</button></form></dialog>\n'
    '<p id="told" class="unseen" role="status"></p>\n</body>\n</html>\n'
)


def opening(title: str, kind: str, query: str = "") -> Markup:
    """Return the beginning of a page; `kind` is the class of its body, `query` what was searched."""
    return fill(_OPENING, title=escape(title), kind=escape(kind), query=escape(query))


def closing() -> Markup:
    """Return the end of a page."""
    keys = join(fill("<dt><kbd>{}</kbd></dt><dd>{}</dd>", escape(key), escape(about)) for key, about in _KEYS)
    return fill(_CLOSING, keys)


def find_in(name: str, text: str = "") -> Markup:
    """Return the field in which a person types what is looked for in one session."""
    return fill(
        '<form class="within" role="search" aria-label="Find in this session" action="/find">'
        '<input type="hidden" name="in" value="{}"><input type="search" name="q" value="{}" maxlength="500" '
        'placeholder="Find in this session" aria-label="Find in this session" autocomplete="off"></form>',
        escape(name), escape(text),
    )  # fmt: skip


def framed(title: str, kind: str, content: Markup, query: str = "") -> Markup:
    """Return a whole page."""
    return fill('{}<main id="main">\n{}</main>\n{}', opening(title, kind, query), content, closing())


def plain(title: str, words: str, back: str = "/") -> Markup:
    """Return a page with one message."""
    content = fill('<h1>{}</h1>\n<p>{}</p>\n<p><a href="{}">Back</a></p>\n', escape(title), escape(words), escape(back))
    return framed(title, "plain", content)


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


def recorded_mark(row: ListRow) -> Markup:
    """Return the mark of a session that is or was recorded, nothing for any other one: most are not."""
    return recording(row) if row.is_recorded or row.is_recording else NOTHING


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
    iso = utc(seconds, "seconds")
    words = ago(now - seconds) if now - seconds < _LONG_AGO else iso[:10]
    return fill('<time datetime="{}" data-ago>{}</time>', escape(iso), escape(words))

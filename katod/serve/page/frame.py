"""What every page has around it. Pure."""

from typing import Final

from katod.formats.text.markup import Markup, escape, fill, join

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

"""What every page has around it. Pure."""

from html import escape
from typing import Final

from katod.formats.mdtext import clean

_KEYS: Final = (
    ("j / k", "next, previous"), ("Enter", "open"), ("/", "search"), ("g / G", "beginning, end"), ("t", "thinking"),
    ("u", "all sessions"), ("?", "these keys"),
)  # fmt: skip


def text(value: str) -> str:
    """Return text for the inside of an element or an attribute."""
    return escape(clean(value))


def opening(title: str, kind: str, query: str = "") -> str:
    """Return the beginning of a page; `kind` is the class of its body, `query` what was searched."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{text(title)}</title>\n'
        '<link rel="icon" href="/static/icon.svg">\n<link rel="stylesheet" href="/static/transcript.css">\n'
        '<link rel="stylesheet" href="/static/page.css">\n<script type="module" src="/static/page.js"></script>\n'
        f'</head>\n<body class="{kind}">\n<a id="skip" href="#main">Skip to the content</a>\n'
        '<header id="top">\n<a id="home" href="/" title="All sessions">katod</a><span id="away" role="status"></span>\n'
        '<form id="find" role="search" action="/find"><label><span class="unseen">Search</span>'
        f'<input type="search" name="q" value="{text(query)}" placeholder="Search" enterkeyhint="search" '
        'autocomplete="off" maxlength="500"></label></form>\n<span id="tools"></span>\n</header>\n'
    )


def closing() -> str:
    """Return the end of a page."""
    keys = "".join(f"<dt><kbd>{text(key)}</kbd></dt><dd>{text(about)}</dd>" for key, about in _KEYS)
    return (
        f'<dialog id="keys" aria-label="Keys"><h2>Keys</h2><dl>{keys}</dl>'
        '<form method="dialog"><button>Close</button></form></dialog>\n'
        '<p id="told" class="unseen" role="status"></p>\n</body>\n</html>\n'
    )


def plain(title: str, told: str, back: str = "/") -> str:
    """Return a page that says one thing."""
    return (
        f'{opening(title, "plain")}<main id="main">\n<h1>{text(title)}</h1>\n<p>{text(told)}</p>\n'
        f'<p><a href="{text(back)}">Back</a></p>\n</main>\n{closing()}'
    )


def onward(to: str) -> str:
    """Return the page to which a link of another site leads; a script goes on from it at once."""
    return (
        f'{opening("katod", "plain")}<main id="main">\n<h1>Your sessions</h1>\n'
        f'<p><a id="onward" href="{text(to)}">Go on</a></p>\n</main>\n{closing()}'
    )


def login(to: str, problem: str = "") -> str:
    """Return the page that asks for the token; `to` is where it leads."""
    wrong = f'<p class="failed" role="alert">{text(problem)}</p>\n' if problem else ""
    return (
        f'{opening("katod", "login")}<main id="main">\n<h1>Your sessions</h1>\n{wrong}'
        f'<form id="door" method="post" action="/login"><input type="hidden" name="to" value="{text(to)}">'
        '<label for="token">Token</label><input id="token" type="password" name="token" autocomplete="off" required '
        'autofocus><button>Show my sessions</button></form>\n<p class="quiet">Run '
        "<code>katod serve --url</code>, and open what it prints, or paste it here. You are asked again after this "
        f"browser was closed.</p>\n</main>\n{closing()}"
    )

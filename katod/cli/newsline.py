"""News of recordings in the terminal of `katod run`, a line each. Pure."""

from typing import Final

from katod.cli.layout import Line, TextSpan
from katod.paths import in_home
from katod.record.news import Kind, News
from katod.store.rows import UNNAMED

# The sign and the words of each kind of news, and their style.
_SHOWN: Final[dict[Kind, tuple[str, str]]] = {
    "recording": ("● recording", "red"),
    "waiting": ("○ recording", "dim"),
    "named": ("● recording", "red"),
    "stopped": ("■ stopped", ""),
    "paused": ("‖ paused", "yellow"),
    "excluded": ("■ excluded", "yellow"),
    "parked": ("! parked", "yellow"),
    "unparked": ("● writes again", "green"),
    "refused": ("! refused", "yellow"),
    "near miss": ("? not a command", "yellow"),
    "blocked": ("? waits for you", "yellow"),
    "done": ("✓ done", "green"),
    "left": ("! not recorded", "yellow"),
    "written": ("● written", "green"),
}


def news_line(news: News, clock: str, home: str) -> Line:
    """Return `23:18 ● recording shop · "login page" → ~/katod/shop/login-page.md`."""
    said, style = _SHOWN[news.kind]
    title = f' · "{news.title}"' if news.title else ""
    path = f" → {in_home(str(news.path), home)}" if news.path else ""
    what = f": {UNNAMED if news.kind == 'waiting' else news.what}" if news.what or news.kind == "waiting" else ""
    about = f" {news.project}".rstrip()
    if news.says:  # a sentence about an agent, which is a sign and what it is about then
        said, about = f"{said[0]} {news.says}", f": {news.project}"
    return (TextSpan(f"{clock} ", "dim"), TextSpan(said, style), TextSpan(f"{about}{title}{path}{what}"))

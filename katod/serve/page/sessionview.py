"""One session as HTML, around what was said in it. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from katod.serve.page.board import Row
from katod.serve.page.frame import closing, opening, text
from katod.serve.page.listview import moment, name_of, pill, recording, where

_LIVE: Final = frozenset({"working", "blocked", "stalled"})
_NO_PROMPTS: Final = "<nav hidden>\n<b>Prompts</b>\n<ol></ol>\n</nav>\n"  # until there is one


class Output(NamedTuple):
    """A transcript of the session."""

    id: int
    path: str
    is_redacted: bool


class Beside(NamedTuple):
    """What there is to do with a session, and what belongs to it."""

    resume: str = ""  # the command with which its agent goes on
    outputs: Sequence[Output] = ()
    children: Sequence[Row] = ()
    parent: str = ""  # the session that started it


def session_head(row: Row, beside: Beside, now: float) -> str:
    """Return the page up to the conversation."""
    title = text(name_of(row))
    return (
        f'{opening(f"{name_of(row)} · katod", "session")}<div id="bar"><div id="about">{about(row, now)}</div>'
        '<label class="switch"><input type="checkbox" id="thinking"> Thinking</label>'
        f'<details id="more"><summary>More</summary><div class="menu">{_menu(row, beside)}</div></details></div>\n'
        f'<main id="main" data-awake="{"1" if row.state in _LIVE else ""}">\n<h1>{title}</h1>\n'
        f'<p class="where">{where(row)}</p>\n{_family(beside)}<div id="log" role="log" aria-label="Conversation">\n'
    )


def session_foot(row: Row, last: str, held: str, prompts: str) -> str:
    """Return the page after the conversation; `last` is the last event that is in it."""
    return (
        f'</div>\n<div id="held">{held}</div>\n'
        f'<katod-feed data-live="/s/{row.name}/live" data-last="{text(last)}"></katod-feed>\n</main>\n'
        f"{prompts or _NO_PROMPTS}{closing()}"
    )


def about(row: Row, now: float) -> str:
    """Return what a session is doing."""
    title = f'<b class="title">{text(name_of(row))}</b>'
    return f'{title}<span class="now">{pill(row)}{recording(row)}{moment(row.since, now)}</span>'


def _menu(row: Row, beside: Beside) -> str:
    at = f"/s/{row.name}"
    resume = (
        f'<h2>Continue in its agent</h2><katod-copy data-label="Copy"><code>{text(beside.resume)}</code></katod-copy>'
        if beside.resume
        else ""
    )
    return (
        f'<ul><li><a href="{at}/files">Files changed</a></li>'
        f'<li><katod-copy data-from="{at}/markdown" data-label="Copy">'
        f'<a href="{at}/markdown">Markdown</a></katod-copy></li></ul>'
        f'{resume}<div id="recorded">{recorded(row, beside.outputs)}</div>'
    )


def recorded(row: Row, outputs: Sequence[Output]) -> str:
    """Return the transcripts of a session, and the buttons that start and stop a recording."""
    at = f"/s/{row.name}"
    rows = "".join(
        f'<li><code>{text(one.path)}</code> <a href="{at}/transcripts/{one.id}">View</a></li>' for one in outputs
    )
    words = (("stop", "Stop recording"),) if row.is_recording else (
        ("start", "Record from now on"), ("capture", "Record from its beginning")
    )  # fmt: skip
    buttons = "".join(f'<button name="do" value="{word}">{label}</button>' for word, label in words)
    return (
        f"{f'<h2>Transcript</h2><ul>{rows}</ul>' if rows else ''}<h2>Recording</h2>"
        f'<form method="post" action="{at}/recording">{buttons}</form>'
    )


def _family(beside: Beside) -> str:
    """Return links to the sessions that this one started, and to the one that started it."""
    parent = (
        f'<p class="quiet">A sub-agent of <a href="/s/{beside.parent}">this session</a></p>\n' if beside.parent else ""
    )
    if not beside.children:
        return parent
    rows = "".join(f'<li><a href="/s/{row.name}">{text(name_of(row))}</a></li>' for row in beside.children)
    count = len(beside.children)
    agents = f"{count} sub-agent{'s' if count > 1 else ''}"
    return f'{parent}<details class="family"><summary>{agents}</summary><ul>{rows}</ul></details>\n'

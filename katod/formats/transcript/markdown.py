"""Markdown: a transcript to read in an editor, on a forge or in a notes app."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from katod.events import Event
from katod.formats.text.linkbase import destination
from katod.formats.text.mdtext import body, code, fenced, heading, html, inline, quoted, typed, unlinked
from katod.formats.text.ownlines import SIGN, literal, poses
from katod.formats.transcript.base import Transcript
from katod.formats.transcript.content import (
    AgentHeading,
    AskedQuestion,
    Attachment,
    ChosenAnswer,
    Code,
    Delegation,
    Fold,
    Footer,
    Line,
    Link,
    MarkLine,
    Note,
    Outcome,
    PassedTime,
    Person,
    Piece,
    Prose,
    Quoted,
    Thinking,
    ToolLine,
    TypedWords,
)  # fmt: skip
from katod.metadata import SessionMetadata
from katod.model import Mark, Options
from katod.text import clean

_ITEMS: Final = (ToolLine, Outcome, Link)  # of a list


class Markdown:
    """Prints the content of a conversation as Markdown."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        self._is_whole = options.exported
        state = state or {}
        self._transcript = Transcript(options, state)
        self._in_list: bool = state.get("list", False)
        self._title: str | None = state.get("title")  # until a message has its heading

    def state(self) -> dict[str, Any]:
        """Return the transcript's state, whether a list is open, and the title while no message has a heading."""
        row = self._transcript.state() | ({"list": True} if self._in_list else {})
        return row if self._title is None else row | {"title": self._title}

    def head(self, metadata: SessionMetadata, time: str) -> str:
        """Return the front matter and the title.

        The first message of an export need not say the title again. A recording has its title only when words have
        named it, and what came before is printed already: nothing in it may depend on the title.
        """
        head = self._transcript.head(metadata, time)
        self._title = head.title if self._is_whole else None
        tags = ", ".join(("katod", head.agent, *map(_yaml, head.labels)))
        rows = {
            "title": _yaml(head.title), "date": head.date, "agent": head.agent, "model": _yaml(head.model),
            "project": _yaml(head.project), "branch": _yaml(head.branch), "session": _yaml(head.session),
            "subagent": _yaml(head.subagent), "parent": _yaml(head.parent),
            "tags": f"[{tags}]", "starred": "true" if head.is_starred else "",
        }  # fmt: skip
        matter = "\n".join(f"{name}: {value}" for name, value in rows.items() if value)
        about = " · ".join(filter(None, (inline(head.product), inline(head.project), inline(head.branch), head.when)))
        return f"---\n{matter}\n---\n\n# {heading(head.title)}\n" + (f"\n{about}\n" if about else "")

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the text of one event."""
        pieces = self._transcript.event(event, metadata)
        return self._printed(pieces) if pieces else ""

    def mark(self, mark: Mark) -> str:
        """Return a mark in italics."""
        return self._printed(self._transcript.mark(mark))

    def end(self) -> str:
        """Return nothing: an output may always go on."""
        return ""

    def pause(self) -> str:
        """Return the pending text."""
        return self._printed(self._transcript.pause())

    def _printed(self, pieces: Iterable[Piece]) -> str:
        text, self._in_list = _spaced(map(self._once, pieces), in_list=self._in_list, show=print_piece)
        return text

    def _once(self, piece: Piece) -> Piece:
        """Return a piece; the first message's heading does not repeat the title if all of the message is below it."""
        if not isinstance(piece, Person) or self._title is None:
            return piece
        said, self._title = self._title, None
        is_repeated = not piece.whole and said.startswith(piece.words.removesuffix("…"))
        return piece._replace(words="") if is_repeated else piece


def printed(pieces: Iterable[Piece], show: Callable[[Piece], str] | None = None) -> str:
    """Return pieces of content as one text, each as it is shown: by default, as `print_piece` does."""
    return _spaced(pieces, in_list=False, show=show or print_piece)[0]


def _spaced(pieces: Iterable[Piece], *, in_list: bool, show: Callable[[Piece], str]) -> tuple[str, bool]:
    """Return pieces with a blank line before each block, and whether the last one is an item of a list."""
    text = ""
    for piece in pieces:
        is_item = isinstance(piece, _ITEMS)
        text += f"{'' if is_item and in_list else chr(10)}{show(piece)}\n"
        in_list = is_item
    return text, in_list


def print_piece(piece: Any) -> str:
    """Return a piece of content without the newlines around it."""
    return _PRINTERS[type(piece)](piece)


def _mark(mark: MarkLine) -> str:
    stamp = f" {mark.stamp}" if mark.stamp else ""
    more = f" {inline(mark.more)}" if mark.more else ""
    return f"*{mark.text}{stamp}{more}*"


def _heading(level: int, *parts: str) -> str:
    return f"{'#' * level} {' · '.join(part for part in parts if part)}"


def _person(person: Person) -> str:
    said = inline(person.words)
    words = unlinked(said)
    shown = _heading(2, person.speaker, person.stamp, words)
    # Where an address is only text in the heading, the message is below it, to be followed and copied.
    return f"{shown}\n\n{typed(person.words)}" if person.whole and words != said else shown


def _agent(agent: AgentHeading) -> str:
    return _heading(3, agent.speaker, heading(agent.model), agent.stamp)


def _line(line: Line) -> str:
    return " ".join(_SPANS[span.kind](span.text) for span in line if span.text.strip())


def _tool(tool: ToolLine) -> str:
    about = f" {shown}" if (shown := _line(tool.about)) else ""
    came = f" – {shown}" if (shown := _line(tool.outcome)) else ""  # noqa: RUF001 - a dash
    return f"- {SIGN} **{inline(tool.name)}**{about}{came}"


def print_fold(fold: Fold, show: Callable[[Piece], str] = print_piece) -> str:
    """Return a collapsible block with its parts as they are shown."""
    about = f" {shown}" if (shown := _html_line(fold.about)) else ""
    notes = f" → {' · '.join(map(html, fold.notes))}" if fold.notes else ""
    inner = _spaced(fold.parts, in_list=False, show=show)[0].strip("\n") or "(no text)"
    return details(f"{SIGN} <b>{html(fold.name)}</b>{about}{notes}", inner)


def _html_line(line: Line) -> str:
    marks = {"code": "code", "note": "i", "text": ""}
    shown = ((marks[span.kind], html(span.text)) for span in line if span.text.strip())
    return " ".join(f"<{mark}>{text}</{mark}>" if mark else text for mark, text in shown)


def _emphasised(line: str) -> str:
    """Return a line of others' words; one that reads like katod's own is shown with its asterisks."""
    return literal(line) if poses(line) else line


def _question(question: AskedQuestion) -> str:
    text = question.text
    asked = _emphasised(f"**{inline(question.key if chr(10) in text else text)}**")
    shown = f"{asked}\n\n{body(text)}" if "\n" in text else asked
    options = "\n".join(
        f"- {inline(label)}: {inline(about)}" if about else f"- {inline(label)}" for label, about in question.options
    )
    return f"{shown}\n\n{options}" if options else shown


def _answer(answer: ChosenAnswer) -> str:
    question = f" ({inline(answer.key)})" if answer.key else ""
    return f"**You{question}:** {inline(answer.text)}"


def _attachment(attachment: Attachment) -> str:
    label = inline(attachment.label)
    if not attachment.link:
        return f"*{label}*"
    return f"{'!' if attachment.media.startswith('image') else ''}[{label}]({destination(attachment.link)})"


def _quoted(part: Quoted) -> str:
    return details(f"{SIGN} {html(part.label)}", fenced(part.text, "text"))


def details(title: str, content: str) -> str:
    """Return a collapsible block."""
    return f"<details>\n<summary>{title}</summary>\n\n{content}\n\n</details>"


def _yaml(value: str) -> str:
    words = " ".join(clean(value).split())
    return json.dumps(words, ensure_ascii=False) if words else ""


_SPANS: Final[Mapping[str, Callable[[str], str]]] = {
    "code": code,
    "note": lambda text: f"*{inline(text)}*",
    "text": inline,
}
_PRINTERS: Final[Mapping[type, Callable[[Any], str]]] = {
    MarkLine: _mark,
    Person: _person,
    AgentHeading: _agent,
    TypedWords: lambda piece: typed(piece.text),
    Quoted: _quoted,
    Prose: lambda piece: body(piece.text),
    Code: lambda piece: fenced(piece.text, piece.language),
    ToolLine: _tool,
    Outcome: lambda piece: f"  - {_line(piece.line)}",
    Fold: print_fold,
    Delegation: print_fold,
    Thinking: lambda piece: details(f"{SIGN} Thinking", quoted(piece.text)),
    AskedQuestion: _question,
    ChosenAnswer: _answer,
    Note: lambda piece: _emphasised(f"*{inline(piece.text)}*"),
    PassedTime: lambda piece: f"*{piece.stamp}*",
    Footer: lambda piece: f"*{piece.text}*",
    Attachment: _attachment,
    Link: lambda piece: f"  - {piece.label}: [{piece.text}]({destination(piece.target)})",
}

"""HTML: one file that can be read anywhere, without a network and without scripts."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any, Final

from katod.events import Event
from katod.formats.content import (
    Agent,
    Answer,
    Attachment,
    Code,
    Fold,
    Footer,
    Line,
    Link,
    MarkLine,
    Note,
    Outcome,
    Person,
    Piece,
    Prose,
    Question,
    Quoted,
    Stamp,
    Thinking,
    Tool,
    Typed,
)  # fmt: skip
from katod.formats.mdtext import clean
from katod.formats.pictures import PICTURES
from katod.formats.style import STYLE
from katod.formats.transcript import Transcript
from katod.metadata import SessionMetadata
from katod.model import Mark, Options

_FAILED: Final = ("failed", "exit ", "declined", "interrupted")  # how the outcome of such a call begins
_MOST_PROMPTS: Final = 2000
_SPEAKER: Final = 3  # the level of an agent's heading
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


class Html:
    """Prints the content of a conversation as a page; the list of prompts comes last, and is shown beside it."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._transcript = Transcript(options, state)
        self._prompts: list[str] = state.get("prompts", [])
        self._number: int = state.get("number", 0)

    def state(self) -> dict[str, Any]:
        """Return the transcript's state, and the prompts so far."""
        row = {"prompts": self._prompts, "number": self._number}
        return self._transcript.state() | {name: value for name, value in row.items() if value}

    def head(self, metadata: SessionMetadata, time: str) -> str:
        """Return the beginning of the page."""
        head = self._transcript.head(metadata, time)
        about = " · ".join(text(part) for part in (head.product, head.project, head.branch, head.when) if part)
        title = text(head.title)
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" '
            f'content="no-referrer">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n'
            f'<h1>{title}</h1>\n<p class="about">{about}</p>\n'
        )

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return one event; pictures are in the page itself."""
        blobs = {digest: data for digest, _, data in event.blobs}
        return self._printed(self._transcript.event(event, metadata), blobs)

    def mark(self, mark: Mark) -> str:
        """Return a mark."""
        return self._printed(self._transcript.mark(mark), {})

    def pause(self) -> str:
        """Return what was held back."""
        return self._printed(self._transcript.pause(), {})

    def end(self) -> str:
        """Return the list of prompts and the end of the page."""
        return f"</main>\n{self.prompts()}</body>\n</html>\n"

    def prompts(self) -> str:
        """Return the list of prompts, empty if there are none."""
        rows = "".join(f'<li><a href="#m{number}">{text(words)}</a></li>\n' for number, words in self._numbered())
        return f"<nav>\n<b>Prompts</b>\n<ol>\n{rows}</ol>\n</nav>\n" if rows else ""

    def _numbered(self) -> Iterable[tuple[int, str]]:
        return enumerate(self._prompts, self._number - len(self._prompts) + 1)

    def _printed(self, pieces: Iterable[Piece], blobs: Mapping[str, str]) -> str:
        return "".join(self._piece(piece, blobs) + "\n" for piece in pieces)

    def _piece(self, piece: Any, blobs: Mapping[str, str]) -> str:
        if isinstance(piece, Person):
            self._number += 1
            self._prompts = [*self._prompts, piece.words or piece.speaker][-_MOST_PROMPTS:]
            return _person(piece, self._number)
        speaker = _SPEAKER if self._number else _SPEAKER - 1  # before any prompt, no heading stands above it
        if isinstance(piece, Agent):
            return _agent(piece, speaker)
        if isinstance(piece, Prose):
            return _markdown(piece.text, speaker)
        if isinstance(piece, Attachment):
            return _attachment(piece, blobs.get(piece.sha256, ""))
        return _PRINTERS[type(piece)](piece)


def text(value: str) -> str:
    """Return text for the inside of an element or an attribute."""
    return escape(clean(value))


def _person(person: Person, number: int) -> str:
    anchor = f'<a href="#m{number}">{text(person.speaker)}</a>'
    heading = f'<h2 class="speaker person" id="m{number}">{anchor}{_time(person.stamp)}</h2>'
    return heading + (f'\n<div class="typed">{text(person.words)}</div>' if person.whole else "")


def _agent(agent: Agent, level: int) -> str:
    model = f'<span class="model">{text(agent.model)}</span>' if agent.model else ""
    return f'<h{level} class="speaker">{text(agent.speaker)}{model}{_time(agent.stamp)}</h{level}>'


def _time(stamp: str) -> str:
    return f"<time>{text(stamp)}</time>" if stamp else ""


def _line(line: Line) -> str:
    names = {"code": "code", "note": "i", "text": "span"}
    return " ".join(f"<{names[span.kind]}>{text(span.text)}</{names[span.kind]}>" for span in line if span.text.strip())


def _tool(tool: Tool) -> str:
    came = f" – {_came(tool.outcome)}" if tool.outcome else ""  # noqa: RUF001 - a dash
    return f'<div class="tool"><b>{text(tool.name)}</b> {_line(tool.about)}{came}</div>'


def _came(line: Line) -> str:
    """Return what came of a call; a failure stands out."""
    return _marked(_line(line), line[0].text)


def _marked(shown: str, words: str) -> str:
    return f'<span class="failed">{shown}</span>' if words.startswith(_FAILED) else shown


def _fold(fold: Fold) -> str:
    notes = f" → {' · '.join(_marked(text(note), note) for note in fold.notes)}" if fold.notes else ""
    inner = "\n".join(_PRINTERS[type(part)](part) for part in fold.parts) or "<p>(no text)</p>"
    return _details(f"<b>{text(fold.name)}</b> {_line(fold.about)}{notes}", inner)


def _details(summary: str, inner: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n{inner}\n</details>"


def _question(question: Question) -> str:
    options = "".join(
        f"<li>{text(label)}{f': {text(about)}' if about else ''}</li>" for label, about in question.options
    )
    listed = f"\n<ul>{options}</ul>" if options else ""
    return f'<div class="question">{_markdown(question.text)}{listed}</div>'


def _answer(answer: Answer) -> str:
    question = f" ({text(answer.key)})" if answer.key else ""
    return f'<div class="typed"><b>You{question}:</b> {text(answer.text)}</div>'


def _attachment(attachment: Attachment, data: str) -> str:
    label = text(attachment.label)
    if data and attachment.media in PICTURES:
        return f'<p><img src="data:{attachment.media};base64,{escape(data)}" alt="{label}"></p>'
    return f'<p class="note">{label}</p>'


def _code(code: Code) -> str:
    return coloured_code(code.text, "" if code.language == "text" else code.language)


def coloured_code(words: str, language: str) -> str:
    """Return a block of code in the colours of its language, empty for none."""
    from katod.formats.messages import coloured  # noqa: PLC0415 - only HTML needs these libraries

    return f"<pre><code>{coloured(clean(words), language)}</code></pre>"


def _markdown(words: str, speaker: int = _SPEAKER) -> str:
    from katod.formats.messages import as_html  # noqa: PLC0415 - only HTML needs these libraries

    return as_html(words, speaker).rstrip("\n")


def _paragraph(name: str, words: str) -> str:
    return f'<p class="{name}">{text(words)}</p>'


_PRINTERS: Final[Mapping[type, Callable[[Any], str]]] = {
    MarkLine: lambda mark: _paragraph("mark", " ".join(part for part in mark if part)),
    Typed: lambda piece: f'<div class="typed">{text(piece.text)}</div>',
    Quoted: lambda piece: _details(text(piece.label), f"<pre>{text(piece.text)}</pre>"),
    Prose: lambda piece: _markdown(piece.text),
    Code: _code,
    Tool: _tool,
    Outcome: lambda piece: f'<div class="outcome">{_came(piece.line)}</div>',
    Fold: _fold,
    Thinking: lambda piece: _details("Thinking", f"<blockquote>{_markdown(piece.text)}</blockquote>"),
    Question: _question,
    Answer: _answer,
    Note: lambda piece: _paragraph("note", piece.text),
    Stamp: lambda piece: _paragraph("stamp", piece.stamp),
    Footer: lambda piece: _paragraph("footer", piece.text),
    Link: lambda piece: f'<div class="outcome">{text(piece.label)}: {text(piece.target)}</div>',
}

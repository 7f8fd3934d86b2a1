"""HTML: one file that can be read anywhere, without a network and without scripts."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from katod.events import Event
from katod.formats.redact.redactor import redact
from katod.formats.text.linkbase import base_of
from katod.formats.text.markup import NOTHING, Markup, escape, fill, join
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
    Head,
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
from katod.formats.transcript.pictures import PICTURES
from katod.formats.transcript.style import STYLE
from katod.metadata import SessionMetadata
from katod.model import Mark, Options
from katod.paths import name_of
from katod.text import clean

_FAILED: Final = ("failed", "exit ", "declined", "interrupted")  # how the outcome of such a call begins
_MOST_PROMPTS: Final = 2000
_SPEAKER: Final = 3  # the level of an agent's heading
_POLICY: Final = fill(
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
_HEAD: Final = (
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" '
    'content="no-referrer">\n{facts}<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n'
    '<h1>{title}</h1>\n<p class="about">{about}</p>\n'
)
# Once its source is open, the rendered prompt is hidden by the style sheet: no script is needed to switch.
_WRITTEN: Final = (
    '<div class="typed written"><details class="source"><summary>As typed</summary><div class="plain">{}</div>'
    "</details>\n"
    '<div class="shown">{}</div></div>'
)
_LINE_END: Final = fill("\n")
_BLANK: Final = fill(" ")
_DOT: Final = fill(" · ")
_SPANS: Final = {"code": fill("code"), "note": fill("i"), "text": fill("span")}  # elements by the kind of a span


class Html:
    """Prints the content of a conversation as a page; the list of prompts comes last, and is shown beside it."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._options = options
        self._transcript = Transcript(options, state)
        self._prompts: list[str] = state.get("prompts", [])
        self._number: int = state.get("number", 0)
        self._base: str = state.get("base", "")  # what relative links lead to

    def state(self) -> dict[str, Any]:
        """Return the transcript's state, the prompts so far, and the base of links."""
        row = {"prompts": self._prompts, "number": self._number, "base": self._base}
        return self._transcript.state() | {name: value for name, value in row.items() if value}

    def head(self, metadata: SessionMetadata, time: str) -> Markup:
        """Return the beginning of the page."""
        head = self._transcript.head(metadata, time)
        labels = " ".join([*(["★"] if head.is_starred else []), *(f"#{label}" for label in head.labels)])
        about = (escape(part) for part in (head.product, head.project, head.branch, head.when, labels) if part)
        return fill(
            _HEAD, policy=_POLICY, facts=_facts(head), title=escape(head.title), style=STYLE, about=join(about, _DOT)
        )

    def event(self, event: Event, metadata: SessionMetadata) -> Markup:
        """Return one event; pictures are in the page itself."""
        blobs = {digest: data for digest, _, data in event.blobs}
        if base := self._options.base:
            project = name_of(metadata.cwd)
            self._base = base_of(base, redact(project) if self._options.redact else project)
        return self._printed(self._transcript.event(event, metadata), blobs)

    def mark(self, mark: Mark) -> Markup:
        """Return a mark."""
        return self._printed(self._transcript.mark(mark), {})

    def pause(self) -> Markup:
        """Return the pending text."""
        return self._printed(self._transcript.pause(), {})

    def end(self) -> Markup:
        """Return the list of prompts, if there are several, and the end of the page."""
        prompts = self.prompts() if self._number > 1 else NOTHING  # a single one would only say the title again
        return fill("</main>\n{}</body>\n</html>\n", prompts)

    def prompts(self) -> Markup:
        """Return the list of prompts, empty if there are none."""
        rows = join(
            fill('<li><a href="#m{}">{}</a></li>\n', number, escape(words)) for number, words in self._numbered()
        )
        return fill("<nav>\n<b>Prompts</b>\n<ol>\n{}</ol>\n</nav>\n", rows) if rows else NOTHING

    def _numbered(self) -> Iterable[tuple[int, str]]:
        return enumerate(self._prompts, self._number - len(self._prompts) + 1)

    def _printed(self, pieces: Iterable[Piece], blobs: Mapping[str, str]) -> Markup:
        return join(part for piece in pieces for part in (self._piece(piece, blobs), _LINE_END))

    def _piece(self, piece: Any, blobs: Mapping[str, str]) -> Markup:
        if isinstance(piece, Person):
            self._number += 1
            self._prompts = [*self._prompts, piece.words or piece.speaker][-_MOST_PROMPTS:]
            return _person(piece, self._number, self._base)
        speaker = _SPEAKER if self._number else _SPEAKER - 1  # before any prompt, no heading stands above it
        if isinstance(piece, AgentHeading):
            return _agent(piece, speaker)
        if isinstance(piece, Prose):
            return _markdown(piece.text, self._base, speaker)
        if isinstance(piece, Attachment):
            return _attachment(piece, blobs.get(piece.sha256, ""))
        return _PRINTERS[type(piece)](piece, self._base)


def _facts(head: Head) -> Markup:
    """Return what the front matter of a transcript says, for programs: an index of pages is made of it."""
    rows = [
        ("generator", "katod"), ("date", head.when), ("agent", head.product), ("project", head.project),
        ("starred", "true" if head.is_starred else ""), *(("label", label) for label in head.labels),
    ]  # fmt: skip
    return join(fill('<meta name="{}" content="{}">\n', escape(name), escape(value)) for name, value in rows if value)


def _person(person: Person, number: int, base: str) -> Markup:
    heading = fill(
        '<h2 class="speaker person" id="m{0}"><a href="#m{0}">{1}</a>{2}</h2>',
        number, escape(person.speaker), _time(person.stamp),
    )  # fmt: skip
    return join((heading, _LINE_END, _typed(person.words, base))) if person.whole else heading


def _typed(words: str, base: str) -> Markup:
    """Return what a person typed; Markdown as it looks, with a switch to it as it was typed."""
    from katod.formats.transcript.messages import typed_as_html  # noqa: PLC0415 - only HTML needs these libraries

    shown = typed_as_html(words, _SPEAKER - 1, base)
    return fill(_WRITTEN, escape(words), shown) if shown else fill('<div class="typed">{}</div>', escape(words))


def _agent(agent: AgentHeading, level: int) -> Markup:
    model = fill('<span class="model">{}</span>', escape(agent.model)) if agent.model else NOTHING
    return fill('<h{0} class="speaker">{1}{2}{3}</h{0}>', level, escape(agent.speaker), model, _time(agent.stamp))


def _time(stamp: str) -> Markup:
    return fill("<time>{}</time>", escape(stamp)) if stamp else NOTHING


def _line(line: Line) -> Markup:
    spans = (fill("<{0}>{1}</{0}>", _SPANS[span.kind], escape(span.text)) for span in line if span.text.strip())
    return join(spans, _BLANK)


def _tool(tool: ToolLine, _: str) -> Markup:
    came = fill(" – {}", _came(tool.outcome)) if tool.outcome else NOTHING  # noqa: RUF001 - a dash
    return fill('<div class="tool"><b>{}</b> {}{}</div>', escape(tool.name), _line(tool.about), came)


def _came(line: Line) -> Markup:
    """Return the outcome of a call; a failure is highlighted."""
    return _marked(_line(line), line[0].text)


def _marked(shown: Markup, words: str) -> Markup:
    return fill('<span class="failed">{}</span>', shown) if words.startswith(_FAILED) else shown


def _fold(fold: Fold, base: str, kind: Markup = NOTHING) -> Markup:
    notes = join((_marked(escape(note), note) for note in fold.notes), _DOT)
    inner = join((_PRINTERS[type(part)](part, base) for part in fold.parts), _LINE_END) or fill("<p>(no text)</p>")
    came = fill(" → {}", notes) if fold.notes else NOTHING
    return _details(fill("<b>{}</b> {}{}", escape(fold.name), _line(fold.about), came), inner, kind)


def _details(summary: Markup, inner: Markup, kind: Markup = NOTHING) -> Markup:
    """Return content that is collapsed; `kind` has the attributes of the element."""
    return fill("<details{}>\n<summary>{}</summary>\n{}\n</details>", kind, summary, inner)


def _question(question: AskedQuestion, base: str) -> Markup:
    options = join(
        fill("<li>{}{}</li>", escape(label), fill(": {}", escape(about)) if about else NOTHING)
        for label, about in question.options
    )
    listed = fill("\n<ul>{}</ul>", options) if options else NOTHING
    return fill('<div class="question">{}{}</div>', _markdown(question.text, base), listed)


def _answer(answer: ChosenAnswer, _: str) -> Markup:
    question = fill(" ({})", escape(answer.key)) if answer.key else NOTHING
    return fill('<div class="typed"><b>You{}:</b> {}</div>', question, escape(answer.text))


def _attachment(attachment: Attachment, data: str) -> Markup:
    label = escape(attachment.label)
    if data and attachment.media in PICTURES:
        media = escape(attachment.media)
        return fill('<p><img src="data:{};base64,{}" alt="{}"></p>', media, escape(data), label)
    return fill('<p class="note">{}</p>', label)


def _code(code: Code, _: str) -> Markup:
    return coloured_code(code.text, "" if code.language == "text" else code.language)


def coloured_code(words: str, language: str) -> Markup:
    """Return a block of code in the colours of its language, empty for none."""
    from katod.formats.transcript.messages import coloured  # noqa: PLC0415 - only HTML needs these libraries

    return fill("<pre><code>{}</code></pre>", coloured(clean(words), language))


def _markdown(words: str, base: str, speaker: int = _SPEAKER) -> Markup:
    from katod.formats.transcript.messages import as_html  # noqa: PLC0415 - only HTML needs these libraries

    return as_html(words, speaker, base)


def _paragraph(name: Markup, words: str) -> Markup:
    return fill('<p class="{}">{}</p>', name, escape(words))


# How each piece is printed, given what relative links lead to.
_PRINTERS: Final[Mapping[type, Callable[[Any, str], Markup]]] = {
    MarkLine: lambda mark, _: _paragraph(fill("mark"), " ".join(part for part in mark if part)),
    TypedWords: lambda piece, base: _typed(piece.text, base),
    Quoted: lambda piece, _: _details(escape(piece.label), fill("<pre>{}</pre>", escape(piece.text))),
    Prose: lambda piece, base: _markdown(piece.text, base),
    Code: _code,
    ToolLine: _tool,
    Outcome: lambda piece, _: fill('<div class="outcome">{}</div>', _came(piece.line)),
    Fold: _fold,
    Delegation: lambda piece, base: _fold(piece, base, fill(' class="between"')),
    Thinking: lambda piece, base: _details(
        fill("Thinking"), fill("<blockquote>{}</blockquote>", _markdown(piece.text, base))
    ),
    AskedQuestion: _question,
    ChosenAnswer: _answer,
    Note: lambda piece, _: _paragraph(fill("note"), piece.text),
    PassedTime: lambda piece, _: _paragraph(fill("stamp"), piece.stamp),
    Footer: lambda piece, _: _paragraph(fill("footer"), piece.text),
    Link: lambda piece, _: fill('<div class="outcome">{}: {}</div>', escape(piece.label), escape(piece.target)),
}

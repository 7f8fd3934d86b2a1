"""Helpers for hostile fixtures: how a Markdown parser reads their transcripts, and what must not appear in them."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
from markdown_it import MarkdownIt
from markdown_it.token import Token

from katod.formats.text.ownlines import MARKS, SIGN
from tests.golden.cases import FIXTURES, FORMS, Case

HOSTILE: Final = FIXTURES / "hostile"
GOOD: Final = re.compile(r"GOOD-\d+")
SPEAKER: Final = re.compile(r"(?:You|Claude|Codex)(?: · .*)?")
OUTLINE: Final = ("h1", "h2", "h3")  # the title, typed messages, turns of the agent
# What katod says of its own, as a reader sees it.
_EM, _STRONG = "\ue000", "\ue001"
_ITALIC: Final = re.compile(
    rf"{_EM}(?:{'|'.join(MARKS.values())}|[0-9,]+ tools?(?![^\W_])|(?:[0-9-]{{10}} )?\d\d:\d\d{_EM})", re.IGNORECASE
)
_ANSWER: Final = re.compile(rf"{_STRONG}You(?: \(.*?\))?:")
_EMPHASIS: Final = {"em": _EM, "i": _EM, "strong": _STRONG, "b": _STRONG}
# Control characters except newline and tab; bidirectional overrides and isolates.
CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# HTML that runs, loads something, or changes how the rest of the page looks.
LIVE: Final = re.compile(
    r"<(?:script|iframe|frame|style|object|embed|svg|base|meta|link|form)\b|<[a-z][^<>&]*(?:\son\w+\s*=|=\s*[\"']?javascript:)",
    re.IGNORECASE,
)
MARKDOWN: Final = MarkdownIt("commonmark", {"html": True}).enable("table")


class Page(NamedTuple):
    """A transcript as a Markdown parser reads it."""

    headings: list[tuple[str, str]]  # tag and text of the Markdown headings
    html: list[str]  # every piece of live HTML
    words: str  # text of the paragraphs


def case(path: Path) -> Case:
    """Return a hostile file as a case; its name begins with its agent."""
    return Case(path.name.partition("-")[0], path.stem, (path,))


def hostile_cases() -> list[Case]:
    """Return every hostile fixture as a case."""
    return [case(path) for path in sorted(HOSTILE.glob("*.jsonl"))]


def good_ones(path: Path) -> list[str]:
    """Return the good messages of a file, in order and without duplicates."""
    found = GOOD.findall(path.read_bytes().decode("utf-8", "replace"))
    return list(dict.fromkeys(found))


def rows(data: bytes) -> list[dict[str, Any]]:
    """Return the events of a JSONL output; each line must be strict JSON."""
    return [orjson.loads(line) for line in data.split(b"\n") if line]


def said(events: list[dict[str, Any]]) -> list[str]:
    """Return the good messages that were recorded as messages, in order."""
    kinds = ("user.message", "assistant.message")
    texts = [row["payload"]["text"] for row in events if row["kind"] in kinds]
    return [name for text in texts for name in GOOD.findall(text)]


def render_all_forms(one: Case) -> dict[str, bytes]:
    """Return the three outputs of a case."""
    return {form: one.render(form) for form in FORMS}


def page(markdown: str) -> Page:
    """Parse a transcript without its front matter."""
    text = markdown.split("\n---\n", 1)[1] if markdown.startswith("---\n") else markdown
    tokens = MARKDOWN.parse(text)
    headings = [(token.tag, after.content) for token, after in pairwise(tokens) if token.type == "heading_open"]
    words = "\n".join(token.content for token in tokens if token.type == "inline")
    return Page(headings, _html(tokens), words)


def _html(tokens: list[Token]) -> list[str]:
    found = [token.content for token in tokens if token.type in ("html_block", "html_inline")]
    return found + [piece for token in tokens if token.children for piece in _html(token.children)]


def outline(markdown: str) -> list[tuple[str, str]]:
    """Return the headings of the conversation itself: tag and first word."""
    return [(tag, said.split()[0] if said else "") for tag, said in page(markdown).headings if tag in OUTLINE]


def own_forms(markdown: str) -> list[str]:
    """Return how a reader sees the parts that only katod prints, in order: marks, footers, times, answers, tools, folds."""
    tokens = MARKDOWN.parse(markdown.split("\n---\n", 1)[1] if markdown.startswith("---\n") else markdown)
    found: list[str] = []
    for before, token in pairwise(tokens):
        if token.type == "html_block":
            found += ["fold"] * token.content.count(f"<summary>{SIGN}")
        elif token.type == "inline":
            found += _forms(before, token)
    return found


def _forms(before: Token, token: Token) -> list[str]:
    lines = _seen(token)
    if before.level == 0 and before.type == "paragraph_open":
        return [form for line in lines if (form := form_of(line))]
    return ["tool" for line in lines if line.startswith(SIGN)]


def form_of(line: str) -> str:
    """Return what a line looks like, in which signs stand where emphasis begins or ends; empty for a line of words."""
    if _ANSWER.match(line):
        return "answer"
    return "mark" if _ITALIC.match(line) else "tool" if line.startswith(SIGN) else ""


def _seen(token: Token) -> list[str]:
    """Return the lines of a text as they are seen, with a sign where emphasis begins or ends, in Markdown or HTML."""
    shown = ""
    for part in token.children or ():
        if part.type in ("softbreak", "hardbreak"):
            shown += "\n"
        elif part.type.endswith(("_open", "_close")):
            shown += _EMPHASIS.get(part.tag, "")
        elif part.type == "html_inline":
            shown += (
                "\n" if part.content.lower().startswith("<br") else _EMPHASIS.get(part.content.strip("</>").lower(), "")
            )
        elif part.type == "code_inline":
            shown += f"`{part.content}`"
        else:
            shown += part.content
    return [" ".join(line.split()) for line in shown.split("\n")]

"""Reads a Markdown transcript back: what was said in it, and by whom."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_STAMP: Final = r"(?: · (?:\d{4}-\d\d-\d\d )?\d\d:\d\d)?"
_PERSON: Final = re.compile(rf"(## You{_STAMP})(?: · (.+))?")
_BETWEEN: Final = re.compile(r"<summary>▸ <b>([^<]+)</b> ·.*")
_AGENT: Final = re.compile(rf"### (\w[\w ]*?)(?: · [^·]+)??{_STAMP}")
_FIRST: Final = re.compile(r"^#{2,3} |^<summary>", re.MULTILINE)
_ESCAPED: Final = re.compile(r"\\(?=[^\w\s])")
_TOOL: Final = "- ▸ "
_FOLDED: Final = re.compile(
    r"<details>\n<summary>▸ (?:Pasted: )?[\d,]+ [^\n]*</summary>\n\n(`{3,})text\n(.*?)\n\1\n\n</details>", re.DOTALL
)
_OWN: Final = re.compile(r"\*[^*].*\*|- ▸ .*|  - .*|<details>|</details>|<summary>.*")


class Said(NamedTuple):
    """A line of the conversation and its speaker."""

    speaker: str
    words: str


def lines(text: str) -> list[str]:
    """Return the lines of a transcript, with the words of each heading as a line below it where they are all it says."""
    return [line for line, _ in _lines(text)]


def said(text: str) -> list[Said]:
    """Return the lines of the messages, and those of tools without a speaker; not what katod says of its own."""
    found, speaker = [], ""
    first = _FIRST.search(text)
    for line, is_message in _lines(_FOLDED.sub(r"\2", text[first.start() :])) if first else ():
        if person := _PERSON.fullmatch(line):
            speaker = person[1].split(" ")[1]
        elif agent := _AGENT.fullmatch(line) or _BETWEEN.fullmatch(line):
            speaker = agent[1]
        elif line.startswith(_TOOL):
            found.append(Said("", line.removeprefix(_TOOL)))
        elif line.strip() and (is_message or not _OWN.fullmatch(line)):
            found.append(Said(speaker, line.rstrip()))
    return found


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines, and whether each was a heading's words."""
    rows = text.splitlines()
    for at, line in enumerate(rows):
        person = _PERSON.fullmatch(line)
        words = _plain(person[2]) if person and person[2] else ""
        if person and words and not _is_repeated(words, _first_words(rows, at + 1)):
            yield person[1], False
            yield "", False
            yield words, True
        else:
            yield line.removesuffix("  "), False  # a typed line end


def _first_words(rows: list[str], at: int) -> str:
    """Return the next line that says something; lines of markup alone are not in a heading, nor are others' words.

    Nothing stands below a heading that the next one follows.
    """
    row, after = next(((row, n + 1) for n, row in enumerate(rows[at:], at) if any(map(str.isalnum, row))), ("", at))
    is_heading = _PERSON.fullmatch(row) or _AGENT.fullmatch(row)
    return "" if is_heading or _BETWEEN.fullmatch("".join(rows[after : after + 1])) else row


def _is_repeated(words: str, below: str) -> bool:
    """Return whether the text below a heading says its words again, or is all of a message that they begin."""
    if words.endswith("…") or below == "<details>":
        return True
    return not _OWN.fullmatch(below) and _letters(words) in _letters(below)


def _letters(text: str) -> str:
    return "".join(char for char in text if not char.isspace() and char not in "\\`*[]<>&;")


def _plain(words: str) -> str:
    return _ESCAPED.sub("", words).replace("&lt;", "<").replace("&amp;", "&")

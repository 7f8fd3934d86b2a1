"""A transcript in pages of bounded size: sections that are counted from its beginning. Pure.

A transcript only grows at its end, so the number of a section says for good where a page begins. What comes before it
is passed over, not kept: a page of a huge transcript takes no more memory than one of a small one.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from typing import Final, NamedTuple

from katod.formats.redact.redactor import redact
from katod.search.query import Query
from katod.search.sections import Section, place_in, sections_of
from katod.text import clean

MOST: Final = 20_000  # characters of a page; it may have a few more
_SECTION: Final = 12_000  # characters, and its last line
_LONGEST_HEADING: Final = 300  # characters
_TOGETHER: Final = 2_000_000  # characters of a message in which words are looked for at once
_LOOKED_AT: Final = 4_000  # sections in which words are looked for in one call: what takes some seconds


class Page(NamedTuple):
    """A part of a transcript; `under` is the heading of the message that it begins in the middle of, if it does so.

    Without text, the words that were looked for are not in the sections before the next one.
    """

    text: str
    begin: int
    next: int | None  # the section after it; None: this is the end
    under: str = ""


class _Numbered(NamedTuple):
    """A section, its number, and the heading of the message that it is in the middle of, or that is before it."""

    number: int
    section: Section
    heading: str


def page_of(pieces: Iterable[str], begin: int = 0, query: Query | None = None) -> Page | None:
    """Return the page from a section on, or from the first message after it that has all words; None if there is none.

    In a message, it begins where the words are, as far as one section says it.
    """
    taken, size, first, under = list[str](), 0, begin, ""
    rest = (one for one in _numbered(sections_of(pieces, _SECTION, is_recording=True)) if one.number >= begin)
    for number, section, heading in rest if query is None else _found(rest, begin, query):
        if not section.shown:
            return Page("", begin, number)
        text = shown(section.shown)
        if not taken:
            first, under = number, "" if section.is_heading else heading
        elif size + len(text) > MOST:
            return Page("".join(taken), first, number, under)
        taken.append(text)
        size += len(text)
    return Page("".join(taken), first, None, under) if taken else None


def _numbered(sections: Iterable[Section]) -> Iterator[_Numbered]:
    heading = ""
    for number, section in enumerate(sections):
        yield _Numbered(number, section, heading)
        if section.is_heading:
            heading = shown(section.shown.partition("\n")[0][:_LONGEST_HEADING])


def _found(rest: Iterable[_Numbered], begin: int, query: Query) -> Iterator[_Numbered]:
    """Yield the sections from where a message has all words; an empty one if that is not so far enough to stop."""
    messages = _messages(rest)
    for message in messages:
        first = message[0]
        if first.number >= begin + _LOOKED_AT:
            yield first._replace(section=Section("", ""))
            return
        # Also without its secrets: no question tells whether one is there.
        place = place_in([one.section for one in message], query, redact)
        if place is not None:
            yield from message[place:]
            yield from chain.from_iterable(messages)


def _messages(rest: Iterable[_Numbered]) -> Iterator[list[_Numbered]]:
    """Yield the sections of each message; of a huge one, several lists."""
    message, size = list[_Numbered](), 0
    for one in rest:
        if message and (one.section.is_heading or size > _TOGETHER):
            yield message
            message, size = [], 0
        message.append(one)
        size += len(one.section.written)
    if message:
        yield message


def shown(text: str) -> str:
    """Return text as others may see it: without secrets, and without what is no character or affects a terminal."""
    return redact(clean(text.encode("utf-8", "replace").decode()))


def quoted(text: str) -> str:
    """Return text between two lines that say where it begins and ends, which nothing in it can imitate."""
    mark = sha256(text.encode()).hexdigest()[:16]
    return f"<quoted-transcript-{mark}>\n{text.rstrip(chr(10))}\n</quoted-transcript-{mark}>"


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1]}…"

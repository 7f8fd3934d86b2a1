"""A transcript in pages of bounded size: sections that are counted from its beginning. Pure.

A transcript only grows at its end, so the number of a section says for good where a page begins. What comes before it
is passed over, not kept: a page of a huge transcript takes no more memory than one of a small one.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from katod.formats.redact.redactor import redact
from katod.search.query import Query
from katod.search.sections import sections_of
from katod.search.transcripts import plain
from katod.text import clean

MOST: Final = 20_000  # characters of a page; it may have a few more
_SECTION: Final = 12_000  # characters, and its last line
_SPEAKERS: Final = ("## ", "### ")
_LONGEST_HEADING: Final = 300  # characters
_LOOKED_AT: Final = 4_000  # sections in which words are looked for at once: what takes some seconds


class Page(NamedTuple):
    """A part of a transcript; `under` is the heading of the message that it begins in the middle of, if it does so.

    Without text, the words that were looked for are not in the sections before the next one.
    """

    text: str
    begin: int
    next: int | None  # the section after it; None: this is the end
    under: str = ""


def page_of(pieces: Iterable[str], begin: int = 0, query: Query | None = None) -> Page | None:
    """Return the page from a section on, or from the first one after it that has all words; None if there is none."""
    taken, size, first, under = list[str](), 0, begin, ""
    for number, section, heading in _from(sections_of(pieces, _SECTION), begin, query):
        if not section:
            return Page("", begin, number)
        text = shown(section)
        if not taken:
            first, under = number, "" if section.startswith(_SPEAKERS) else heading
        elif size + len(text) > MOST:
            return Page("".join(taken), first, number, under)
        taken.append(text)
        size += len(text)
    return Page("".join(taken), first, None, under) if taken else None


def _from(sections: Iterable[str], begin: int, query: Query | None) -> Iterator[tuple[int, str, str]]:
    """Yield the sections of a page and those after it, each with its number and the heading of the one before it.

    An empty one says that the words were not found so far.
    """
    heading, is_reached = "", False
    for number, section in enumerate(sections):
        if not is_reached and number >= begin + _LOOKED_AT:
            yield number, "", heading
            return
        is_reached = is_reached or (number >= begin and (query is None or _has(section, query)))
        if is_reached:
            yield number, section, heading
        if section.startswith(_SPEAKERS):
            heading = shown(section.partition("\n")[0][:_LONGEST_HEADING])


def _has(section: str, query: Query) -> bool:
    """Return whether a section has all words, also without its secrets: no question tells whether one is there."""
    if not query.may_be_in_text(section):
        return False
    return any(query.matches(form(redact(section))) for form in (plain, str))


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

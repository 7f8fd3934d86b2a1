"""A quick search for what a text may contain, with a native engine if it is installed.

The engine is RE2 (the extra `fast`), whose time does not depend on what the text is. Most texts contain nothing that a
rule would look at; only the others are given to the rules, and only to those that were found. Without the library every
text is given to all rules, with the same result.

The search never misses: what it searches for is in every text that a rule changes, and in every line of JSON with such
a text as a string. Its patterns are made of parts of the rules' own patterns, without conditions on what is around.
"""

import re
from collections.abc import Collection
from functools import cache
from typing import Any, Final, NamedTuple

from katod.formats.redact.forms import FORMS
from katod.formats.redact.names import (
    BLANK,
    KEYS,
    PASSWORDS,
    PREFIX,
    QUOTE,
    REST,
    SCHEMES,
    SIGN,
    SPACE,
    SUFFIX,
    VARIABLE,
    VENDORS,
    WORDS,
)
from katod.formats.redact.rules import RULES, any_of
from katod.formats.redact.values import STRONG

try:
    import re2
except ImportError:
    re2 = None

_SHORTEST: Final = 7  # ://:x@y
_SHORTEST_APART: Final = 47  # twelve words of three letters
_LITTLE: Final = 3 << 20
_memory = 24 << 20  # bytes; when they are full, an engine forgets its states and builds them again
_SOME: Final = r"[^\s\"'`\\]"
# What no word has: see `is_secret`.
_RANDOM: Final = rf"(?:(?:{_SOME}*[A-Z]){{4}}|{_SOME}*[0-9\x80-\xff])"
_OPEN: Final = rf"{PREFIX}(?:{QUOTE})?"
# Invisible characters in UTF-8 and as JSON escapes: controls, directions, no width.
_HIDDEN: Final = (
    r"[\x00-\x08\x0b-\x1f\x7f]|\\u00|\\[bfr]|\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa9]"
    r"|\xef\xbb\xbf"
)


_APART: Final = tuple(number for number, form in enumerate(FORMS) if form.apart)
_TOGETHER: Final = tuple(number for number, form in enumerate(FORMS) if not form.apart)


class Hits(NamedTuple):
    """What a text may contain: rules (by number), names and forms to look for, vendors' names, invisible characters."""

    rules: Collection[int]
    names: Collection[str]
    forms: Collection[int]
    vendor: bool
    hidden: bool


ANYTHING: Final = Hits(range(len(RULES)), tuple(WORDS), range(len(FORMS)), vendor=True, hidden=True)
NOTHING: Final = Hits((), (), (), vendor=False, hidden=False)


def search(text: bytes) -> Hits:
    """Return what this UTF-8 text, or any string of this line of JSON, may contain; all if there is no engine."""
    if not (engines := _engines()):
        return ANYTHING
    if len(text) < _SHORTEST:
        return NOTHING
    *most, counting = engines
    found = [engine.Match(text) or () for engine in most]
    found.append((counting.Match(text) or ()) if len(text) >= _SHORTEST_APART else ())
    return _hits(*found) if any(found) else NOTHING


def _hits(rules: Collection[int], names: Collection[int], together: Collection[int], apart: Collection[int]) -> Hits:
    forms = [*map(_TOGETHER.__getitem__, together), *map(_APART.__getitem__, apart)]
    words = [word for number, word in enumerate(WORDS, 2) if number in names]
    return Hits(rules, words, forms, vendor=0 in names, hidden=1 in names)


def keep_small() -> None:
    """Have the engines take about 9 MB instead of 25, and up to three times as long, from now on in this process."""
    global _memory  # noqa: PLW0603 - set once, when a server starts
    _memory = _LITTLE
    _engines.cache_clear()


@cache
def _engines() -> tuple[Any, ...]:
    """Return what searches for shapes, names, forms, and forms apart: one engine for all would have far more states."""
    if re2 is None:
        return ()
    names = (_loosened(_vendors()), _HIDDEN, *map(_named, WORDS))
    together = (_loosened(FORMS[number].marker) for number in _TOGETHER)
    apart = (FORMS[number].marker for number in _APART)
    return tuple(_engine(*patterns) for patterns in ((rule.marker for rule in RULES), names, together, apart))


def _engine(*patterns: str) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # that is, bytes
    options.max_mem = _memory
    engine = re2.Set.SearchSet(options)
    for pattern in patterns:
        engine.Add(pattern.encode())
    engine.Compile()
    return engine


def _loosened(pattern: str) -> str:
    """Return a pattern that matches wherever the given one does, in text and in text within JSON."""
    pattern = pattern.replace(SPACE, r"(?:[\s\x0b]|\\+[nrt])").replace(BLANK, r"(?:[ \t]|\\+t)")
    return re.sub(r"\{(\d+),\d+\}\??", r"{\1,}", pattern.replace(r"\\{0,3}", r"\\*").replace(r"[^\s\\]", r"[^\s]"))


def _named(word: str) -> str:
    """Return a pattern of a name with this word, and the value after it."""
    name = f"(?i:(?:[?&]|(?:{'|'.join(KEYS.split())})[ ._-]*)key{REST})" if word == "key" else f"(?i:{word}{REST})"
    value = f"{_OPEN}(?:{_SOME}{{12}}|{_SOME}*[0-9{STRONG}])" if word in PASSWORDS else f"{_OPEN}{_RANDOM}"
    patterns = [
        f"{name}(?i:{SIGN}){value}",
        f"(?:-[\\w-]*|{VARIABLE}){name}{BLANK}+{value}",
        rf"<[\w:.-]*{name}(?:{BLANK}[^<>]*)?>[^\s<>]{{4}}",
    ]
    if word in PASSWORDS:  # a plain word
        patterns += [
            f"{name}={_OPEN}{_SOME}{{5}}",
            f"-[\\w-]*{name}{BLANK}+{_OPEN}{_SOME}{{5}}",
            f"{VARIABLE}{name}{BLANK}+{_OPEN}{_SOME}{{5}}",
        ]
    if word == "bearer":
        patterns += [f"{name}{BLANK}+{value}"]
    if word == "auth":
        patterns += [f"(?i:authorization{SIGN}{_OPEN}(?:{SCHEMES})){BLANK}+[\\w.~+/=:|-]{{8}}"]
    return _loosened("|".join(patterns))


def _vendors() -> str:
    return f"(?i:{any_of(VENDORS.split())}{SUFFIX}{SIGN}){_OPEN}{_RANDOM}"

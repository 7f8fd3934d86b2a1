"""Finds the secrets in a text and replaces them: what `redactor` promises. Loading the rules takes a while.

A quick search says first what a text may contain, with a native engine if it is installed: RE2 (the extra `fast`),
whose time does not depend on what the text is. Most texts contain nothing that a rule would look at; only the others
are given to the rules, and only to those that were found. Without the library every text is given to all rules, with
the same result.

The search never misses: what it searches for is in every text that a rule changes, and in every line of JSON with such
a text as a string. Its patterns are made of parts of the rules' own patterns, without conditions on what is around.
"""

import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from katod.formats.redact.forms import FORMS, formed_secrets
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
    Span,
    named_secrets,
    vendor_secrets,
)
from katod.formats.redact.rules import RULES, Rule, any_of
from katod.formats.redact.values import STRONG
from katod.text import clean

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
# Invisible characters: controls (except newline and tab), direction marks, characters of no width.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_VEIL: Final = b"\0"  # a control character in the translated text
_RUN: Final = b"a" * 20
_BEFORE: Final = 40  # characters in front of a run that may belong to the secret
_CLASSES: Final = re.sub(
    rb"[^a\0]", b" ", re.sub(rb"[\x00-\x08\x0b-\x1f\x7f]", _VEIL, re.sub(rb"[\w-]", b"a", bytes(range(256))))
)
_BROKEN: Final = frozenset(number for number, rule in enumerate(RULES) if rule.broken)
_NEEDLES: Final = re.compile(f"(?=({any_of(needle for rule in RULES if not rule.broken for needle in rule.needles)}))")


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


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def redact(text: str) -> str:
    """Return the text with every secret that a rule matches replaced; the same object if there is none.

    Colours, control characters and characters of no width may be inside a secret but vanish on display. If a secret is
    found only without them, the text is returned without them.
    """
    hits = search(text.encode("utf-8", "surrogatepass"))
    while hits is not NOTHING and (done := _once(text, hits)) is not text:
        text, hits = done, search(done.encode("utf-8", "surrogatepass"))  # a replacement may uncover a match
    return text


def may_contain_secret(line: bytes) -> bool:
    """Return False if redaction would change no string of this line of JSON; True does not say that it will."""
    return search(line) is not NOTHING


def _once(text: str, hits: Hits) -> str:
    """Apply the rules that were found, each once."""
    shaped = _shaped(text, hits.rules) if hits.rules else text
    done = _spanned(shaped, hits if shaped is text else ANYTHING)
    return _unveiled(text, done) if hits.hidden and _is_veiled(text) else done


def _shaped(text: str, numbers: Collection[int]) -> str:
    """Apply the rules of these numbers, and after a change all rules whose matches it may have uncovered."""
    given, long_runs = text, _long_runs(text)
    for number in sorted(_BROKEN.union(numbers if len(numbers) < len(RULES) else _needed(long_runs))):
        rule = RULES[number]
        if (number in numbers or text is not given) and _is_present(rule, text, long_runs):
            text = _replace(rule, text)
    return text


def _is_present(rule: Rule, text: str, long_runs: str) -> bool:
    if rule.broken:
        return any(needle in text for needle in rule.needles)
    return _compiled(rule.marker).search(long_runs) is not None


def _needed(long_runs: str) -> set[int]:
    """Return the numbers of the rules whose needles are in the runs."""
    return {number for needle in {"", *_NEEDLES.findall(long_runs)} for number in _rules_of(needle)}


@lru_cache(maxsize=512)
def _rules_of(needle: str) -> tuple[int, ...]:
    """Return which rules need this, or a beginning of it; of two needles that start alike, the longer one is found."""
    return tuple(
        number
        for number, rule in enumerate(RULES)
        if not rule.broken and (needle.startswith(rule.needles) if rule.needles else not needle)
    )


def _spanned(text: str, hits: Hits) -> str:
    """Replace the values after names and in commands, each once."""
    end, parts = 0, [""]
    for start, stop, name in sorted(_spans(text, hits), key=lambda span: (span[0], -span[1])):
        if start >= end:
            parts += text[end:start], f"[REDACTED:{name}]"
            end = stop
    return "".join((*parts, text[end:])) if end else text


def _spans(text: str, hits: Hits) -> Iterator[Span]:
    if hits.names or hits.vendor:
        plain = _plain(text)
        low = plain.lower()
        yield from named_secrets(text, low, hits.names)
        yield from vendor_secrets(text, low, _classes(plain)) if hits.vendor else ()
    yield from formed_secrets(text, hits.forms)


def _is_veiled(text: str) -> bool:
    return _UNSEEN.search(text) is not None if not text.isascii() else _VEIL in _classes(_plain(text))


def _unveiled(text: str, done: str) -> str:
    """Return a redacted text, or its visible characters if the rules find more in those."""
    seen = _UNSEEN.sub("", clean(text))
    hits = NOTHING if seen == text else search(seen.encode("utf-8", "surrogatepass"))
    if hits is NOTHING or (shown := _once(seen, hits)) is seen or shown == _UNSEEN.sub("", clean(done)):
        return done
    return shown


def _plain(text: str) -> bytes:
    """Return one byte per character: positions are the same in both, and bytes are quick to map."""
    return text.encode("ascii", "replace")


def _classes(plain: bytes) -> bytes:
    return plain.translate(_CLASSES)


def _replace(rule: Rule, text: str) -> str:
    pattern = _compiled(rule.pattern)
    lead = r"\1" if pattern.groups else ""
    done, count = pattern.subn(f"{lead}[REDACTED:{rule.name}]", text)
    return done if count else text


def _long_runs(text: str) -> str:
    """Join the runs that may contain a secret, each with preceding characters for markers such as `SG.`."""
    runs = _classes(_plain(text))
    found, find = set(), runs.find
    start = find(_RUN)
    while start >= 0:
        end = find(b" ", start)
        if end < 0:
            end = len(runs)
        found.add(text[start - _BEFORE if start > _BEFORE else 0 : end])
        start = find(_RUN, end)
    return " ".join(found)

"""Finds the secrets in a text and replaces them: what `redactor` promises. Loading the rules takes a while."""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final

from katod.formats.redact.filter import ANYTHING, NOTHING, Hits, search
from katod.formats.redact.forms import formed_secrets
from katod.formats.redact.names import Span, named_secrets, vendor_secrets
from katod.formats.redact.rules import RULES, Rule, any_of
from katod.formats.text.controls import clean

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

"""Removes secrets from text before it is written.

Promised: the same text gives the same result, a second redaction changes nothing, time grows with the length of the
text and not with its shape, nothing raises, and a replacement names the rule that matched and keeps no trace of the
secret: `[REDACTED:github-token]`.

Best effort: a secret without a known shape, command, header, URL or telling name in front of it is not found, nor is
one that is split, encoded or spelled out. Some harmless text that looks like a secret is redacted.

What is known of secrets is in `rules` (shapes), `names` (names) and `forms` (commands and files; what takes more than a
pattern is in `keybody`, `mnemonic` and `settings`). `values` judges what was found.
It is fast because most texts contain none, and `filter` finds that out with a native engine. Without one, most
rules are tried only if their marker is in a run of 20 characters out of [A-Za-z0-9_-], which few texts have.
"""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, Final

from katod.formats.redact.filter import ANYTHING, NOTHING, Hits, search
from katod.formats.redact.forms import formed_secrets
from katod.formats.redact.names import Span, named_secrets, vendor_secrets
from katod.formats.redact.rules import RULES, Rule, any_of
from katod.formats.text.controls import clean

# The beginning of every replacement.
REDACTED: Final = "[REDACTED:"

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


def redact_json(value: Any) -> Any:
    """Redact every string of a JSON value, and every key; a value without secrets is returned as the same object.

    Nothing is changed in place: only the containers on the way to a secret are copied. A string under a telling key is
    judged as if the key preceded it in text. Works at any depth.
    """
    root = [value]
    nodes: list[tuple[Any, int, Any]] = [(root, 0, 0)]  # a container, the number of its parent, its key there
    copies: dict[int, Any] = {0: root}
    for number, (held, _, _) in enumerate(nodes):  # grows during the iteration
        for key, item in held.items() if isinstance(held, dict) else enumerate(held):
            if isinstance(item, (dict, list)):
                nodes.append((item, number, key))
            elif isinstance(item, str) and (done := _redact_under(key, item)) is not item:
                _copy_of(number, nodes, copies)[key] = done
    _redact_keys(nodes, copies)
    return root[0]


def _redact_keys(nodes: list[tuple[Any, int, Any]], copies: dict[int, Any]) -> None:
    for number in reversed(range(1, len(nodes))):  # what is inside of a container comes after it
        held, parent, key = nodes[number]
        if isinstance(held, dict) and any(_redacted_key(name) != name for name in held):
            _copy_of(number, nodes, copies)
            copies[number] = copies[parent][key] = _with_keys(copies[number])


def _with_keys(held: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its keys redacted; two that became equal get different endings."""
    done: dict[str, Any] = {}
    for key, value in held.items():
        name = _redacted_key(key)
        while name in done:
            name += "_"
        done[name] = value
    return done


def _copy_of(number: int, nodes: list[tuple[Any, int, Any]], copies: dict[int, Any]) -> Any:
    """Return the copy of a container; missing copies from the root down to it are made and linked."""
    missing = []
    while number not in copies:
        missing.append(number)
        _, number, _ = nodes[number]
    for number in reversed(missing):
        held, parent, key = nodes[number]
        copies[parent][key] = copies[number] = held.copy()
    return copies[number]


def _redact_under(key: object, text: str) -> str:
    text = redact(text)
    if isinstance(key, str) and _is_judged(key[-100:]):
        lead = f'"{key}": "'
        done = redact(f'{lead}{text}"')
        if done.startswith(lead) and done[len(lead) : -1] != text:
            return done[len(lead) : -1]
    return text


@lru_cache(maxsize=4096)
def _redacted_key(key: str) -> str:
    return redact(key)


@lru_cache(maxsize=4096)
def _is_judged(key: str) -> bool:
    """Return whether values after this name are judged, by trying one that certainly is a secret."""
    return redact(f"{key}=v9Xq2Lr7Tz4Kw8Pm").endswith("=[REDACTED:secret]")

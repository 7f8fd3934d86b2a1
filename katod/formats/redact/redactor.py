"""Removes secrets from text before it is written.

Promised: the same text gives the same result, a second redaction changes nothing, time grows with the length of the
text and not with its shape, nothing raises, and a replacement names the rule that matched and keeps no trace of the
secret: `[REDACTED:github-token]`.

Best effort: a secret without a known shape, command, header, URL or telling name in front of it is not found, nor is
one that is split, encoded or spelled out. Some harmless text that looks like a secret is redacted.

What is known of secrets is in `rules` (shapes), `names` (names) and `forms` (commands and files; what takes more than a
pattern is in `keybody`, `mnemonic` and `settings`). `values` judges what was found.
It is fast because most texts contain none, and `engine` finds that out with a native search. Without one, most
rules are tried only if their marker is in a run of 20 characters out of [A-Za-z0-9_-], which few texts have.
"""

from collections.abc import Generator
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, Final

# The beginning of every replacement.
REDACTED: Final = "[REDACTED:"
_STEP: Final = 64  # containers of JSON


def load_rules() -> None:
    """Load the rules now instead of with the first text."""
    _engine()


@cache
def _engine() -> ModuleType:
    from katod.formats.redact import engine  # noqa: PLC0415 - its rules take long to load, and many commands print none

    return engine


def redact(text: str) -> str:
    """Return the text with every secret that a rule matches replaced; the same object if there is none.

    Colours, control characters and characters of no width may be inside a secret but vanish on display. If a secret is
    found only without them, the text is returned without them.
    """
    done: str = _engine().redact(text)
    return done


def may_contain_secret(line: bytes) -> bool:
    """Return False if redaction would change no string of this line of JSON; True does not say that it will."""
    found: bool = _engine().may_contain_secret(line)
    return found


def redact_json(value: Any) -> Any:
    """Redact every string of a JSON value, and every key; a value without secrets is returned as the same object.

    Nothing is changed in place: only the containers on the way to a secret are copied. A string under a telling key is
    judged as if the key preceded it in text. Works at any depth.
    """
    return finished(redact_json_in_steps(value))


def finished(steps: Generator[None, None, Any]) -> Any:
    """Return what a generator returns that works in steps, after all of them."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def redact_json_in_steps(value: Any) -> Generator[None, None, Any]:
    """Return (as a generator does) what `redact_json` returns, in steps of a few containers."""
    root = [value]
    nodes: list[tuple[Any, int, Any]] = [(root, 0, 0)]  # a container, the number of its parent, its key there
    copies: dict[int, Any] = {0: root}
    for number, (held, _, _) in enumerate(nodes):  # grows during the iteration
        for key, item in held.items() if isinstance(held, dict) else enumerate(held):
            if isinstance(item, (dict, list)):
                nodes.append((item, number, key))
            elif isinstance(item, str) and (done := _redact_under(key, item)) is not item:
                _copy_of(number, nodes, copies)[key] = done
        if not (number + 1) % _STEP:
            yield
    yield from _redact_keys(nodes, copies)
    return root[0]


def _redact_keys(nodes: list[tuple[Any, int, Any]], copies: dict[int, Any]) -> Generator[None, None, None]:
    for number in reversed(range(1, len(nodes))):  # what is inside of a container comes after it
        held, parent, key = nodes[number]
        if isinstance(held, dict) and any(_redacted_key(name) != name for name in held):
            _copy_of(number, nodes, copies)
            copies[number] = copies[parent][key] = _with_keys(copies[number])
        if not number % _STEP:
            yield


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

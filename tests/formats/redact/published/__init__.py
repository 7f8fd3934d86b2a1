"""Secrets and harmless look-alikes, made from what vendors and manuals publish, without a look at katod's rules."""

import functools
import re
from collections.abc import Iterator

from tests.formats.redact.published import bare, harmless, named, terminal
from tests.formats.redact.published.makers import Case, Maker, case

_SEED = 20260301


@functools.cache
def cases() -> tuple[Case, ...]:
    """Return all cases, which are the same in each run."""
    return (*_bare(Maker(_SEED)), *_named(Maker(_SEED + 1)), *_terminal(Maker(_SEED + 2)), *_harmless())


def _bare(maker: Maker) -> Iterator[Case]:
    for number, row in enumerate(bare.TOKENS):
        kind, template = _split(row)
        for turn in range(2):
            places = _places(kind, template)
            marked = maker.fill(template)
            marked = marked if "«" in marked else f"«{marked}»"
            yield case("bare", kind, places[(2 * number + turn) % len(places)].replace("@", marked))


def _places(kind: str, template: str) -> tuple[str, ...]:
    if kind.startswith("mnemonic"):
        return bare.SENTENCES
    return bare.BLOCKS if "{pem}" in template else bare.PLACES


def _named(maker: Maker) -> Iterator[Case]:
    for number, row in enumerate(named.VALUES):
        kind, name, template = row.split("|")
        for turn in range(3):
            place = named.PLACES[(3 * number + turn) % len(named.PLACES)]
            yield case("named", kind, _with_name(place, name).replace("@", f"«{maker.fill(template)}»"))


def _with_name(place: str, name: str) -> str:
    parts = name.lower().split("_")
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    forms = {"%N": name, "%n": name.lower(), "%c": camel, "%k": "-".join(parts)}
    return re.sub("%[Nnck]", lambda found: forms[found[0]], place)


def _terminal(maker: Maker) -> Iterator[Case]:
    for row in terminal.COMMANDS:
        kind, template = _split(row)
        for _ in range(2):
            yield case("terminal", kind, maker.fill(template))


def _harmless() -> Iterator[Case]:
    maker = Maker(_SEED + 3)
    for row in harmless.TEXTS:
        kind, template = _split(row)
        yield case("harmless", kind, maker.fill(template))
        if "{" in template:
            yield case("harmless", kind, f"$ {maker.fill(template)}\nok")


def _split(row: str) -> tuple[str, str]:
    kind, template = re.split(r"(?<!\\)\|", row, maxsplit=1)
    return kind, template.replace(r"\n", "\n").replace(r"\t", "\t").replace(r"\|", "|")

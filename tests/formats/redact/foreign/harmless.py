"""Harmless texts that look like secrets."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from .slots import expand
from .structured import certificate, public_pem
from .tables import sections

# Not secret, though a careful reader may want them hidden: they are counted apart.
APART = ("public by design", "documented sample")


class Text(NamedTuple):
    """A text that has to stay as it is, and what it looks like or is."""

    kind: str
    text: str


def harmless(seed: int = 1) -> Iterator[Text]:
    """Yield texts of every kind; those that are generated follow from the seed."""
    for kind, lines in sections("harmless.txt").items():
        yield from (Text(kind, line) for line in lines)
    for kind, templates in sections("lookalikes.txt").items():
        rng = random.Random(f"{seed} {kind}")
        for template in templates:
            yield from (Text(kind, text) for text in dict.fromkeys(expand(template, rng) for _ in range(2)))
    rng = random.Random(f"{seed} public")
    for text in (public_pem(rng), certificate(rng), "ssl_cert: |\n" + certificate(rng)):
        yield Text("public key", text)

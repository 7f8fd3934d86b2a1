"""What the user says of a session, as it is kept: cleaned, redacted and cut. Pure."""

import re
from typing import Final
from unicodedata import category, normalize

from katod.formats.redact.redactor import redact
from katod.metadata import cut_at_word
from katod.model import PersonalWord
from katod.store.rows import PersonalRow
from katod.text import clean

LONGEST_NAME: Final = 200  # characters
LONGEST_LABEL: Final = 40
MOST_LABELS: Final = 20
_SIGNS: Final = "/+#.-_"
_DASHES: Final = re.compile(r"-{2,}")


def labels_in(words: str) -> tuple[str, ...]:
    """Return the labels in typed words, each once: in lower case, of letters, their marks, digits and `/ + # . - _`.

    Of a label, it returns that same label.
    """
    return tuple(dict.fromkeys(filter(None, map(_label, redact(words).split()))))


def _label(word: str) -> str:
    folded = normalize("NFC", normalize("NFC", clean(word)).casefold())
    kept = "".join(char if category(char)[0] in "LMN" or char in _SIGNS else "-" for char in folded)
    return _DASHES.sub("-", kept).lstrip("#-./")[:LONGEST_LABEL].rstrip("-./")


def said_of(row: PersonalRow, word: PersonalWord, words: str) -> PersonalRow:
    """Return what is said of a session after a request, whose words are those that were typed."""
    match word:
        case "rename":
            return row._replace(title=cut_at_word(" ".join(clean(redact(words)).split()), LONGEST_NAME))
        case "star" | "unstar":
            return row._replace(starred=word == "star")
        case "label":
            return row._replace(labels=tuple(dict.fromkeys((*row.labels, *labels_in(words))))[:MOST_LABELS])
        case "unlabel":
            gone = {*labels_in(words), *words.split()}
            return row._replace(labels=tuple(label for label in row.labels if label not in gone))

"""What a file begins with that katod wrote: it is to hold for the files of all versions. Pure."""

import re
from typing import Final

_HEADS: Final = {
    "markdown": re.compile(rb"---\n(?:[a-z]+: [^\n]*\n)*tags: \[katod, "),
    "jsonl": re.compile(rb'\{"schema":"katod\.event/'),
    "html": re.compile(
        rb'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        rb'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    ),
}


def is_printed(form: str, head: bytes) -> bool:
    """Return whether a file of a format begins as katod writes it, given its first bytes."""
    return _HEADS[form].match(head) is not None

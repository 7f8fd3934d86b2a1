"""Words of commands that katod prints to be pasted into a shell. Pure."""

import re
from shlex import quote
from typing import Final

_APART: Final = re.compile(r"['\\]")  # what would end the word, or begin another spelling in it


def pasted(word: str) -> str:
    """Return a word as a shell takes it, in printable characters alone, so that cleaning leaves it as it is.

    Anything else is spelt `$'…'`, without a quote inside: a shell that does not know that form takes it for one word,
    too.
    """
    if word.isprintable():
        return quote(word)
    return f"$'{''.join(one if one.isprintable() and not _APART.match(one) else _octal(one) for one in word)}'"


def pasted_with_home(word: str, home: str) -> str:
    """Return a word as a shell takes it, with `~` for the home directory."""
    if word == home:
        return "~"
    return f"~/{pasted(word[len(home) + 1 :])}" if word.startswith(f"{home}/") else pasted(word)


def _octal(char: str) -> str:
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", errors))

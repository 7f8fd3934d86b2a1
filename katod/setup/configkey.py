"""Sets one key of katod's configuration in the text of its file, and leaves all else in it as it is. Pure."""

import re
from typing import Final

_HEADER: Final = re.compile(r"[ \t]*\[")


def with_key(text: str, table: str, key: str, value: str) -> str:
    """Return the text with a key of a table set: in its own line, or in a new one below the table's header."""
    lines = text.splitlines(keepends=True)
    begin = next(
        (at for at, line in enumerate(lines) if re.match(rf"\ufeff?[ \t]*\[[ \t]*{table}[ \t]*\]", line)), None
    )
    if begin is None:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}[{table}]\n{key} = {value}\n"
    end = next((at for at in range(begin + 1, len(lines)) if _HEADER.match(lines[at])), len(lines))
    own = next((at for at in range(begin + 1, end) if re.match(rf"[ \t]*{key}[ \t]*=", lines[at])), None)
    if own is not None:
        lines[own] = f"{key} = {value}\n"
    else:
        lines[begin] = lines[begin].rstrip("\n") + "\n"
        lines.insert(begin + 1, f"{key} = {value}\n")
    return "".join(lines)

"""The lines in an agent's instructions that explain what command lines are. Pure.

What is added says by itself how it was added, so that it can be taken out exactly, whatever else changed since.
"""

import re
from typing import Final

LINES: Final = """\
Lines in user messages that start with `::start`, `::stop`, `::capture`, `::export` or `::keep`
are for another program. Ignore these lines; answer the rest of the message as if they were not there.
"""
_BEGIN: Final = "<!-- katod setup: begin -->\n"
_BEGIN_NEW: Final = "<!-- katod setup: begin, new file -->\n"  # the file did not exist before
_END: Final = "<!-- katod setup: end -->\n"
# An editor may have changed all line ends, or removed the last one. A block contains no other beginning of one.
_BLOCK: Final = re.compile(
    rb"<!-- katod setup: begin(?P<new>, new file)? -->\r?\n"
    rb"(?:(?!<!-- katod setup: begin).)*?"
    rb"<!-- katod setup: end -->(?:\r?\n|\Z)",
    re.DOTALL,
)


def added(text: bytes | None) -> bytes:
    """Return an instruction file with the lines; None is a file that does not exist.

    Lines that an earlier version added are replaced.
    """
    if text is None:
        return f"{_BEGIN_NEW}{LINES}{_END}".encode()
    if _BLOCK.search(text) is None:
        return text + f"\n{_BEGIN}{LINES}{_END}".encode()  # the empty line also ends a line without an end
    return _BLOCK.sub(_current, text)


def _current(block: re.Match[bytes]) -> bytes:
    """Return a block as it would be added now; one that only got other line ends stays."""
    text = f"{_BEGIN_NEW if block['new'] else _BEGIN}{LINES}{_END}".encode()
    same = block[0].replace(b"\r\n", b"\n").rstrip(b"\n") == text.rstrip(b"\n")
    return block[0] if same else text


def removed(text: bytes) -> bytes | None:
    """Return an instruction file without the lines; None if setup created the file, and nothing else is in it."""
    created = False
    while block := _BLOCK.search(text):
        before, after = text[: block.start()], text[block.end() :]
        if block["new"]:
            created = True
        else:
            before = before.removesuffix(b"\n")
            before = before.removesuffix(b"\r") if b"\r\n" in block[0] else before  # all line ends were changed
        text = before + after
    return None if created and not text.strip() else text

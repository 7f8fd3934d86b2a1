"""Private keys of which a line of armour is missing: the body alone, or what is in front of its END.

The first bytes of a key in DER or in OpenSSH's form are always the same, so they are in base64, too. Certificates and
public keys begin differently.
"""

import re
from collections.abc import Iterator
from typing import Final

_B64: Final = "[A-Za-z0-9+/]"
# RSA; any key in PKCS #8, with and without a pass phrase; EC; Ed25519; OpenSSH; the header of PuTTY's files
STARTS: Final = (
    rf"(?:MII[A-Z]{_B64}{{2}}IB(?:AAKC|ADANBgkqh)|MII[A-Z]{_B64}{{4}}BgkqhkiG9w0BBQ|MIIC{_B64}{{2}}IBAAKBg"
    r"|M(?:Hc|Gk|Ih|HQ|IHcA)[CA]A?gEBB[A-Z]|MIGHAgEAM[BC]|MIG2AgEAM[BC]|MC4CAQAwBQYDK2V|b3BlbnNzaC1rZXktdjE)"
)
LINES: Final = r"Private-Lines: [0-9]+"
END: Final = r"-----END [A-Z0-9 ]*PRIVATE KEY"
MARKER: Final = f"{STARTS}|{LINES}|{END}"

_BREAK: Final = r"[ \t]{0,8}(?:\r?\n|(?:\\{1,3}r)?\\{1,3}n)[ \t>+|]{0,12}"
_START: Final = re.compile(rf"(?<![A-Za-z0-9+/=])(?:{STARTS}|(?<!\w){LINES}{_BREAK}(?={_B64}{{40}}))", re.ASCII)
_LINE: Final = re.compile(rf"{_B64}++={{0,2}}(?=[ \t]{{0,8}}(?:[\r\n\\\"'`]|\Z|-----))", re.ASCII)
_NEXT: Final = re.compile(_BREAK, re.ASCII)
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", re.ASCII)
# The same backwards: the lines that end where this END starts.
_BACK: Final = re.compile(
    rf"[ \t>+|]{{0,12}}(?:\n\r?|n\\{{1,3}}(?:r\\{{1,3}})?)[ \t]{{0,8}}(={{0,2}}{_B64}{{4,}}+)(?![^\s\\\"'`|>+])",
    re.ASCII,
)
_FULL: Final = 40  # characters of a line that is followed by another one
_LEAST: Final = 60
_MOST: Final = 20_000  # of a key of 16,384 bits


def key_bodies(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the bodies of private keys are."""
    end = 0
    for match in _START.finditer(text):
        if match.start() >= end:
            start = match.end() if match[0].startswith("Private") else match.start()
            end = _end_of_lines(text, start)
            if end - start >= _LEAST:
                yield start, end
    for match in _END.finditer(text):
        start = _start_of_lines(text, match.start())
        if match.start() - start >= _LEAST:
            yield start, match.end()


def _end_of_lines(text: str, at: int) -> int:
    """Return where the lines of base64 end of which one starts here; only the last may be short."""
    end = at
    while line := _LINE.match(text, at):
        end = line.end()
        gap = _NEXT.match(text, end)
        if gap is None or end - at < _FULL:
            break
        at = gap.end()
    closing = _NEXT.match(text, end)
    armour = _END.match(text, closing.end()) if closing else None
    return armour.end() if armour else end


def _start_of_lines(text: str, end: int) -> int:
    """Return where the lines of base64 start that end here."""
    back = text[max(end - _MOST, 0) : end][::-1]
    at, full = 0, False
    while line := _BACK.match(back, at):
        if full and len(line[1]) < _FULL:
            break
        at, full = line.end(1), True
    return end - at

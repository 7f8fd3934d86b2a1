"""Passwords in files of settings: a line `password = …` among others that are settings, too.

The line alone could be one of a program. What is around it decides: the head of a section, `user=` or `ssid=`.
"""

import re
from collections.abc import Iterator
from typing import Final

from katod.formats.redact.values import is_given, is_password, is_phrase

_flags: Final = re.ASCII | re.IGNORECASE | re.MULTILINE
_NAME: Final = r"(?:pass(?:word|wd|phrase)?|pwd|psk|keymgmt_psk)"
MARKER: Final = r"(?i:pass(?:word|wd|phrase)?|pwd|psk)[ \t]*[=:][ \t]*(?:\\*[\"'][^\s\"'`\\]{3}|[^\s\"'`\\]{5})"
_SETTING: Final = re.compile(
    rf"^[ \t]{{0,40}}+(?:-[ \t]{{1,4}})?[\w.-]{{0,64}}?{_NAME}([ \t]{{0,40}}+[=:][ \t]{{0,40}}+)"
    r"(?:([\"'])([^\n\"'`\\]{5,128})\2|([^\s\"'`\\]{5,128}))[ \t\r]{0,40}(?:[;#][^\n]{0,200})?$",
    _flags,
)
_HEAD: Final = re.compile(r"[ \t]*\[[\w .:@/\"-]{1,80}\][ \t\r]*|[ \t]*network=\{[ \t\r]*", re.ASCII)
_LINE: Final = re.compile(r"[ \t]*(?:[;#].*|[\w.:-]{1,64}[ \t]*=.*|\r?)", re.ASCII)
_PLAIN: Final = re.compile(r"[ \t]*(?:export[ \t]+)?[A-Za-z][\w.-]{0,63}=(?![=(])[^\s(),;{}]*\r?", re.ASCII)
_NEIGHBOUR: Final = re.compile(
    r"^[ \t-]{0,40}[\"']?[\w.-]{0,32}?(?:user(?:name)?|login|ssid|host(?:name)?|server|e?mail)[\"']?:[ \t]{1,4}"
    r"[\"']?(?!(?:str|string|null|none|any|text|user|username|required|optional)\b)[\w@.+-]{1,80}[\"']?[ \t\r]*$",
    _flags,
)
_ACCESS: Final = re.compile(r"access-points:[^\n]*\n[^\n]{1,80}:[ \t\r]*\n\Z")
_VARIABLE: Final = re.compile(r"[ \t-]*[A-Z][A-Z0-9]*_[A-Z0-9_]*:", re.ASCII)
# In a program, these would be a calculation, with blanks around the signs.
_NO_CODE: Final = re.compile(r"(?=[^0-9]*[0-9])[\w.]+[!#%^~-][\w.!#%^~*-]*", re.ASCII)
_LINES: Final = 20
_FAR: Final = 1_500


def settings(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the passwords of settings are."""
    for match in _SETTING.finditer(text):
        group = 3 if match[2] else 4
        value = match[group]
        if _is_literal(match, value) or (
            (is_phrase(value) if " " in value else is_given(value)) and _is_among_settings(text, match)
        ):
            yield match.span(group)


def _is_literal(match: re.Match[str], value: str) -> bool:
    """Return whether a bare value can be no expression of a program, whatever is around it."""
    return not match[2] and len(value) >= 10 and _NO_CODE.fullmatch(value) is not None and is_password(value)


def _is_among_settings(text: str, match: re.Match[str]) -> bool:
    before = text[max(match.start() - _FAR, 0) : match.start()]
    after = text[match.end() + 1 : match.end() + 200]
    if ":" in match[1]:
        if _VARIABLE.match(text, match.start()):
            return True
        near = "\n".join((*before.splitlines()[-3:], *after.splitlines()[:2]))
        return _NEIGHBOUR.search(near) is not None or _ACCESS.search(before) is not None
    lines = before.splitlines()[::-1][:_LINES]
    if _has_head(lines):
        return True
    near_lines = (*lines[:1], *after.splitlines()[:1])
    return not match[1].strip("=") and any(_PLAIN.fullmatch(line) and "=" in line for line in near_lines)


def _has_head(lines: list[str]) -> bool:
    """Return whether the nearest line above that is no setting is the head of a section."""
    other = next((line for line in lines if not _LINE.fullmatch(line)), None)
    return other is not None and _HEAD.fullmatch(other) is not None

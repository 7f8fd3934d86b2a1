"""What a value looks like: random, a password, a pass phrase; or code, an example or a path, which are no secrets."""

import math
import re
from collections import Counter
from typing import Final

EXAMPLE: Final = re.compile(r"(?i)example|placeholder|your[_-]|xxxx|\*{4}|change[_-]?me|dummy|\.{3}|…|^<")
_CODE: Final = re.compile(
    r"\w\([\w.,]*\)|[${]\{|\$\(|\{[\w.]*\}|(?:^|[:=/@])\$[A-Za-z_]|^!!|^%\w+%$|://|^(?:[.~]{0,2}/|[A-Z]:\\)[^/]{0,30}/"
)
_WORD: Final = re.compile(r"[A-Za-z]{2,}[0-9]{0,3}|[A-Za-z]?[0-9]{0,4}")
_TIME: Final = re.compile(r"[0-9TZ:.+-]+")
_HEXADECIMAL: Final = re.compile(r"(?:0x)?(?=[0-9:-]*[a-fA-F])[0-9a-fA-F:-]{16,}")
STRONG: Final = "!@#$%^&*?~+"
_MIXED: Final = re.compile(rf"(?=[^A-Za-z]*[A-Za-z])(?=[^0-9{STRONG}]*[0-9{STRONG}])")
# Where a place says that its value is a password, a plain word is one; these are names of types, values
# and options, or the passwords with which servers are delivered.
_NO_WORD: Final = re.compile(
    r"(?i).*(?:pass|pwd|secret|token|credential|_pw$).*|.*[_.](?:key|var|env|value|input|field|hash)"
    r"|(?:none|null|nil|true|false|yes|no|on|off|undefined|void|any|object|unknown|never|auto|default|empty|prompt|ask"
    r"|str|string|text|varchar|char|bytes?|bool|boolean|int|integer|number|uint8array|optional|required|enabled|always|once|passed|failed|success|localhost"
    r"|disabled|hidden|visible|masked|redacted|removed|invalid|incorrect|wrong|missing|expired|changed|stdin|interactive"
    r"|value|values|option|options|flag|argument|parameter|field|input|variable|placeholder|example|sample|username|user"
    r"|login|email|hostname|database|admin_user|encrypted|plain|plaintext|scram-sha-256|trust|peer|ident|basic|digest"
    r"|postgres|postgresql|mysql|mariadb|admin|administrator|guest|redis|minioadmin|rabbitmq|mongo|elastic|testing|local"
    r"|bearer|oauth2?|function|async|await|return|self|this|props|config|settings|process|environ|env|file|path)"
)
# A message has such words, a pass phrase of random words has none.
_GRAMMAR: Final = re.compile(
    "set|yet|new|old|used|needed|only|too|short|long|least|most|characters|letters|digits|words|here|login|user|"
    "a|an|and|are|as|at|be|been|but|by|can|cannot|could|did|do|does|for|from|had|has|have|if|in|into|is|"
    "it|its|may|must|my|not|of|on|or|our|should|that|the|their|then|there|these|this|those|to|was|were|"
    "what|when|which|will|with|would|you|your|please|enter|invalid|wrong|incorrect|failed|error|required|"
    "missing|password|passwords|passphrase|secret"
)


def is_credential(value: str) -> bool:
    """Return whether a header's value is a credential, not words of a sentence or an example."""
    mixed = not value.isupper() and not value[1:].islower() and _entropy(value) >= 3
    return not EXAMPLE.search(value) and (mixed or len(value) >= 20 or any(map(str.isdigit, value)))


def is_password(value: str) -> bool:
    """Return whether a literal value is a password: letters with digits or special characters, or digits alone."""
    if not 5 <= len(value) <= 128 or value[0] in "-/." or EXAMPLE.search(value) or _CODE.search(value):
        return False
    if re.search(r"(?i)passw|pwd", value):
        return False
    return value.isdigit() or (_MIXED.match(value) is not None and not _TIME.fullmatch(value))


def is_secret(value: str, *, phrase: bool = False) -> bool:
    """Return whether a value is random, not a name, a path, a template or an example; a pass phrase may be words."""
    value = value[:256]
    if len(value) < 12 or EXAMPLE.search(value) or _CODE.search(value) or not _is_varied(value):
        return False
    if phrase and not re.fullmatch(r"[\w./:]+", value):
        return not re.search(r"(?i)passw|secret|token|key", value)
    return not all(map(_is_word, re.split(r"[\W_]+", value)))


def _is_varied(value: str) -> bool:
    """Return whether enough of the characters differ: fewer in hexadecimal, which has only 16."""
    if _HEXADECIMAL.fullmatch(value):
        return len(set(value)) >= 8
    return len(set(value)) >= 10 and _entropy(value) >= 3.2 and not _TIME.fullmatch(value)


def _is_word(part: str) -> bool:
    """Return whether a part is a word like `refreshTokenV2`, not random letters: those change case more often."""
    return _WORD.fullmatch(part) is not None and len(re.findall("[A-Z]+", part)) * 4 <= max(len(part) - 1, 12)


def _entropy(value: str) -> float:
    """Return the Shannon entropy, in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def is_word(value: str) -> bool:
    """Return whether a value is a plain word that may be a password, given that its place is one of a password."""
    return (
        5 <= len(value) <= 128
        and value.isascii()
        and (value[0].isalnum() or value[0] in STRONG)
        and not value.isupper()
        and not EXAMPLE.search(value)
        and not _CODE.search(value)
        and not _NO_WORD.fullmatch(value)
        and not set(value) & set("(){}[]<>=|;,/\\")
    )


def is_given(value: str) -> bool:
    """Return whether a value is a password, if its place is one of a password: it may be a plain word."""
    return is_password(value) or is_word(value)


def is_phrase(value: str) -> bool:
    """Return whether a value in quotes is a pass phrase: several words, but no sentence, message or code."""
    words = value.lower().split(" ")
    return (
        3 <= len(words) <= 16
        and not any(sign in value for sign in ("$", "`", "{", "<", "(", "%s"))
        and not EXAMPLE.search(value)
        and all(len(word) >= 3 and word.strip(".,!?'-").isalnum() for word in words)
        and not any(map(_GRAMMAR.fullmatch, words))
    )

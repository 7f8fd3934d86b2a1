"""Secrets that are recognised by the name in front of them: `password=`, `--token`, `ENV DB_PASSWORD`, `<secret>`.

A name alone is not enough, as code is full of them: the value after it is judged. Passwords may be short where a value
is literal (in quotes, in a shell, in a configuration file). All other values have to look random.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from katod.formats.redact.rules import any_of
from katod.formats.redact.values import EXAMPLE, is_credential, is_password, is_secret, is_word

# Start, end and rule of a secret.
Span = tuple[int, int, str]

# Their rules, and what they find.
NAMED: Final = "secret"
AUTHORIZATION: Final = "authorization"
FACTS: Final = {
    AUTHORIZATION: "HTTP `Authorization` header, `Bearer`; the scheme stays",
    NAMED: "a random-looking value of 12 or more characters after a name like `password`, `secret`, `token`, `api_key`,"
    " or a vendor's; shorter passwords where a value is literal: `--password`, `export`, YAML, XML",
}

# The words in names, in lower case, each with an ending of it that starts with a rare letter.
WORDS: Final = {
    "pass": "pass", "pwd": "pwd", "secret": "cret", "token": "ken", "key": "key", "auth": "uth", "creds": "creds",
    "credential": "dential", "bearer": "earer", "psk": "psk",
}  # fmt: skip
PASSWORDS: Final = ("pass", "pwd", "psk")
# A key is a secret only after one of these.
KEYS: Final = (
    "access account admin aes api app auth client consumer crypt deploy encryption fal fernet function hmac"
    " ingest integration jwt license master openai preshared private record recovery root routing salt seal"
    " secret server service session shared signing ssh storage subscription tls unseal webhook write"
)
PAGES: Final = (
    "page next continuation continue pagination paging cursor sync starting start resume resumption resync watch scroll"
)
# After these names, a random-looking value is a secret even if no word says so: `datadog = …`, `HEROKU_ID=…`.
VENDORS: Final = (
    "adafruit adobe airtable algolia alibaba aliyun artifactory asana assemblyai atlassian azdo beamer bintray"
    " bitbucket bittrex cloudflare codeclimate codecov cohere coinbase confluence confluent contentful"
    " contribsys__com datadog deepgram deepseek devops discord dnkey droneci dropbox elevenlabs etsy exa facebook"
    " fastly finicity finnhub flickr freshbooks gitter gocardless heroku hubspot intercom jfrog jira kraken"
    " kucoin launchdarkly linear linked_in linkedin lob looker mailchimp mailgun mapbox mattermost meraki"
    " message_bird messagebird mistral netlify new-relic new_relic newrelic nytimes okta pinecone plaid postmark"
    " private_ai privateai rapidapi sendbird sentry snyk sonar squarespace sumo telegr telegram test_reporter"
    " travis twitch twitter typeform xray yandex zendesk"
)
SUFFIX: Final = (
    r"(?:[ _.-]{0,2}(?:aio|api|access|auth|oauth|bearer|client|app|application|browser|bot|consumer|db|delivery|deploy"
    r"|encryption|ext|hapikey|io|keystring|identity|ingest|insert|integration|license|live|logic|login|oauth2?|org|personal|pat|priv|private|prod"
    r"|public|pub|rest|sdk|secret|service|signing|test|token|user|webhook|write|key|password|pw|v?[0-9])){0,5}"
    r"(?:[ _.-]?(?:access|application|app|api|client|key)[_-]?id)?"
)

QUOTE: Final = r"\\{0,3}[\"'`]"
BLANK: Final = r"[ \t]"
SPACE: Final = r"(?:\s|\\{1,3}[nrt])"  # in the text of a command, line ends may be escaped
_SEPARATOR: Final = rf"(?::{BLANK}?&?[A-Za-z_.]{{2,16}}{BLANK}{{0,2}})?={{1,3}}>?|:=?"
# Of `name: X` and `value: Y` on the next line, of which X is the name; of a variable of Terraform.
_LISTED: Final = (
    rf"(?:{QUOTE})?(?:,|{BLANK}\{{)?{SPACE}{{0,16}}(?:{QUOTE}|{BLANK})?(?:value|default)(?:{QUOTE})?{BLANK}?[:=]"
)
# In a table, in bold, in a sentence, with a default, of a property of C#, of `gh secret set`.
_OTHER: Final = (
    rf"(?:{QUOTE})?{BLANK}{{0,40}}(?:\||│|\\u2502)|\*\*:|:\*\*|{BLANK}(?:is{BLANK}|\()|:-"
    rf"|(?:{QUOTE}\))?{BLANK}{{0,8}}(?:\|\||\?\?|{BLANK}or{BLANK})"
    rf"|{BLANK}?\{{{BLANK}?get;{BLANK}?(?:set|init);{BLANK}?\}}{BLANK}?=|{BLANK}--body[ =]"
)
# After a name: a closing quote or subscript, a type, and one of = : := == => , or an attribute of XML.
SIGN: Final = (
    rf"(?:{_LISTED}|{QUOTE}\]?{BLANK}{{0,8}}(?:{_SEPARATOR}|,|value=)|{BLANK}{{0,8}}(?:{_SEPARATOR})|{_OTHER})"
    rf"{BLANK}{{0,8}}"
)
REST: Final = r"(?:word|wort|wd|phrase|code|orization)?(?:[_-]?(?:base|data|value|prod|dev|test|staging|[0-9]{1,3}))?"
PREFIX: Final = "[bfruN@$]{0,2}"  # of a string in quotes
IN_QUOTES: Final = r"[^\s\"'`\\]"
BARE: Final = r"[^\s\"'`\\,;&<>(){}\[\]|]"
_LOOSE: Final = r"[^\s\"'`\\;|<>()]"  # a word of a shell
_VALUE: Final = (
    rf"(?:{PREFIX}{QUOTE}(?!\[REDACTED:)({IN_QUOTES}{{4,}}+)|({BARE}{{4,}}+)|(?!\[REDACTED:)({_LOOSE}{{5,128}}))"
)
SCHEMES: Final = "bearer|basic|token|bot|api-?key|key|ssws|geniekey|splunk"

VARIABLE: Final = r"(?:ENV|ARG|setx|setenv|set -[a-zA-Z]{1,3}|#define|loaded)[ \t]+\w*"

_flags: Final = re.ASCII | re.IGNORECASE
_ASSIGNED: Final = re.compile(rf"{REST}{SIGN}{_VALUE}", _flags)
_SPACED: Final = re.compile(rf"{REST}{BLANK}{{1,8}}{_VALUE}", _flags)
_TAGGED: Final = re.compile(rf"{REST}(?:{BLANK}[^<>\n]{{0,80}})?>()([^\s<>\"'`\\\[\]]{{4,}}+)<", _flags)
_HEADER: Final = re.compile(
    rf"orization{SIGN}{PREFIX}(?:{QUOTE})?(?:{SCHEMES}){BLANK}{{1,4}}([\w.~+/=:|-]{{8,}}+)", _flags
)
_NEW_WORD: Final = "(?-i:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
_VENDOR: Final = re.compile(f"{_NEW_WORD}{any_of(VENDORS.split())}{SUFFIX}{SIGN}{_VALUE}", _flags)
_VENDOR_NAME: Final = re.compile(any_of(VENDORS.split()).encode())
_SIGNED: Final = re.compile(rb"[=:,|?(]|is |or |body ")  # `?` for what is not ASCII
_OPTION: Final = re.compile(r"(?:^|[\s\"'`=\[(,])--?[\w-]*\Z")
_VARIABLE: Final = re.compile(rf"{VARIABLE}\Z")
# Before a name in a shell, whose values are words up to a blank: an option, a variable, a part of a connection string.
_SHELL: Final = re.compile(
    r"(?:^|[\s\"'`:+])(?:--?[\w.-]*|[A-Z][A-Z0-9_]*|--?[\w-]{1,32}[ \t]+[\"']?[\w.]*"
    r"|(?:host|user|port|dbname)=[^\s\"'`]{1,64}[ \t]+)\Z"
)
_SHELL_WORD: Final = re.compile(rf"(?:(?![,&][\w.]{{1,32}}=){_LOOSE}|[()](?=[^\s;|&)\"'`\\])){{1,128}}")
_TAG: Final = re.compile(r"<[\w:.-]*\Z")

_ASSIGNS: Final = re.compile("[^ =]*=")
_IN_LIST: Final = re.compile(r",[\w.]{1,32}=")  # of options: `user=x,password=y,vers=3`
_USER_BEFORE: Final = re.compile(r"(?i)user|login|mail")
_IN_CODE: Final = frozenset(",)]}(")
_FURTHER: Final = re.compile(r"[ \t]*(?:[\r\n\\\"'|&>;]|\Z|-)")  # where a command ends, or has another option
_OPTIONS: Final = re.compile(r"(?:^|\s)(?:--?[a-zA-Z]|\$ )[^\n]*\s-")
_ENDS_LINE: Final = frozenset(("", "\n", "\r", "\\"))

_ENDS: Final = {word: (word.encode(), re.compile(end.encode())) for word, end in WORDS.items()}
_AFTER: Final = tuple(word.encode() for word in KEYS.split())
# All of such a name before its `token`, which says where in a list to continue. A variable in capitals, and a longer
# name, are those of a secret.
_PAGE: Final = re.compile(
    rf"(?<![\w-])(?:--)?(?:next|prev|previous)?[ _.-]?(?:{PAGES.replace(' ', '|')})[ _.-]?\Z", re.IGNORECASE
)
_PAGES: Final = tuple(word.encode() for word in PAGES.split())
_ARN: Final = re.compile(rb"[0-9]:\Z")  # of a secret; what follows is its name
_RULES: Final = {b"bearer": AUTHORIZATION}
_PASSWORDS: Final = frozenset(word.encode() for word in PASSWORDS)
_LONG: Final = b"a" * 14
_CONTEXT: Final = 64


def named_secrets(text: str, low: bytes, words: Iterable[str]) -> Iterator[Span]:
    """Yield the secrets after names with these words; `low` is the text in lower case, one byte per character."""
    for name in words:
        word, end_of_word = _ENDS[name]
        start = _near(low, end_of_word) if len(low) > 2000 else 0
        if start >= 0 and (at := low.find(word, start)) >= 0:
            yield from _values(text, low, word, at)


def _near(low: bytes, end_of_word: re.Pattern[bytes]) -> int:
    """Return a position shortly before the first match; `find` from the start would take longer."""
    found = end_of_word.search(low)
    return max(found.start() - 9, 0) if found else -1


def _values(text: str, low: bytes, word: bytes, at: int) -> Iterator[Span]:
    """Yield each secret value after the word."""
    while at >= 0:
        end, span = _value_after(text, low, word, at)
        if span is not None:
            yield span
        at = low.find(word, end)


def _value_after(text: str, low: bytes, word: bytes, at: int) -> tuple[int, Span | None]:
    """Return where to continue after a word, and the value after it if it is a secret."""
    end = at + len(word)
    if _is_other(text, low, word, at):
        return end, None
    if word == b"auth" and (match := _HEADER.match(text, end)):
        value = match[1].rstrip(".:")
        span = (match.start(1), match.start(1) + len(value), AUTHORIZATION)
        return match.end(), span if is_credential(value) else None
    match = _ASSIGNED.match(text, end)
    literal = match is None
    if match is None and (match := _spaced(text, word, at, end)) is None:
        return end, None
    span_or_none = _judged(text, word, match, at, literal=literal)
    # a long value is judged once, so that time is linear; a short one may be the next name
    return (end if match.end() - match.start() < 48 and span_or_none is None else match.end()), span_or_none


def _is_other(text: str, low: bytes, word: bytes, at: int) -> bool:
    """Return whether this is no secret's name.

    A key may be one of a cache or a table, not `api_key` or `?key=`; a token may be where to continue a list; and what
    follows the ARN of a secret is its name.
    """
    if word == b"secret":
        return _ARN.search(low, max(at - 14, 0), at) is not None
    before = low[max(at - 16, 0) : at]
    if word == b"token":
        if not before.rstrip(b" _.-").endswith(_PAGES):  # much sooner than the pattern says so
            return False
        match = _PAGE.search(text, max(at - 40, 0), at)
        return match is not None and not match[0].isupper()
    in_url = before[-1:] in {b"?", b"&"} and low[at + 3 : at + 4] == b"="
    return word == b"key" and not in_url and not before.rstrip(b" ._-").endswith(_AFTER)


def _spaced(text: str, word: bytes, at: int, end: int) -> re.Match[str] | None:
    """Match the value of an option, of a variable of a shell or a Dockerfile, or of an element of XML."""
    before = text[max(at - 48, 0) : at]
    if "<" in before and _TAG.search(before):
        return _TAGGED.match(text, end)
    match = _SPACED.match(text, end)
    if match is None or word == b"bearer" or ("-" in before and _OPTION.search(before)) or _VARIABLE.search(before):
        return match
    return None


class _Value(NamedTuple):
    """Where the value of a match begins; all of it, and without punctuation; whether it is in quotes, or is code."""

    start: int
    whole: str
    text: str
    quoted: bool
    called: bool


def _value_of(text: str, match: re.Match[str], *, shell: bool = False) -> _Value:
    start, end = match.span(match.lastindex or 0)
    quoted = match[1] is not None
    if shell and not quoted and (word := _SHELL_WORD.match(text, start)):
        end = max(end, word.end())
    value = text[start:end] if quoted else text[start:end].rstrip(".:!?*~")
    called = not quoted and (text[end : end + 1] in {"(", "[", "{"} or (match.lastindex == 3 and not shell))
    return _Value(start, text[start:end], value, quoted, called)


def _judged(text: str, word: bytes, match: re.Match[str], at: int, *, literal: bool) -> Span | None:
    """Return the span of the value if it is a secret; `literal` if it cannot be code."""
    shell = _is_in_shell(text, match, at, literal=literal)
    value = _value_of(text, match, shell=shell)
    if value.called or EXAMPLE.search(value.whole) or _is_command(text, value, shell=shell):
        return None
    phrase = value.quoted and word == b"pass" and "," not in text[match.pos : value.start]
    if is_secret(value.text, phrase=phrase):
        return value.start, value.start + len(value.text), _RULES.get(word, NAMED)
    if word in _PASSWORDS and _is_password_here(text, match, value, at, shell=shell, literal=literal):
        return value.start, value.start + len(value.whole), NAMED
    return None


def _is_password_here(text: str, match: re.Match[str], value: _Value, at: int, *, shell: bool, literal: bool) -> bool:
    """Return whether a value after a password's name is one: a plain word only in a shell."""
    if is_password(value.whole):
        return shell or _is_literal(text, match, at, literal=literal)
    return shell and is_word(value.whole) and _is_shell_word(text, value, at, literal=literal)


def _is_command(text: str, value: _Value, *, shell: bool) -> bool:
    """Return whether the value is what a command in backquotes prints: "`cat file`"; Markdown has one word in them."""
    end = value.start + len(value.whole)
    return value.quoted and text[value.start - 1] == "`" and (shell or text[end : end + 1] != "`")


def _is_shell_word(text: str, value: _Value, at: int, *, literal: bool) -> bool:
    """Return whether a plain word is the value of an option or a variable of a command, not a word of a sentence."""
    end = value.start + len(value.whole)
    if text[at + 4 : at + 5] == "=" and text[max(at - 1, 0) : at].isalpha():  # COMPASS=, --bypass=
        return False
    if not literal:
        return value.quoted or text[end : end + 1] not in _IN_CODE
    if not _OPTION.search(text, max(at - 48, 0), at):
        return _VARIABLE.search(text, max(at - 48, 0), at) is not None and text[end : end + 1] in _ENDS_LINE
    line = text[max(text.rfind("\n", max(at - 200, 0), at), at - 200, -1) + 1 : at]
    return value.quoted or (_FURTHER.match(text, end) is not None and _OPTIONS.search(line) is not None)


def _is_in_shell(text: str, match: re.Match[str], at: int, *, literal: bool) -> bool:
    """Return whether this is a word of a shell, in which only blanks and few other characters end a value."""
    sign = text[match.start() : match.start(match.lastindex or 0)]
    return (literal or (sign[-1:] == "=" and "=" not in sign[:-1])) and _SHELL.search(
        text, max(at - 96, 0), at
    ) is not None


def _is_literal(text: str, match: re.Match[str], at: int, *, literal: bool) -> bool:
    """Return whether the value after a password's name is certainly no variable of a program."""
    if literal:
        return True
    start, end = match.span(match.lastindex or 0)
    sign = text[match.start() : start]
    if _is_other_pass(text, sign, at):
        return False
    if match[1] is not None or end - start < 6:
        return match[1] is not None
    if not _ASSIGNS.fullmatch(sign):
        return sign.endswith(": ") and text[end : end + 1] in _ENDS_LINE
    return text[end : end + 1] not in _IN_CODE or _is_listed(text, end, at)


def _is_listed(text: str, end: int, at: int) -> bool:
    """Return whether a value is one of a list of options: `user=x,password=y,vers=3`."""
    return _IN_LIST.match(text, end) is not None and "(" not in text[max(at - 64, 0) : at]


def _is_other_pass(text: str, sign: str, at: int) -> bool:
    """Return whether this is a `pass` alone, which may be one of a compiler or a test."""
    return (
        text[at : at + 4].lower() == "pass"
        and not sign[:1].isalpha()
        and text[max(at - 1, 0) : at] not in {"_", "-"}
        and not (text[at] == "P" and text[max(at - 1, 0) : at].isupper())
        and not _USER_BEFORE.search(text, max(at - 80, 0), at)
    )


def vendor_secrets(text: str, low: bytes, runs: bytes) -> Iterator[Span]:
    """Yield the random values after the names of vendors, which are searched for in front of long runs.

    `runs` is the text with an `a` for each letter, digit, `-` and `_`, one byte per character.
    """
    start, judged = runs.find(_LONG), 0
    while start >= 0:
        if _SIGNED.search(low, max(start - 6, 0), start):
            for name in _VENDOR_NAME.finditer(low, max(start - _CONTEXT, judged), start):
                if match := _VENDOR.match(text, name.start()):
                    yield from _random_value(text, match)
                    judged = match.end()  # once, so that time is linear
        end = runs.find(b" ", start)
        start = runs.find(_LONG, end) if end >= 0 else -1


def _random_value(text: str, match: re.Match[str]) -> Iterator[Span]:
    value = _value_of(text, match)
    if not value.called and len(value.text) >= 14 and is_secret(value.text):
        yield value.start, value.start + len(value.text), NAMED

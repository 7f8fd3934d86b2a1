"""Secrets that are recognised by the command or the file around them: `mysql -p…`, `.netrc`, cookies."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from katod.formats.redact_names import BLANK, QUOTE, SPACE, Span, is_password, is_secret

_START: Final = r"(?<![\w-])"
_OPEN: Final = rf"(?:{QUOTE})?"
_VALUE: Final = r"(?!\[REDACTED:)([^\s\"'`\\]{4,256})"
_AFTER: Final = rf"{BLANK}(?:[^\n|;&]{{0,160}}?{BLANK})?"  # other words of the same command


class Form(NamedTuple):
    """A command or a line of a file; group 1 is the password. One of the literals is in every match.

    `marker` matches in every match. It has no assertions, so that any engine can search for it.
    """

    name: str
    literals: tuple[str, ...]
    marker: str
    pattern: str
    fact: str


def _option(commands: str, option: str, *literals: str) -> Form:
    """Return the form of an option of any of some commands."""
    start = rf"(?:{commands}){_AFTER}{option}{_OPEN}"
    marker, pattern = rf"{start}[^\s\"'`\\]{{4}}", rf"{_START}{start}{_VALUE}"
    return Form("command-password", literals, marker, pattern, commands.replace("|", ", "))


_LOGINS: Final = "docker login|podman login|nerdctl login|helm registry login|az login|oc login"
_TWO_WORDS: Final = rf"[^\s\\]{{1,64}}{BLANK}[^\s\\]{{1,64}}{BLANK}"
_USER: Final = rf"(?:u|-user|-proxy-user)=?{BLANK}{{0,4}}{_OPEN}[\w.@-]{{1,64}}:"
_LOGIN: Final = rf"login{SPACE}{{1,8}}[^\s\\]{{1,128}}{SPACE}{{1,8}}password{SPACE}{{1,8}}"
_PGPASS: Final = r":(?:54[0-9]{2}|6432|\*):(?:\*|[A-Za-z_][\w-]{0,63}):[\w*.@-]{1,64}:"
_HEADER: Final = rf"ookies?(?:{QUOTE})?{BLANK}{{0,4}}[:=,]?{BLANK}{{0,4}}{_OPEN}"
_JAR: Final = rf"-b{BLANK}{{0,4}}{_OPEN}"
_COOKIES: Final = r"[^\n\"'`\\]{8,4096}"
_LATER: Final = r"[^\n\"'`\\]*=[^\s;,=\"'`\\]{16}"

# What these commands and files look like is described in their manuals.
FORMS: Final = (
    Form("command-password", ("-u", "-proxy-u"), f"-{_USER}", rf"-(?<![\w-]-){_USER}{_VALUE}", "curl -u user:…"),
    _option("mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump", "-p", "mysql", "mariadb"),
    _option("sshpass", rf"-p{BLANK}{{0,4}}", "sshpass"),
    _option("redis-cli|valkey-cli", rf"-a{BLANK}{{1,4}}", "-cli "),
    _option(_LOGINS, rf"-p{BLANK}{{1,4}}", " login"),
    _option("mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport", rf"-p{BLANK}{{1,4}}", "mongo"),
    _option("ldapsearch|ldapmodify|ldapadd|ldapdelete|ldapwhoami", rf"-w{BLANK}{{1,4}}", "ldap"),
    _option("htpasswd", rf"-[a-zA-Z]{{0,4}}b[a-zA-Z]{{0,4}}{BLANK}{_TWO_WORDS}", "htpasswd "),
    _option("sqlcmd|bcp", rf"-P{BLANK}{{0,4}}", "sqlcmd ", "bcp "),
    _option("7z|7za|unrar|rar", "-p", "7z ", "7za ", "rar "),
    _option("zip|unzip", rf"-P{BLANK}{{0,4}}", "zip "),
    _option("smbclient|rpcclient", rf"-U{BLANK}{{0,4}}{_OPEN}[\w.@/-]{{1,64}}%", "client "),
    _option("openssl", rf"(?:-K{BLANK}{{1,4}}|-pass(?:in|out)?{BLANK}{{1,4}}{_OPEN}pass:)", "openssl "),
    Form("file-password", ("login",), _LOGIN, f"{_START}{_LOGIN}{_VALUE}", "`.netrc`"),
    Form("file-password", (":",), _PGPASS, rf"{_PGPASS}([^\s:\"'`\\]{{5,256}})(?=$|[\\\"'`\r])", "`.pgpass`"),
    Form("cookie", ("ookie",), f"{_HEADER}{_LATER}", f"{_HEADER}({_COOKIES})", "a random-looking value in `Cookie`"),
    Form("cookie", ("-b",), rf"{_JAR}[\w.-]{{1,64}}{_LATER}", rf"{_JAR}([\w.-]{{1,64}}={_COOKIES})", "or `curl -b`"),
)
_COOKIE: Final = re.compile(r"[\w.-]{1,64}=([^\s;,=\"'`\\]{16,})", re.ASCII)


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.MULTILINE)


def formed_secrets(text: str, numbers: Iterable[int]) -> Iterator[Span]:
    """Yield the passwords in commands and files, and the secrets among cookies; forms are given by number."""
    for form in map(FORMS.__getitem__, numbers):
        for literal in form.literals:
            if literal in text:
                yield from _cookies(text, form) if form.name == "cookie" else _passwords(text, form)
                break


def _passwords(text: str, form: Form) -> Iterator[Span]:
    for match in _compiled(form.pattern).finditer(text):
        if is_password(match[1]):
            yield match.start(1), match.end(1), form.name


def _cookies(text: str, form: Form) -> Iterator[Span]:
    for header in _compiled(form.pattern).finditer(text):
        for match in _COOKIE.finditer(text, *header.span(1)):
            if is_secret(match[1]):
                yield match.start(1), match.end(1), form.name

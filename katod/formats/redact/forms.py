"""Secrets that are recognised by the command or the file around them: `mysql -p…`, `.netrc`, cookies."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from katod.formats.redact import keybody, mnemonic, settings
from katod.formats.redact.names import BLANK, QUOTE, SIGN, SPACE, Span
from katod.formats.redact.values import is_given, is_password, is_phrase, is_secret

_START: Final = r"(?<![\w-])"
_OPEN: Final = rf"(?:{QUOTE})?"
_SHELL_OPEN: Final = r"(?:\\{0,3}[\"'])?"  # a backquote would open a command, whose output is the password
_VALUE: Final = r"(?!\[REDACTED:)([^\s\"'`\\]{4,256})"
_AFTER: Final = rf"{BLANK}(?:[^\n|;&]{{0,160}}?{BLANK})?"  # other words of the same command


class Form(NamedTuple):
    """A command, a line of a file or a sentence; group 1 is the password. One of the literals is in every match.

    `marker` matches in every match. It has no assertions, so that any engine can search for it. `judge` says whether
    what is found is a password. `find` replaces the pattern where one is not enough. `apart` if an engine
    is to search for the marker alone: one that counts multiplies the states of all others.
    """

    name: str
    literals: tuple[str, ...]
    marker: str
    pattern: str
    fact: str
    judge: Callable[[str], bool] = is_password
    find: Callable[[str], Iterator[tuple[int, int]]] | None = None
    apart: bool = False


def _option(commands: str, option: str, *literals: str, judge: Callable[[str], bool] = is_given) -> Form:
    """Return the form of an option of any of some commands."""
    start = rf"(?:{commands}){_AFTER}{option}{_SHELL_OPEN}"
    marker, pattern = rf"{start}[^\s\"'`\\]{{4}}", rf"{_START}{start}{_VALUE}"
    return Form("command-password", literals, marker, pattern, commands.replace("|", ", "), judge)


def _anything(_: str) -> bool:
    return True


def _phrase(fact: str, literals: str, before: str) -> Form:
    """Return the form of a pass phrase of several words in quotes, behind an option or a variable of a shell."""
    marker = rf"{before}(?:\\*[\"'])[^\s\"'`\\]+ [^\s\"'`\\]"
    pattern = rf"{before}(?:\\{{0,3}}[\"'])([^\n\"'`\\]{{5,128}})(?=\\{{0,3}}[\"'])"
    return Form("command-password", tuple(literals.split(",")), marker, pattern, fact, is_phrase)


def _found(name: str, literals: str, marker: str, find: Callable[[str], Iterator[tuple[int, int]]], fact: str) -> Form:
    """Return a form that code looks for."""
    return Form(name, tuple(literals.split(",")), marker, marker, fact, find=find)


def _command(fact: str, literals: str, before: str, after: str = "", end: str = "") -> Form:
    """Return the form of a command in which the password is between these; `end` may have assertions."""
    return _written(fact, literals, before, after, end)._replace(name="command-password")


def _written(fact: str, literals: str, before: str, after: str = "", end: str = "") -> Form:
    """Return the form of code, a file or a sentence with the password between these."""
    marker = rf"{before}[^\s\"'`\\]{{4,}}{after}"
    return Form("written-password", tuple(literals.split(",")), marker, f"{before}{_VALUE}{after}{end}", fact)


def _part(fact: str, literals: str, before: str, after: str = "") -> Form:
    """Return the form of a string of several values, of which one is a password."""
    marker, value = rf"{before}[^\s\"'`\\]{{4,}}", r"(?!\[REDACTED:)([^\s\"'`\\&;,]{4,128})"
    end = after or r"(?=[&;,\s\"'`\\]|$)"
    return Form("written-password", tuple(literals.split(",")), marker, f"{before}{value}{end}", fact, is_given)


_B: Final = rf"{BLANK}{{1,4}}"
_NAME: Final = r"[\w.@-]{1,64}"
_LOGINS: Final = "docker login|podman login|nerdctl login|helm registry login|oc login"
_USERS: Final = "twine|cqlsh|cypher-shell|evil-winrm|crackmapexec|netexec|rdesktop|pscp|az"
_SNMP: Final = "snmpwalk|snmpget|snmpset|snmpbulkwalk"
_QUOTED: Final = r"(?:[\w.-]{1,32}|\\{0,3}[\"'][^\n\"'\\]{1,32}\\{0,3}[\"'])"
_TWO_WORDS: Final = rf"(?:-[a-zA-Z]{{1,4}}{BLANK})?[^\s\\]{{1,64}}{BLANK}[^\s\\]{{1,64}}{BLANK}"
_USER: Final = rf"(?:u|-user|-proxy-user)=?{BLANK}{{0,4}}{_SHELL_OPEN}[\w.@-]{{1,64}}:"
_LOGIN: Final = rf"login{SPACE}{{1,8}}[^\s\\]{{1,128}}{SPACE}{{1,8}}password{SPACE}{{1,8}}"
_PGPASS: Final = r":(?:54[0-9]{2}|6432|\*):(?:\*|[A-Za-z_][\w-]{0,63}):[\w*.@-]{1,64}:"
_SQL: Final = rf"(?i:(?:create|alter){_B}(?:user|role|login){_B}[^\n;]{{1,80}}?password){_B}(?:={BLANK}?)?N?{QUOTE}"
_LISTED: Final = (
    rf"(?i:(?:user(?:[ _]?(?:id|name))?|uid|server|database|host|data source)=[^;\n\"'`\\]{{1,80}}[;,]"
    rf"(?:[\w ]{{1,32}}=[^;,\n\"'`\\]{{0,80}}[;,]){{0,8}}{BLANK}?(?:password|passwd|pass|pwd)=)"
)
_FORM: Final = r"(?:[\w-]{0,32}(?:password|passwd))"
_HEADER: Final = rf"ookies?(?:{QUOTE})?{BLANK}{{0,4}}[:=,]?{BLANK}{{0,4}}{_OPEN}"
_JAR: Final = rf"-b{BLANK}{{0,4}}{_OPEN}"
_COOKIES: Final = r"[^\n\"'`\\]{8,4096}"
_LATER: Final = r"[^\n\"'`\\]*=[^\s;,=\"'`\\]{16}"
_ECHO: Final = rf"echo{_B}(?:-[ne]{{1,2}}{_B})?{_SHELL_OPEN}"
_PIPE: Final = rf"{_OPEN}{BLANK}{{0,4}}\|{BLANK}{{0,4}}(?:sudo{_B})?"
_READERS: Final = "-S|docker|podman|nerdctl|helm|passwd|cryptsetup|gpg|kinit|smbpasswd|argocd|gh"
_STRING: Final = rf"{QUOTE}[^\n\"'`\\]{{1,160}}{QUOTE},{BLANK}{{0,4}}"
_LINE: Final = rf"(?:\n|\\{{1,3}}n){BLANK}{{0,8}}"
_NAMED: Final = rf"(?:{SIGN}|{BLANK}){_OPEN}"
_WITH: Final = rf"(?:with{_B}{_OPEN}\w{{1,64}}{_OPEN}{_B})?"
_SHOWN: Final = (
    rf"(?:following password[^\n]{{0,60}}:|/\w{{0,40}}[pP]assword|assword\}}[^\n]{{0,40}}base64 (?:-d|-D|--decode))"
    rf"{_LINE}(?:{_LINE})?"
)
_SEED: Final = rf"(?i:mnemonic|seed[ _-]?phrase){_NAMED}"
_SOCKET: Final = r"@(?:tcp|unix)\("
_TO_END: Final = r"(?=[\"'`\\\r]|$)"

# What these commands and files look like is described in their manuals.
FORMS: Final = (
    Form("command-password", ("-u", "-proxy-u"), f"-{_USER}", rf"-(?<![\w-]-){_USER}{_VALUE}", "curl -u user:…"),
    _option("curl", rf"-(?:u|U|-user|-proxy-user)=?{BLANK}{{0,4}}{_SHELL_OPEN}{_NAME}:", "curl "),
    _option("mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump", "-p", "mysql", "mariadb"),
    _option("sshpass", rf"-p{BLANK}{{0,4}}", "sshpass"),
    _option("redis-cli|valkey-cli", rf"-a{_B}", "-cli "),
    _option(_LOGINS, rf"-p{_B}", " login"),
    _option(_USERS, rf"-p{_B}", "twine ", "cqlsh ", "cypher-shell ", "winrm ", "exec ", "rdesktop ", "pscp ", "az ",
            judge=is_password),
    _option("mongo|mongosh|mongodump|mongorestore|mongoexport|mongoimport", rf"-p{_B}", "mongo"),
    _option("ldapsearch|ldapmodify|ldapadd|ldapdelete|ldapwhoami", rf"-w{_B}", "ldap"),
    _option("htpasswd", rf"-[a-zA-Z]{{0,4}}b[a-zA-Z]{{0,4}}{BLANK}{_TWO_WORDS}", "htpasswd "),
    _option("sqlcmd|bcp|mosquitto_pub|mosquitto_sub|ipmitool", rf"-P{BLANK}{{0,4}}", "sqlcmd ", "bcp ", "quitto_",
            "tool "),
    _option("7z|7za|unrar|rar", "-p", "7z ", "7za ", "rar ", judge=is_password),
    _option("zip|unzip", rf"-P{BLANK}{{0,4}}", "zip "),
    _option("smbclient|rpcclient", rf"-U{BLANK}{{0,4}}{_OPEN}[\w.@/-]{{1,64}}%", "client "),
    _option("openssl", rf"(?:-[Kk]{_B}|-pass(?:in|out)?{_B}{_OPEN}pass:)", "openssl "),
    _option("ssh-keygen", rf"-[NP]{_B}", "ssh-keygen "),
    _option(_SNMP, rf"-A{_B}", "snmp"),
    _option(_SNMP, rf"-X{_B}", "snmp"),
    _option("plink|pscp|psftp|putty", rf"-pw{_B}", "-pw "),
    _option("xfreerdp|wfreerdp|xfreerdp3", "/p:", "freerdp"),
    _option("cmdkey", "/pass:", "/pass:"),
    _option("net use", rf"/user:[^\s\"'`]{{1,64}}{_B}", "net use "),
    _option("lftp", rf"-u{_B}{_NAME},", "lftp "),
    _option("http|https|xh", rf"-a{_B}{_OPEN}{_NAME}:", " -a "),
    _option("mc alias set", rf"https?://[^\s\"'`]{{1,128}}{_B}[^\s\"'`]{{1,64}}{_B}", "mc alias set "),
    _option("nmcli", rf"(?:password|[\w.-]{{1,40}}psk){_B}", "nmcli "),
    _command("wpa_passphrase", "wpa_passphrase ", rf"wpa_passphrase{_B}{_QUOTED}{_B}{_SHELL_OPEN}")._replace(
        judge=is_given
    ),
    _option("networksetup", rf"-setairportnetwork{_B}\w{{1,16}}{_B}{_QUOTED}{_B}", "-setairportnetwork"),
    _option("security", rf"-w{_B}", "-password"),
    _option("poetry config", rf"http-basic\.{_NAME}{_B}{_NAME}{_B}", "http-basic."),
    _option("aws configure set", rf"{_NAME}(?:secret|token)_?\w{{0,20}}{_B}", "configure set "),
    _command("net user", "net user ", rf"net user{_B}{_NAME}{_B}"),
    _command("rabbitmqctl", "add_user,change_password", rf"(?:add_user|change_password){_B}{_NAME}{_B}"),
    _command("sqlplus", "sqlplus,thin:", rf"(?:sqlplus|thin:){BLANK}{{0,4}}{_NAME}/"),
    _command("echo … into sudo -S, docker login, …", "echo ", _ECHO, rf"{_PIPE}(?:{_READERS})"),
    _command("sudo -S <<< …", "sudo ", rf"sudo{_AFTER}-S[^\n|;&]{{0,160}}<<<[ ]?{_SHELL_OPEN}"),
    _command("chpasswd", "chpasswd", rf"{_ECHO}{_NAME}:", rf"{_PIPE}chpasswd"),
    _command("npm config set", ":_auth,:_password", rf":_(?:authToken|auth|password){_B}{_OPEN}"),
    _command("ConvertTo-SecureString", "SecureString ", rf"ConvertTo-SecureString{_B}(?:-String{_B})?{QUOTE}"),
    _command("vault operator unseal", "nseal", rf"(?:Unseal Key [0-9]{{1,2}}:|operator unseal){_B}"),
    _written("SQL: IDENTIFIED BY", "DENTIFIED,dentified", rf"(?i:identified{_B}{_WITH}by){_B}{QUOTE}"),
    _written("SQL, Gradle: PASSWORD '…'", "assword ,ASSWORD ", rf"(?i:password){_B}(?:={BLANK}?)?N?{QUOTE}"),
    _written("SQL: CREATE USER, ALTER ROLE", "assword,ASSWORD", _SQL)._replace(judge=is_given),
    _part("`User ID=…;Password=`, `user=…,password=`", "assword,ASSWORD,wd=,WD=,pass=", _LISTED),
    _part("`username=…&password=`", "assword=,asswd=", rf"&{_FORM}="),
    _part("`password=…&username=`", "&", rf"[\"']{_FORM}=", r"(?=&[\w.%\[\]-]{1,64}=)"),
    _phrase("`--password '…'`", "--pass", r"--[\w-]{0,32}pass(?:word|phrase)?[= ]"),
    _phrase("`X_PASSWORD='…'`", "PASS", r"[A-Z0-9_]{0,64}PASS(?:WORD|WD|PHRASE)?="),
    _phrase("`sshpass -p '…'`", "sshpass", rf"sshpass{_AFTER}-p{BLANK}{{0,4}}"),
    _written("Windows: the key of a WLAN", "Key Content", rf"Key Content{BLANK}{{1,40}}:{_B}")._replace(judge=is_given),
    _part("Wi-Fi codes", "WIFI:", r"WIFI:(?:[A-OQ-Z]:[^;\s\"'`]{0,64};){0,4}P:", ";"),
    _written("NickServ", "dentify ", rf"NickServ{_B}(?i:identify){_B}"),
    _written("routers", "password ", rf"username {_NAME} (?:privilege [0-9]{{1,2}} )?password{BLANK}[0-9]{BLANK}"),
    _written("a prompt for a password", "assword for ,assphrase for ,assword is generated for ",
             rf"(?:assword|assphrase)(?: is generated)? for (?:key )?[^\s:]{{1,160}}:{BLANK}", end=_TO_END),
    _written("AWS prompts", "Secret Access Key [", rf"Secret Access Key \[[\w*]{{1,40}}\]:{_B}"),
    _written("expect", "assword", rf"send{_B}(?:--{_B})?{QUOTE}", r"\\[rn]", end=r"[\"'][^\n]{0,16}assword"),
    _written("Redis", "pass ,auth ,AUTH ", rf"(?:requirepass|masterauth|AUTH(?: default)?){_B}{_OPEN}", end=_TO_END),
    _written("`.login(user, …)`, `auth=(user, …)`", "login(,auth", rf"(?:\.login|auth ?=) ?\({_STRING}{QUOTE}"),
    _written("PDO", "PDO(", rf"PDO\({_STRING}{_STRING}{QUOTE}"),
    _written("`user:…@tcp(`", "@tcp(,@unix(", r"[\"'`=]\w{1,64}:", _SOCKET)._replace(marker=_SOCKET),
    _written("expect", "send ", rf"assword[^\n]{{0,24}}{SPACE}{{1,4}}send{_B}(?:--{_B})?{QUOTE}"),
    _written("browser tests", "assword", rf"assword[^\n]{{0,12}}\)\.(?:type|fill|sendKeys|send_keys)\({QUOTE}"),
    _written("the password for … is …", "assword ", rf"assword (?:for|of) [^\n]{{1,64}} (?:is|was){_B}{_OPEN}"),
    _written("shown passwords", "assword", _SHOWN, end=_TO_END),
    _written("Elasticsearch", "New value:,PASSWORD ",
             rf"(?:assword[^\n]{{0,80}}{_LINE}New value:|PASSWORD \w{{1,40}} =){_B}"),
    _written("Cisco", "secret ", rf"(?:enable|username {_NAME}) secret{BLANK}[0-9]{BLANK}"),
    _written("Sidekiq", "ontribsys,ONTRIBSYS", rf"(?i:contribsys)(?:\.com/|__com|__COM){_NAMED}"),
    _written("WordPress", "_KEY',_KEY\",_SALT", rf"(?:AUTH|IN|NONCE)_(?:KEY|SALT){QUOTE},{BLANK}{{0,16}}{QUOTE}"),
    _written("wallets, reporters", "allet,ALLET,eporter,EPORTER",
             rf"(?i:wallet_?wif|wallet-wif|test_?reporter_?id){_NAMED}"),
    Form("written-password", ("ookie", "OOKIE"), rf"(?i:erlang[_.-]?cookie){_NAMED}[A-Z]{{20}}",
         rf"(?i:erlang[_.-]?cookie){_NAMED}([A-Z]{{20}})(?![A-Za-z])", "Erlang", _anything),
    Form("written-password", ("nemonic", "NEMONIC", "hrase", "HRASE"),
         rf"{_SEED}[a-z]{{3,8}} [a-z]{{3,8}} [a-z]{{3,8}} [a-z]{{3,8}} ",
         rf"{_SEED}((?:[a-z]{{3,8}} ){{11,23}}[a-z]{{3,8}})(?![a-z])", "seed phrases", _anything),
    _found("seed-phrase", " ,\n", mnemonic.MARKER, mnemonic.mnemonics, "12 to 24 words of BIP-39")._replace(
        apart=True),
    _found("private-key", "MII,MHc,MHQ,MG,MI,MC4CA,b3Blbn,Private-Lines,PRIVATE KEY",
           keybody.MARKER, keybody.key_bodies, "the body of a key without its armour, PuTTY"),
    _found("file-password", "ass,ASS,wd,WD,psk,PSK", settings.MARKER, settings.settings,
           "settings in INI, YAML, `.env`, …"),
    Form("file-password", ("login",), _LOGIN, f"{_START}{_LOGIN}{_OPEN}{_VALUE}", "`.netrc`", is_given),
    Form("file-password", (":",), _PGPASS, rf"{_PGPASS}([^\s:\"'`\\]{{5,256}})(?=\s|$|[\\\"'`\r])", "`.pgpass`",
         is_given),
    Form("cookie", ("ookie",), f"{_HEADER}{_LATER}", f"{_HEADER}({_COOKIES})", "a random-looking value in `Cookie`"),
    Form("cookie", ("-b",), rf"{_JAR}[\w.-]{{1,64}}{_LATER}", rf"{_JAR}([\w.-]{{1,64}}={_COOKIES})", "or `curl -b`"),
)  # fmt: skip
_COOKIE: Final = re.compile(r"[\w.-]{1,64}=([^\s;,=\"'`\\]{16,})", re.ASCII)


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII | re.MULTILINE)


def formed_secrets(text: str, numbers: Iterable[int]) -> Iterator[Span]:
    """Yield the passwords in commands and files, and the secrets among cookies; forms are given by number."""
    for form in map(FORMS.__getitem__, numbers):
        if any(literal in text for literal in form.literals):
            yield from _cookies(text, form) if form.name == "cookie" else _passwords(text, form)


def _passwords(text: str, form: Form) -> Iterator[Span]:
    if form.find is not None:
        yield from ((start, end, form.name) for start, end in form.find(text))
        return
    for match in _compiled(form.pattern).finditer(text):
        if form.judge(match[1]):
            yield match.start(1), match.end(1), form.name


def _cookies(text: str, form: Form) -> Iterator[Span]:
    for header in _compiled(form.pattern).finditer(text):
        for match in _COOKIE.finditer(text, *header.span(1)):
            if is_secret(match[1]):
                yield match.start(1), match.end(1), form.name

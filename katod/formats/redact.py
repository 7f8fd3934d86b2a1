"""Removes well-known kinds of secrets from text before it is written.

Promised: the same text gives the same result, a second redaction changes nothing, time grows with the length of the
text and not with its shape, nothing raises, and a replacement names the rule that matched and keeps no trace of the
secret: `[REDACTED:github-token]`.

Best effort: a secret without a known prefix, header, URL or telling name in front of it is not found, nor is one that
is split, encoded or spelled out. Some harmless text that looks like a secret is redacted.

It is fast because most texts contain no secrets. A prefixed secret needs a run of 20 characters out of [A-Za-z0-9_-]:
only such runs are searched for markers, and only rules whose marker was found are applied to the text. Patterns start
with a literal, which the engine finds quickly; conditions on what precedes it come after it. A quantifier without a
bound is possessive, or last, or stops at what starts the next match.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from katod.formats.mdtext import clean

# Rises when a rule is added or changed; a recording keeps the version it started with.
RULES_VERSION: Final = 1
# The beginning of every replacement.
REDACTED: Final = "[REDACTED:"


# Start, end and rule of a secret.
Span = tuple[int, int, str]


class Rule(NamedTuple):
    """The name that replaces a match; a pattern that is cheap to search for; the pattern; a fact about the secret."""

    name: str
    marker: str
    pattern: re.Pattern[str]
    fact: str


def _rule(name: str, marker: str, pattern: str, fact: str) -> Rule:
    return Rule(name, marker, re.compile(pattern, re.ASCII), fact)


def _fresh(marker: str) -> str:
    r"""Match the marker outside a word, or directly after a JSON string's `\n`, `\r`, `\t` or a colour code."""
    return rf"{marker}(?:(?<![\w+/-]{marker})|(?<=\\[nrt]{marker})|(?<=[0-9;\[][mK]{marker}))"


_PEM: Final = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    # then a line of base64, or enough of it after headers: a mere mention of the first line is not a block
    r"(?=(?:[ \t\r]{0,8}(?:\n|\\{1,8}[nr])){1,4}[^A-Za-z\n]{0,12}[A-Za-z0-9+/=]++(?:[\r\n\"'`\\]|\Z)"
    r"|(?:[^\[]|\[(?!REDACTED:)){0,160}?[A-Za-z0-9+/]{40})"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_URL: Final = (
    r"(://[^\s/:@\[\"'`<>\\]*+:)(?!\[REDACTED:|\{|\$[A-Za-z_{(]|%[sd(]|(?:\*{1,64}|x{1,64}|\.{3})@)"
    r"[^\s/?#\"'`<>\\]+(?=@[\w\[{$%.-])"
)
_QUOTE: Final = r"\\{0,3}[\"'`]"
_SIGN: Final = (  # after a name: a closing quote or subscript, a type, and one of = : := == => ,
    rf"(?:{_QUOTE}\]?)?[ \t]{{0,8}}"
    r"(?:(?::[ \t]?&?[A-Za-z_.]{2,16}[ \t]{0,2})?={1,3}>?|:=?|(?<=[\"'`]),)[ \t]{0,8}"
)
_REST: Final = r"(?:word|wd|phrase|code)?(?:[_-]?(?:base|value|prod|dev|test|staging|[0-9]{1,3}))?"
_DISCORD_ID: Final = "|".join(rf"(?<=[MNO][\w-]{{{length}}}\.)" for length in range(22, 28))
_OPENAI: Final = _fresh("sk-") + r"(?=[A-Za-z]{0,80}[0-9]|[A-Za-z]{40})[A-Za-z0-9]{20,}"

# A block may contain anything, so it is matched first.
PEM: Final = _rule("private-key", "PRIVATE KEY", _PEM, "PEM block, whole or cut off, with real or escaped line ends")

# Found by a prefix; group 1 is kept. Those that may start inside a word come first and end only where their
# alphabet ends, so that no match depends on another.
PREFIXED: Final = (
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{16,}", "Anthropic: sk-ant-api03-, -admin01-, -oat01-"),
    _rule("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[A-Za-z0-9]{20,}", "OpenRouter: sk-or-v1- and 64 hex"),
    _rule("openai-key", "sk-", r"sk-(?:proj|svcacct|admin)-[\w-]{16,}", "OpenAI: project, service, admin"),
    _rule("github-token", "gh[pousr]_", r"gh[pousr]_[A-Za-z0-9_]{36,}", "GitHub: personal, OAuth, app"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}", "GitHub: fine-grained, 22 _ 59"),
    _rule("gitlab-token", "glpat-", r"glpat-[\w-]{20,}", "GitLab: personal access token, 20 or more"),
    _rule("slack-token", "x(?:ox|app)", r"x(?:ox[abeprs]|app)-[A-Za-z0-9-]{15,}", "Slack: bot, user, app, …"),
    _rule("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}", "Hugging Face: 34 letters and digits"),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36,}", "npm: 30 random characters and a checksum of 6"),
    _rule("pypi-token", "pypi-", r"pypi-[A-Za-z0-9]{8}[\w-]{32,}", "PyPI: a macaroon, AgEIcHlwaS5vcmc…"),
    _rule("stripe-key", "k_live_", r"[sr]k_live_[A-Za-z0-9]{16,}", "Stripe: secret and restricted keys"),
    _rule("stripe-key", "whsec_", r"whsec_[A-Za-z0-9]{20}[A-Za-z0-9+/=]*", "Stripe: webhook signing secret"),
    _rule("supabase-token", "sb(?:p|_secret)_", r"sb(?:p_[A-Za-z0-9]{20,}|_secret_[\w-]{20,})", "Supabase"),
    _rule("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}", "Groq: 52 letters and digits"),
    _rule("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}", "xAI: 80 letters and digits"),
    _rule("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}", "Perplexity: 48 letters and digits"),
    _rule("digitalocean-token", "do[opr]_v1_", r"do[opr]_v1_[a-f0-9]{40,}", "DigitalOcean: 64 hex"),
    _rule("shopify-token", "shp(?:at|ca|pa|ss)_", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}", "Shopify: 32 hex"),
    _rule("vault-token", r"hv[sb]\.", r"hv[sb]\.[\w-]{24,}", "HashiCorp Vault: service and batch tokens"),
    _rule("docker-token", "dckr_pat_", r"dckr_pat_[\w-]{20,}", "Docker Hub: 27 characters"),
    _rule("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}", "Linear: 40 letters and digits"),
    _rule("figma-token", "figd_", r"figd_[\w-]{32,}", "Figma: 40 characters"),
    _rule("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}", "age: 58 characters"),
    _rule("google-oauth", r"ya29\.", r"ya29\.[\w-]{20,}", "Google: OAuth access token"),
    _rule("google-oauth", "GOCSPX-", r"GOCSPX-[\w-]{24,}", "Google: OAuth client secret, 28 characters"),
    _rule("sendgrid-key", r"SG\.", r"SG\.[\w-]{20,40}\.[\w-]{30,}", "SendGrid: 22 . 43 characters"),
    _rule("telegram-token", ":AA", r"(:)AA(?<=[0-9]{8}:AA)[\w-]{32,}", "Telegram: the bot's id, :AA and 33"),
    _rule("openai-key", "sk-", _OPENAI, "OpenAI and compatible: sk- and 20 to 50 letters and digits"),
    _rule("aws-key-id", "AKIA", _fresh("AKIA") + r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AWS: long-term key id"),
    _rule("aws-key-id", "ASIA", _fresh("ASIA") + r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AWS: temporary key id"),
    _rule("google-api-key", "AIza", _fresh("AIza") + r"[\w-]{35}(?![\w-])", "Google: 39 characters in all"),
    _rule(
        "jwt",
        "eyJ",
        _fresh("eyJ") + r"[\w-]{17,}+\.[\w-]{10,}+(?:\.[\w-]{4,}+){1,3}",
        'JSON Web Token: eyJ is the base64 of {"',
    ),
    _rule(
        "discord-token",
        r"\.(?![a-z_]{6})[\w-]{6}\.[\w-]{27}",
        rf"(\.)(?![a-z_]{{6}})(?=[\w-]{{6}}\.[\w-]{{27}})(?:{_DISCORD_ID})[\w-]{{6}}\.[\w-]{{27,}}",
        "Discord: the bot's id in base64 . time . 27 or 38 characters",
    ),
)

# Searched for only if there is a URL; group 1 is kept.
IN_URLS: Final = (
    _rule("slack-webhook", "hooks.slack.com", r"(hooks\.slack\.com/\w+/)[\w/+-]{20,}", "Slack: incoming webhook URL"),
    _rule("discord-webhook", "/api/webhooks/", r"(/api/webhooks/[0-9]{10,24}/)[\w-]{30,}", "Discord: webhook URL"),
    _rule("url-password", "@", _URL, "user:password@host; only the password is replaced"),
)

# Found by the name in front, in any case. The pattern matches what follows the name; group 1 or 2 is replaced.
HEADER: Final = _rule(
    "authorization",
    "authorization",
    rf"(?i){_SIGN}[bfru]{{0,2}}(?:{_QUOTE})?"
    r"(?:bearer|basic|token|bot|api-?key|key)[ \t]{1,4}([\w.~+/=:|-]{8,}+)",
    "HTTP `Authorization` header; the scheme stays",
)
ASSIGNED: Final = _rule(
    "secret",
    "authorization|pass|secret|token|key",
    rf"(?i){_REST}{_SIGN}(?:[bfru]{{0,2}}{_QUOTE}(?!\[REDACTED:)([^\s\"'`\\]{{12,}}+)"
    r"|([^\s\"'`\\,;&<>(){}\[\]|]{12,}+))",
    "a name like `password`, `secret`, `token` or `api_key`, then a random-looking value of 12 or more characters",
)

# Invisible characters: controls (except newline and tab), direction marks, characters of no width.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_VEIL: Final = b"\0"  # a control character in the translated text
_RUN: Final = b"a" * 20
_CLASSES: Final = re.sub(
    rb"[^a\0]", b" ", re.sub(rb"[\x00-\x08\x0b-\x1f\x7f]", _VEIL, re.sub(rb"[\w-]", b"a", bytes(range(256))))
)
_MARKED: Final = re.compile("|".join(dict.fromkeys(rule.marker for rule in PREFIXED)), re.ASCII)
_ENDS: Final = (b"zation", b"pass", b"cret", b"ken", b"key")  # they start with a rare letter
_WORDS: Final = list(zip(ASSIGNED.marker.encode().split(b"|"), map(re.compile, _ENDS), strict=True))
_KEYS: Final = tuple(b"api access private secret client auth signing master account".split())
_EXAMPLE: Final = re.compile(r"(?i)example|placeholder|your[_-]|xxxx|\*{4}|change[_-]?me|dummy|\.{3}|…|^<")
_CODE: Final = re.compile(r"\w\(|[${]\{|\{[\w.]*\}|^\$[A-Za-z_]|^%\w+%$|://|^(?:[.~]{0,2}/|[A-Z]:\\)[^/]{0,30}/")
_WORD: Final = re.compile(r"[A-Za-z]{2,}[0-9]{0,3}|[A-Za-z]?[0-9]{0,4}")


def redact(text: str) -> str:
    """Return the text with every secret that a rule matches replaced; the same object if there is none.

    Colours, control characters and characters of no width may be inside a secret but vanish on display. If a secret is
    found only without them, the text is returned without them.
    """
    while (done := _once(text)) is not text:
        text = done
    return text


def _once(text: str) -> str:
    """Apply all rules once; `redact` repeats it, because a replacement may uncover a match."""
    done = _replace(PEM, text) if PEM.marker in text else text
    plain = _plain(done)
    runs = plain.translate(_CLASSES)
    veiled = _is_veiled(text, runs)
    if (start := runs.find(_RUN)) >= 0:
        done = _prefixed(done, runs, start)
    if ":" in done or "=" in done or "," in done:
        done = _in_urls(done) if "://" in done else done
        done = _named(done, plain if done is text else _plain(done))
    return _unveiled(text, done) if veiled else done


def _in_urls(text: str) -> str:
    for rule in IN_URLS:
        if rule.marker in text:
            text = _replace(rule, text)
    return text


def _is_veiled(text: str, runs: bytes) -> bool:
    return _VEIL in runs or (not text.isascii() and _UNSEEN.search(text) is not None)


def _unveiled(text: str, done: str) -> str:
    """Return a redacted text, or its visible characters if the rules find more in those."""
    seen = _UNSEEN.sub("", clean(text))
    if seen == text or (shown := _once(seen)) is seen or shown == _UNSEEN.sub("", clean(done)):
        return done
    return shown


def _plain(text: str) -> bytes:
    """Return one byte per character: positions are the same in both, and bytes are quick to map."""
    return text.encode("ascii", "replace")


def _replace(rule: Rule, text: str) -> str:
    lead = r"\1" if rule.pattern.groups else ""
    done, count = rule.pattern.subn(f"{lead}[REDACTED:{rule.name}]", text)
    return done if count else text


def _prefixed(text: str, runs: bytes, start: int) -> str:
    long_runs = _long_runs(text, runs, start)
    if _MARKED.search(long_runs):
        for rule in PREFIXED:
            if re.search(rule.marker, long_runs, re.ASCII):
                text = _replace(rule, text)
    return text


def _long_runs(text: str, runs: bytes, start: int) -> str:
    """Join the runs that may contain a secret, each with a few preceding characters for markers such as `SG.`."""
    found = set()
    find = runs.find
    while start >= 0:
        end = find(b" ", start)
        if end < 0:
            end = len(runs)
        found.add(text[start - 8 if start > 8 else 0 : end])
        start = find(_RUN, end)
    return " ".join(found)


def _named(text: str, plain: bytes) -> str:
    low = plain.lower()
    spans: list[Span] = []
    for word, end_of_word in _WORDS:
        start = _near(low, end_of_word) if len(low) > 2000 else 0
        if start >= 0 and (at := low.find(word, start)) >= 0:
            spans += _values(text, low, word, at)
    end, parts = 0, [""]
    for start, stop, name in sorted(spans):
        if start >= end:
            parts += text[end:start], f"[REDACTED:{name}]"
            end = stop
    return "".join((*parts, text[end:])) if spans else text


def _near(low: bytes, end_of_word: re.Pattern[bytes]) -> int:
    """Return a position shortly before the first match; `find` from the start would take longer."""
    found = end_of_word.search(low)
    return max(found.start() - 9, 0) if found else -1


def _values(text: str, low: bytes, word: bytes, at: int) -> Iterator[Span]:
    """Yield each secret value after the word; a value is judged once, as a whole."""
    while at >= 0:
        end, span = _value_after(text, low, word, at)
        if span is not None:
            yield span
        at = low.find(word, end)


def _value_after(text: str, low: bytes, word: bytes, at: int) -> tuple[int, Span | None]:
    """Return where the value after a word ends, and its span if it is a secret."""
    end = at + len(word)
    if word == b"key" and not low[max(at - 9, 0) : at].rstrip(b" ._-").endswith(_KEYS):
        return end, None
    if word == b"authorization" and (match := HEADER.pattern.match(text, end)):
        value = match[1].rstrip(".:")
        span = (match.start(1), match.start(1) + len(value), HEADER.name)
        return match.end(), span if _is_credential(value) else None
    match = ASSIGNED.pattern.match(text, end)
    return (match.end(), _assigned(text, word, match)) if match else (end, None)


def _assigned(text: str, word: bytes, match: re.Match[str]) -> Span | None:
    start, end = match.start(match.lastindex or 0), match.end()
    phrase = match[1] is not None and word == b"pass" and "," not in text[match.pos : start]
    value = match[1] or match[2].rstrip(".:!?*~")
    called = match[2] and text[end : end + 1] in {"(", "[", "{"}
    if called or not _is_secret(value, phrase=phrase):
        return None
    return start, start + len(value), ASSIGNED.name


def _is_credential(value: str) -> bool:
    """Return whether a header's value is a credential, not words of a sentence or an example."""
    mixed = not value.isupper() and not value[1:].islower() and _entropy(value) >= 3
    return not _EXAMPLE.search(value) and (mixed or len(value) >= 20 or any(map(str.isdigit, value)))


def _is_secret(value: str, *, phrase: bool) -> bool:
    """Return whether a value is random, not a name, a path, a template or an example; a pass phrase may be words."""
    value = value[:256]
    if len(set(value)) < 12 or _EXAMPLE.search(value) or _CODE.search(value) or _entropy(value) < 3.5:
        return False
    if phrase and not re.fullmatch(r"[\w./:]+", value):
        return not re.search(r"(?i)passw|secret|token|key", value)
    return not all(map(_is_word, re.split(r"[\W_]+", value)))


def _is_word(part: str) -> bool:
    """Return whether a part is a word like `refreshTokenV2`, not random letters: those change case more often."""
    return _WORD.fullmatch(part) is not None and len(re.findall("[A-Z]+", part)) * 4 <= len(part) + 3


def _entropy(value: str) -> float:
    """Return the Shannon entropy, in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def redact_json(value: Any) -> Any:
    """Redact every string of a JSON value, but not its keys; a value without secrets is returned as the same object.

    Nothing is changed in place: only the containers on the way to a secret are copied. A string under a telling key is
    judged as if the key preceded it in text. Works at any depth.
    """
    root = [value]
    nodes: list[tuple[Any, int, Any]] = [(root, 0, 0)]  # a container, the number of its parent, its key there
    copies: dict[int, Any] = {0: root}
    for number, (held, _, _) in enumerate(nodes):  # grows during the iteration
        for key, item in held.items() if isinstance(held, dict) else enumerate(held):
            if isinstance(item, (dict, list)):
                nodes.append((item, number, key))
            elif isinstance(item, str) and (done := _redact_under(key, item)) is not item:
                _copy_of(number, nodes, copies)[key] = done
    return root[0]


def _copy_of(number: int, nodes: list[tuple[Any, int, Any]], copies: dict[int, Any]) -> Any:
    """Return the copy of a container; missing copies from the root down to it are made and linked."""
    missing = []
    while number not in copies:
        missing.append(number)
        _, number, _ = nodes[number]
    for number in reversed(missing):
        held, parent, key = nodes[number]
        copies[parent][key] = copies[number] = held.copy()
    return copies[number]


def _redact_under(key: object, text: str) -> str:
    text = redact(text)
    if isinstance(key, str) and _is_judged(key[-100:]):
        lead = f'"{key}": "'
        done = redact(f'{lead}{text}"')
        if done.startswith(lead) and done[len(lead) : -1] != text:
            return done[len(lead) : -1]
    return text


@lru_cache(maxsize=4096)
def _is_judged(key: str) -> bool:
    """Return whether values after this name are judged, by trying one that certainly is a secret."""
    return redact(f"{key}=v9Xq2Lr7Tz4Kw8Pm").endswith("=[REDACTED:secret]")

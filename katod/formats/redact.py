"""Take well-known kinds of secrets out of text before it is written.

Promised: the same text gives the same result, a second redaction changes nothing, time grows with the
length of the text and not with its shape, nothing raises, and what replaces a secret names the rule that
met it and keeps no trace of the secret: `[REDACTED:github-token]`.

Best effort: a secret without a known prefix, header, URL or telling name in front of it is not found,
nor is one that is split, encoded or spelled out; some harmless text that looks like a secret is taken.

Fast because most texts hold none: text becomes bytes of the same length once, a prefixed secret needs a
run of RUN characters out of [A-Za-z0-9_-], only such runs are searched for markers, and only rules whose
marker was met run. Patterns start with a literal, which the engine leaps to; a condition on what stands
before it comes after it. No quantifier stands inside another unless the outer one is small.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple


class Rule(NamedTuple):
    """The name that replaces a match; group 1, where there is one, is text in front that stays."""

    name: str
    markers: tuple[str, ...]
    pattern: re.Pattern[str]
    fact: str


def _rule(name: str, markers: str, pattern: str, fact: str) -> Rule:
    return Rule(name, tuple(markers.split("|")), re.compile(pattern, re.ASCII), fact)


def _fresh(marker: str) -> str:
    r"""Match the marker outside a word, or right after the `\n`, `\r` or `\t` of a JSON string."""
    return rf"{marker}(?:(?<![\w+/-]{marker})|(?<=\\[nrt]{marker}))"


_PEM: Final = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=(?:[ \t\r]{0,8}(?:\n|\\{1,8}[nr])){1,4}[^A-Za-z\n]{0,12}[A-Za-z0-9+/=]++(?:[\r\n\"'`\\]|\Z)"
    r"|[\s\S]{0,160}?[A-Za-z0-9+/]{40})"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
_URL: Final = (
    r"(://[^\s/:@\"'`<>\\]{0,64}:)(?!\[REDACTED:|\{|\$[A-Za-z_{(]|%[sd(]|(?:\*{1,64}|x{1,64}|\.{3})@)"
    r"[^\s/?#\"'`<>\\]{1,256}(?=@[\w\[{$%.-])"
)
_KEYS: Final = (
    "api",
    "access",
    "private",
    "secret",
    "client",
    "auth",
    "encryption",
    "signing",
    "master",
    "account",
    "admin",
    "service",
    "storage",
    "deploy",
)
_QUOTE: Final = r"\\{0,3}[\"'`]"
_SIGN: Final = (  # after a name: a quote or subscript that ends, a type, and one of = : := == => ,
    rf"(?:{_QUOTE}\]?)?[ \t]{{0,8}}(?:(?::[ \t]?&?[A-Za-z_.]{{2,16}}[ \t]{{0,2}})?={{1,3}}>?|:=?|(?<=[\"'`]),)"
    r"[ \t]{0,8}"
)
_REST: Final = r"(?:word|wd|phrase|code)?(?:[_-]?(?:base|value|prod|dev|test|staging|[0-9]{1,3}))?"

# Found by a prefix. Those that may start inside a word come first and end only where their alphabet ends,
# so that no match waits for another; PEM blocks come before all, for they hold anything.
PEM: Final = _rule("private-key", "PRIVATE KEY", _PEM, "PEM block, whole or cut off, lines real or escaped")
PREFIXED: Final = (
    _rule("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{16,}", "Anthropic: sk-ant-api03-, -admin01-, -oat01-"),
    _rule("openrouter-key", "sk-or-", r"sk-or-(?:v1-)?[A-Za-z0-9]{20,}", "OpenRouter: sk-or-v1- and 64 hex"),
    _rule("openai-key", "sk-", r"sk-(?:proj|svcacct|admin)-[\w-]{16,}", "OpenAI: project, service, admin"),
    _rule("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[A-Za-z0-9_]{36,}", "GitHub: 36 or more"),
    _rule("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}", "GitHub: fine-grained, 22 _ 59"),
    _rule("gitlab-token", "glpat-", r"glpat-[\w-]{20,}", "GitLab: personal access token, 20 or more"),
    _rule("slack-token", "xox|xapp-", r"x(?:ox[abeprs]|app)-[A-Za-z0-9-]{15,}", "Slack: bot, user, app, …"),
    _rule("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}", "Hugging Face: 34 letters and digits"),
    _rule("npm-token", "npm_", r"npm_[A-Za-z0-9]{36,}", "npm: 30 random characters and a checksum of 6"),
    _rule("pypi-token", "pypi-", r"pypi-[A-Za-z0-9]{8}[\w-]{32,}", "PyPI: a macaroon, AgEIcHlwaS5vcmc…"),
    _rule("stripe-key", "k_live_", r"[sr]k_live_[A-Za-z0-9]{16,}", "Stripe: secret and restricted keys"),
    _rule("stripe-key", "whsec_", r"whsec_[A-Za-z0-9]{20}[A-Za-z0-9+/=]*", "Stripe: webhook signing secret"),
    _rule("supabase-token", "sbp_|sb_secret_", r"sb(?:p|_secret)_[A-Za-z0-9_]{20,}", "Supabase: 40 hex"),
    _rule("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}", "Groq: 52 letters and digits"),
    _rule("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}", "xAI: 80 letters and digits"),
    _rule("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}", "Perplexity: 48 letters and digits"),
    _rule("google-oauth", "ya29.", r"ya29\.[\w-]{20,}", "Google: OAuth access token"),
    _rule("google-oauth", "GOCSPX-", r"GOCSPX-[\w-]{24,}", "Google: OAuth client secret, 28 characters"),
    _rule("sendgrid-key", "SG.", r"SG\.[\w-]{20,40}\.[\w-]{30,}", "SendGrid: 22 . 43 characters"),
    _rule("telegram-token", ":AA", r"(:)AA(?<=[0-9]{8}:AA)[\w-]{32,}", "Telegram: bot id, :AA and 33 more"),
    _rule("openai-key", "sk-", _fresh("sk-") + r"(?=[A-Za-z]{0,80}[0-9])[A-Za-z0-9]{20,}", "OpenAI and kin"),
    _rule("aws-key-id", "AKIA", _fresh("AKIA") + r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AWS: lasting key id"),
    _rule("aws-key-id", "ASIA", _fresh("ASIA") + r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AWS: temporary key id"),
    _rule("google-api-key", "AIza", _fresh("AIza") + r"[\w-]{35}(?![\w-])", "Google: 39 characters in all"),
    _rule("jwt", "eyJ", _fresh("eyJ") + r"[\w-]{17,}+\.[\w-]{10,}+(?:\.[\w-]{4,}+){1,3}", 'JWT: eyJ is {"'),
)
SHAPED: Final = _rule(
    "discord-token",
    "a" * 23 + " aaaaaa " + "a" * 27,
    r"[MNO](?<![\w.+/-][MNO])[\w-]{22,27}\.[\w-]{6}\.[\w-]{27,}",
    "Discord: user id in base64 (starts with M, N or O) . time . 27 or more; the marker is a shape",
)
IN_URLS: Final = (
    _rule(
        "slack-webhook",
        "hooks.slack.com",
        r"(hooks\.slack\.com/\w{4,12}/)[\w/+-]{20,}",
        "whoever has it posts",
    ),
    _rule(
        "discord-webhook",
        "/api/webhooks/",
        r"(/api/webhooks/[0-9]{10,24}/)[\w-]{30,}",
        "whoever has it posts",
    ),
    _rule("url-password", "@", _URL, "user:password@host; only the password goes"),
)
# Found by the name in front: the marker in any case, then the pattern; group 1 or 2 is the secret.
HEADER: Final = _rule(
    "authorization",
    "authorization",
    rf"(?i){_SIGN}[bfru]{{0,2}}(?:{_QUOTE})?(?:bearer|basic|token|bot|api-?key|key)[ \t]{{1,4}}([\w.~+/=:|-]{{8,}}+)",
    "HTTP header with a scheme; the scheme stays",
)
ASSIGNED: Final = _rule(
    "secret",
    "authorization|pass|secret|token|key",
    rf"(?i){_REST}{_SIGN}(?:[bfru]{{0,2}}{_QUOTE}(?!\[REDACTED:)([^\s\"'`\\]{{12,}}+)"
    r"|([^\s\"'`\\,;&<>(){}\[\]|]{12,}+))",
    "a telling name (of keys: those in _KEYS), a sign and a value that looks random",
)

RUN: Final = 20
_RUN: Final = b"a" * RUN
_CLASSES: Final = bytes(
    ord("a") if chr(c).isalnum() and c < 128 or c in b"_-" else ord(" ") for c in range(256)
)
_BY_MARKER: Final = [(marker, rule) for rule in PREFIXED for marker in rule.markers]
_MARKED: Final = re.compile("|".join([*(re.escape(marker) for marker, _ in _BY_MARKER), r"\.[\w-]{6}\.[\w-]{27}"]))
_EXAMPLE: Final = re.compile(r"(?i)example|placeholder|your[_-]|xxxx|\*{4}|change[_-]?me|dummy|\.{3}|…|^<")
_CODE: Final = re.compile(
    r"\w\(|[${]\{|\{[\w.]{0,40}\}|^\$[A-Za-z_]|^%\w{1,40}%$|://|^(?:[.~]{0,2}/|[A-Z]:\\)[^/]{0,30}/"
)
_WORD: Final = re.compile(r"[A-Za-z]{2,}[0-9]{0,3}|[A-Za-z]?[0-9]{0,4}")


def redact(text: str) -> str:
    """Return the text with every secret that a rule meets replaced; the same object if there is none."""
    while (done := _once(text)) is not text:
        text = done
    return text


def _once(text: str) -> str:
    """Apply all rules one time; `redact` repeats it, for a replacement may uncover a match."""
    done = _replace(PEM, text) if "PRIVATE KEY" in text else text
    runs = done.encode("ascii", "replace").translate(_CLASSES)
    if (start := runs.find(_RUN)) >= 0:
        done = _prefixed(done, runs, start)
    if ":" in done or "=" in done or "," in done:
        done = _named(_in_urls(done) if "://" in done else done)
    return done


def _replace(rule: Rule, text: str) -> str:
    lead = r"\1" if rule.pattern.groups else ""
    done, count = rule.pattern.subn(f"{lead}[REDACTED:{rule.name}]", text)
    return done if count else text


def _prefixed(text: str, runs: bytes, start: int) -> str:
    long_runs = _long_runs(text, runs, start)
    if not _MARKED.search(long_runs):
        return text
    for rule in dict.fromkeys(rule for marker, rule in _BY_MARKER if marker in long_runs):
        text = _replace(rule, text)
    return text


def _long_runs(text: str, runs: bytes, start: int) -> str:
    """Join the runs that may hold a secret, each with a few characters in front for markers such as `SG.`."""
    found = set()
    find = runs.find
    while start >= 0:
        end = find(b" ", start)
        if end < 0:
            end = len(runs)
        found.add(text[start - 8 if start > 8 else 0 : end])
        start = find(_RUN, end)
    return " ".join(found)


def _in_urls(text: str) -> str:
    for rule in IN_URLS:
        if rule.markers[0] in text:
            text = _replace(rule, text)
    return text


def _named(text: str) -> str:
    low = text.lower() if text.isascii() else text.encode("ascii", "replace").decode().lower()
    spans: list[tuple[int, int, str]] = []
    for word in ASSIGNED.markers:
        if (at := low.find(word)) >= 0:
            spans += _values(text, low, word, at)
    parts, end = [""], 0
    for start, stop, name in sorted(spans):
        if start >= end:
            parts += text[end:start], f"[REDACTED:{name}]"
            end = stop
    return "".join((*parts, text[end:])) if spans else text


def _values(text: str, low: str, word: str, at: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and rule of each secret value after the word; a value is judged once, as a whole."""
    while at >= 0:
        end = at + len(word)
        if word == "authorization" and (header := HEADER.pattern.match(text, end)):
            end = header.end()
            value = header[1].rstrip(".:")
            if _is_credential(value):
                yield header.start(1), header.start(1) + len(value), HEADER.name
        elif (assigned := ASSIGNED.pattern.match(text, end)) and (word != "key" or _opens(low, at)):
            end = assigned.end()
            start, value = (
                assigned.start(assigned.lastindex or 0),
                assigned[1] or assigned[2].rstrip(".:!?*~"),
            )
            called = assigned[2] and text[end : end + 1] in tuple("([{")
            if not called and _is_secret(value, phrase=bool(assigned[1]) and word == "pass"):
                yield start, start + len(value), ASSIGNED.name
        at = low.find(word, end)


def _opens(low: str, at: int) -> bool:
    """Tell an `api_key` from a `cache_key` by the word in front of the key."""
    return low[max(at - 12, 0) : at].rstrip(" ._-").endswith(_KEYS)


def _is_credential(value: str) -> bool:
    """Tell a header's credential from the words of a sentence or of an example."""
    if _EXAMPLE.search(value):
        return False
    return any(c.isdigit() for c in value) or (
        not value[1:].islower() and not value.isupper() and _entropy(value) > 3
    )


def _is_secret(value: str, *, phrase: bool) -> bool:
    """Tell a random value from an identifier, a path, a template or an example; a pass phrase may be words."""
    value = value[:256]
    if len(value) < 12 or _EXAMPLE.search(value) or _CODE.search(value) or _entropy(value) < 3.5:
        return False
    if phrase and not re.fullmatch(r"[\w./:]+", value):
        return not re.search(r"(?i)passw|secret|token|key", value)
    return not all(_is_word(part) for part in re.split(r"[\W_]+", value))


def _is_word(part: str) -> bool:
    """Tell `refreshTokenV2` from letters thrown together, by how often capitals start anew."""
    return _WORD.fullmatch(part) is not None and len(re.findall("[A-Z]+", part)) * 4 <= len(part) + 3


def _entropy(value: str) -> float:
    """Shannon's, in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def redact_json(value: Any) -> Any:
    """Redact every string of a JSON value, keys aside; what holds no secret comes back as the same object.

    Nothing is changed in place: only the containers on the way to a secret are copied. A string under a
    telling key counts as if the key stood before it in text. Any depth will do.
    """
    root = [value]
    nodes: list[_Node] = [_Node(root, 0, 0)]
    copies: dict[int, Any] = {0: root}
    for number, node in enumerate(nodes):  # grows while it is walked
        held = node.held
        for key, item in held.items() if isinstance(held, dict) else enumerate(held):
            if isinstance(item, (dict, list)):
                nodes.append(_Node(item, number, key))
            elif isinstance(item, str) and (done := _redact_under(key, item)) is not item:
                _copy_of(number, nodes, copies)[key] = done
    return root[0]


class _Node(NamedTuple):
    """A container, the number of the one it lies in, and where."""

    held: Any
    parent: int
    key: Any


def _copy_of(number: int, nodes: list[_Node], copies: dict[int, Any]) -> Any:
    """Return the copy of a container; what is missing from the root down to it is made and linked."""
    missing = []
    while number not in copies:
        missing.append(number)
        number = nodes[number].parent
    for number in reversed(missing):
        node = nodes[number]
        copies[node.parent][node.key] = copies[number] = node.held.copy()
    return copies[number]


def _redact_under(key: object, text: str) -> str:
    text = redact(text)
    if isinstance(key, str) and _is_telling(key):
        lead = f'"{key}": "'
        done = redact(f'{lead}{text}"')
        if done.startswith(lead) and done[len(lead) : -1] != text:
            return done[len(lead) : -1]
    return text


@lru_cache(maxsize=4096)
def _is_telling(key: str) -> bool:
    """Tell whether a value after this name would be judged; a value that is surely taken shows it."""
    return _named(f"{key}=v9Xq2Lr7Tz4Kw8Pm").endswith("=[REDACTED:secret]")

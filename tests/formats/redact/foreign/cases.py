"""The kinds of secrets, and texts with a secret of each kind in them."""

import random
import re
import shlex
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from .slots import PASSWORD_SYMBOLS, WORDS, b64, expand, password
from .structured import MADE
from .tables import rows, sections


class Case(NamedTuple):
    """A text with a secret in it that has to go; `secret` is written as the text has it."""

    group: str
    kind: str
    context: str
    secret: str
    text: str


class Kind(NamedTuple):
    """A kind of secret.

    `shape` is "bare" if the value is recognisable by itself, "named" if only after a telling name. `names` are what people
    call it, in capitals; `headers` are HTTP headers that carry it. `form` is "token", "url", "pem" (several lines), "conn"
    (a connection string) or "frame" (only in `frames`). `weak` is an identifier or a publishable key, which does no harm
    if it stays.
    """

    name: str
    value: Callable[[random.Random], str]
    shape: str
    names: tuple[str, ...]
    headers: tuple[str, ...]
    form: str
    frames: tuple[str, ...]
    weak: bool
    group: str


class Password(NamedTuple):
    """A form of passwords in a terminal, a file or code: <P> the password, <U> a user, <B> base64 of both, <X> of <P>."""

    name: str
    style: str
    template: str


def _maker(template: str) -> Callable[[random.Random], str]:
    return MADE[template] if template.startswith("@") else lambda rng: expand(template, rng)


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every kind of secret."""
    return tuple(_kind(group, line) for group, lines in sections("kinds.txt").items() for line in lines)


def _kind(group: str, line: str) -> Kind:
    name, how, template, names = re.split(r"\s{2,}", line)
    how, _, weak = how.partition(",")
    shape, _, form = how.partition(":")
    words = names.split(",")
    return Kind(
        name, _maker(template), shape, tuple(word for word in words if not word.startswith("h:")),
        tuple(word[2:] for word in words if word.startswith("h:")), form or "token", _contexts("frame").get(name, ()),
        bool(weak), "weak" if weak else group,
    )  # fmt: skip


@cache
def passwords() -> tuple[Password, ...]:
    """Return the forms in which passwords appear in terminals, files and code."""
    return tuple(Password(*line) for line in rows("passwords.txt"))


@cache
def _contexts(group: str) -> dict[str, tuple[str, ...]]:
    """Return the contexts of a group: texts with marks for the value and for its name in several styles."""
    found = sections("contexts.txt")
    return {name.partition(" ")[2]: lines for name, lines in found.items() if name.partition(" ")[0] == group}


# The part of a URL or of a connection string that must go.
SENSITIVE: dict[str, str] = {
    "microsoft-teams-webhook": r"IncomingWebhook/([0-9a-f]{32})",
    "slack-webhook-url": r"/B\w+/(\w+)",
    "discord-webhook": r"/([\w-]{68})$",
    "slack-workflow-webhook": r"/(\w{32})$",
    "google-chat-webhook": r"token=(.+)$",
    "feishu-webhook": r"hook/(.+)$",
    "dingtalk-webhook": r"access_token=(.+)$",
    "wecom-webhook": r"key=(.+)$",
    "zapier-webhook": r"catch/\d+/(\w+)",
    "aws-presigned-url": r"Signature=(\w+)",
    "azure-sas-url": r"sig=(.+)$",
    "azure-logic-app-url": r"sig=(.+)$",
    "azure-storage-connection": r"AccountKey=([^;]+)",
    "azure-servicebus-connection": r"SharedAccessKey=([^;]+)",
    "azure-cosmos-connection": r"AccountKey=([^;]+)",
}


def _name_forms(name: str) -> dict[str, str]:
    """Return the styles of a name."""
    flat = name if "_" in name else re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    words = [w for w in flat.replace("-", "_").lower().split("_") if w]
    camel = words[0] + "".join(w.capitalize() for w in words[1:])
    screaming = re.sub(r"\W", "_", flat).upper()
    return {"<N>": screaming, "<n>": screaming.lower(), "<c>": camel, "<k>": "-".join(words), "<d>": ".".join(words)}


def _put(text: str, marks: dict[str, str]) -> str:
    """Replace marks; what is put in is not looked at again."""
    return re.sub("|".join(map(re.escape, marks)), lambda m: marks[m[0]], text)


def _place(template: str, value: str, name: str, rng: random.Random, header: str = "") -> tuple[str, str]:
    """Return the secret as the text has it, and the text."""
    forms = {"<P>": quote(value, safe="-_.~"), "<E>": b64(value), "<Q>": shlex.quote(value), "<V>": value}
    secret = next((forms[mark] for mark in ("<P>", "<E>") if mark in template), value)
    return secret, _put(expand(template, rng), {**_name_forms(name), "<H>": header, **forms})


def _place_pem(template: str, value: str, name: str, rng: random.Random) -> tuple[str, str]:
    lines = value.split("\n")
    body = [line for line in lines if line and not line.startswith("-----")]
    forms = {
        "<V>": ("\n".join(lines), "\n".join(body)),
        "<J>": ("\\n".join(lines), "\\n".join(body)),
        "<I>": ("\n".join("    " + x for x in lines), "\n".join("    " + x for x in body).strip()),
        "<L>": ("\n".join(f"{i:6}\t{x}" for i, x in enumerate(lines, 1)), body[0]),
    }
    mark = next(m for m in forms if m in template)
    return forms[mark][1], _put(expand(template, rng), {**_name_forms(name), mark: forms[mark][0]})


def pieces(secret: str) -> list[str]:
    """Return the lines of a secret, each of which must be gone."""
    return [line.strip() for line in re.split(r"\\n|\n", secret) if len(line.strip()) >= 8]


def _contexts_of(kind: Kind) -> dict[str, tuple[str, ...]]:
    if kind.form == "frame":
        return {f"frame {i}": (frame,) for i, frame in enumerate(kind.frames)}
    if kind.form == "pem":
        return _contexts("pem")
    if kind.form in ("url", "conn"):
        return {n: t for n, t in _contexts("url").items() if kind.form == "url" or n != "curl"}
    contexts = dict(_contexts(kind.shape))
    if kind.headers:
        contexts |= _contexts("header")
    return contexts


def _kind_cases(kind: Kind, per_kind: int, rng: random.Random) -> Iterator[Case]:
    contexts = _contexts_of(kind)
    order: list[str] = []
    while len(order) < per_kind:
        order += rng.sample(sorted(contexts), len(contexts))
    for context in order[:per_kind]:
        template, value, name = rng.choice(contexts[context]), kind.value(rng), rng.choice(kind.names)
        if kind.form == "pem":
            secret, text = _place_pem(template, value, name, rng)
        else:
            secret, text = _place(template, value, name, rng, rng.choice(kind.headers) if kind.headers else "")
            if kind.name in SENSITIVE:
                part = re.search(SENSITIVE[kind.name], value)
                assert part, (kind.name, value)
                secret = part[1]
        assert secret in text, (kind.name, context, secret, text)
        yield Case(kind.group, kind.name, context, secret, text)


def _password_cases(form: Password, count: int, rng: random.Random) -> Iterator[Case]:
    for _ in range(count):
        user = rng.choice(WORDS["user"])
        if form.style == "b64raw":
            value = b64(rng.randbytes(32))
        else:
            value = password(rng, form.style if form.style in PASSWORD_SYMBOLS else "any")
        shown = quote(value, safe="-_.~") if form.style == "percent" else value
        marks = {"<P>": shown, "<U>": user, "<B>": b64(f"{user}:{value}"), "<X>": b64(value)}
        secret = marks[next(mark for mark in ("<B>", "<X>", "<P>") if mark in form.template)]
        text = _put(expand(form.template, rng), marks)
        assert secret in text, (form, text)
        yield Case("password", f"password:{form.name}", form.style, secret, text)


def cases(seed: int = 1, per_kind: int = 6) -> Iterator[Case]:
    """Yield so many cases of each kind, and half as many of each form of passwords."""
    for kind in kinds():
        yield from _kind_cases(kind, per_kind, random.Random(f"{seed} {kind.name}"))
    for form in passwords():
        yield from _password_cases(form, max(1, per_kind // 2), random.Random(f"{seed} {form.name}"))

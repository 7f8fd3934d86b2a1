"""A small language of templates, and the random text that fills their slots.

`{an36}` is 36 letters and digits, `{hex8-12}` 8 to 12 hex digits, `{host}` the name of a host: `ALPHABETS`, `WORDS` and
`MAKERS` name the codes. Any other brace stands for itself.
"""

import base64
import random
import re
import string
import uuid
from collections.abc import Callable
from functools import cache

ALPHABETS: dict[str, str] = {
    "an": string.ascii_letters + string.digits,
    "lo": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "d": string.digits,
    "let": string.ascii_letters,
    "az": string.ascii_lowercase,
    "AZ": string.ascii_uppercase,
    "url": string.ascii_letters + string.digits + "_-",
    "lourl": string.ascii_lowercase + string.digits + "_-",
    "bs": string.ascii_letters + string.digits + "+/",
    "btt": string.ascii_uppercase + "234567",
    "bttlo": string.ascii_lowercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "bf": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "ah": "abcdefgh0123456789",
    "dot": "./" + string.ascii_letters + string.digits,
    "dj": string.ascii_lowercase + string.digits + "!@#%^&*(-_=+)",
    "wp": string.ascii_letters + string.digits + "!@#%^&*()-_[]{}<>~+=,.;:/?|",
}

WORDS: dict[str, list[str]] = {
    "user": [
        "admin",
        "app",
        "postgres",
        "root",
        "deploy",
        "jenkins",
        "svc_backup",
        "alice",
        "mkovacs",
        "ci-bot",
        "grafana",
        "reporting",
        "etl",
    ],
    "host": [
        "db.internal.acme.io",
        "10.0.3.17",
        "localhost",
        "pg-prod-1.eu-central-1.rds.amazonaws.com",
        "192.168.1.40",
        "cache01.lan",
        "mq.staging.svc.cluster.local",
        "nas.home.arpa",
        "sql01.corp.contoso.com",
    ],
    "db": ["orders", "app_production", "billing", "analytics", "users_dev", "warehouse"],
    "org": ["acme", "northwind", "lumen-labs", "kestrel", "octoflow"],
    "repo": ["api-gateway", "web-client", "infra", "billing-worker", "ml-pipeline"],
    "svc": ["api", "worker", "scheduler", "ingest", "frontend", "auth-proxy"],
    "mail": ["ops@acme.io", "j.meyer@kestrel.dev", "noreply@northwind.com"],
    "file": [
        "src/server/auth.ts",
        "app/config/settings.py",
        "internal/store/cache.go",
        "lib/client.rb",
        "packages/ui/src/Button.tsx",
        "tests/test_login.py",
        "crates/core/src/lexer.rs",
    ],
    "pkg": ["lodash", "@babel/core", "typescript", "esbuild", "vite", "react-dom", "zod", "undici", "postcss"],
    "image": ["python:3.11-slim", "node:20-alpine", "ghcr.io/acme/api:1.4.2", "postgres:16", "redis:7-alpine"],
    "branch": ["main", "feature/login-form", "fix/race-in-scheduler", "release/2.14"],
    "env": ["dev", "staging", "production"],
    "region": ["us-east-1", "eu-central-1", "ap-southeast-2"],
}


def _date(rng: random.Random) -> str:
    return f"202{rng.randint(3, 6)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _time(rng: random.Random) -> str:
    return f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}"


def b64(data: bytes | str, *, url: bool = False) -> str:
    """Return base64, or its form for URLs without padding."""
    raw = data.encode() if isinstance(data, str) else data
    if url:
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")
    return base64.b64encode(raw).decode()


def uuid4(rng: random.Random) -> str:
    """Return a random UUID."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _random_b64(size: int) -> Callable[[random.Random], str]:
    return lambda rng: b64(rng.randbytes(size))


MAKERS: dict[str, Callable[[random.Random], str]] = {
    "uuid": uuid4,
    "UUID": lambda rng: uuid4(rng).upper(),
    "date": _date,
    "time": _time,
    "int": lambda rng: str(rng.randint(2, 99999)),
    "ver": lambda rng: f"{rng.randint(0, 21)}.{rng.randint(0, 30)}.{rng.randint(0, 19)}",
    "b64of16": _random_b64(16),
    "b64of20": _random_b64(20),
    "b64of32": _random_b64(32),
    "b64of36": _random_b64(36),
    "b64of48": _random_b64(48),
    "b64of64": _random_b64(64),
    "b64of96": _random_b64(96),
    "b64of300": _random_b64(300),
    "pw": lambda rng: password(rng, "shell"),
    "pw64": lambda rng: b64(password(rng, "any")),
    "ip": lambda rng: f"10.{rng.randint(0, 40)}.{rng.randint(0, 255)}.{rng.randint(2, 254)}",
}


def expand(template: str, rng: random.Random) -> str:
    """Return the template with its slots filled with random text."""

    def one(match: re.Match[str]) -> str:
        code, low, high = match.groups()
        if code in ALPHABETS:
            if low is None:
                return match[0]
            size = rng.randint(int(low), int(high or low))
            return "".join(rng.choices(ALPHABETS[code], k=size))
        if low is not None:
            return match[0]
        return rng.choice(WORDS[code]) if code in WORDS else MAKERS[code](rng)

    return _slot().sub(one, template)


@cache
def _slot() -> re.Pattern[str]:
    codes = "|".join(sorted([*ALPHABETS, *WORDS, *MAKERS], key=len, reverse=True))
    return re.compile(r"\{(" + codes + r")(?:(\d+)(?:-(\d+))?)?\}")


PASSWORD_SYMBOLS = {
    "shell": "_-.+=%@^:,",  # may stand in a shell's words without quotes
    "quoted": "!#$%&*()_-+=?@^~.,:;<>[]{}|/",  # in single quotes
    "dquoted": "#%&*()_-+=?@^~.,:;<>[]{}|/",  # in double quotes
    "any": "!#$%&*()_-+=?@^~.",
    "url": "_-.~",  # in a URL's authority unescaped
    "percent": "!#$%&*+=?@^",  # in a URL, percent-encoded
    "conn": "!#$%&*_-+?@^~.",  # in a connection string (no ; and no =)
    "plain": "",  # letters and digits
    "xml": "!#$%*_-+?@^~.",
}


def password(rng: random.Random, style: str) -> str:
    """Return a random password of 8 to 24 characters as managers, pwgen and openssl make them."""
    symbols = PASSWORD_SYMBOLS[style]
    while True:
        make = rng.randrange(5)
        if make == 0 and "-" in symbols:  # Apple's: cykteb-7nivzu-piSsur
            word = "-".join("".join(rng.choices(string.ascii_lowercase, k=6)) for _ in range(3))
            at, big = rng.choice((7, 13)), rng.randrange(0, 6)
            word = word[:big] + word[big].upper() + word[big + 1 : at] + rng.choice("123456789") + word[at + 1 :]
        elif make == 1:  # pwgen's: aiPh3xoo5Qu
            word = "".join(rng.choice("bdfghkmnprstvwxz") + rng.choice("aeiou") for _ in range(rng.randint(4, 7)))
            chars = [c.upper() if rng.random() < 0.25 else c for c in word]
            chars[rng.randrange(1, len(chars))] = rng.choice("23456789")
            chars.insert(rng.randrange(1, len(chars)), rng.choice("2345679"))
            word = "".join(chars)
        elif make == 2:  # openssl rand -hex
            word = "".join(rng.choices("0123456789abcdef", k=rng.choice((16, 20, 24))))
        else:  # a manager's
            size = rng.randint(8, 24)
            word = "".join(
                rng.choice(symbols)
                if symbols and 0 < i < size - 1 and rng.random() < 0.18
                else rng.choice(ALPHABETS["an"])
                for i in range(size)
            )
        if any(c.isdigit() for c in word) and any(c.isalpha() for c in word) and "://" not in word:
            return word

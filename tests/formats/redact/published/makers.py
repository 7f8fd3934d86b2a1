"""Fills templates with random characters, from a fixed seed: no file of the project contains a token."""

import base64
import random
import re
import string
import uuid
from collections.abc import Callable
from dataclasses import dataclass

_UPPER, _LOWER, _DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
_ALPHABETS = {
    "an": string.ascii_letters + _DIGITS,
    "url": string.ascii_letters + _DIGITS + "-_",
    "b64": string.ascii_letters + _DIGITS + "+/",
    "hex": _DIGITS + "abcdef",
    "HEX": _DIGITS + "ABCDEF",
    "low": _LOWER + _DIGITS,
    "up": _UPPER + _DIGITS,
    "dig": _DIGITS,
    "az": _LOWER,
    "let": string.ascii_letters,
    "b32": _UPPER + "234567",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "bech": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "BECH": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
_WORDS = ("harbor", "tiger", "maple", "winter", "copper", "falcon", "meadow", "rocket", "velvet", "orchid", "summer")
_SEEDS = (
    "abandon ability absorb acoustic actor adapt advice again agree alarm album alley amazing anchor ancient apple april "
    "arch arrow artist asthma atom auction avocado bacon balance banana barely basket beach beauty become bicycle blanket "
    "blossom board bonus bounce brave bridge bronze bubble buffalo burger cabbage cactus camera candy canyon carbon castle "
    "catalog cereal cherry circle clarify cliff cloud coconut copper coral couple cradle cricket crystal cushion dance "
    "daring decade desert dolphin donkey dragon dream eagle earth elbow elephant empower energy enjoy escape exile fabric "
    "falcon famous fatigue fiction filter flame forest fossil fragile galaxy garlic gentle ghost giraffe glory goddess "
    "grape guitar hammer harvest hazard helmet hockey honey hover humble icon idle imitate impulse indoor inspire island "
    "ivory jacket jaguar jealous jungle kangaroo ketchup kidney kitten ladder lawsuit legend lemon lizard lobster lunar "
    "magnet mandate mango marble meadow melody mimic mirror monkey mosquito muffin mushroom myth napkin nephew noodle "
    "oblige ocean olive onion orbit orphan ostrich oxygen paddle panther parrot peanut pepper piano pigeon planet pluck"
)
_TEMPLATE = re.compile(
    r"\{(pw|word|phrase|user|host|db|uuid|jwt|basic|pem|seed(?:12|24)|[A-Za-z]+?(?:32|58|64)?_?\d+)\}"
)
_SIZED = re.compile(r"(an|url|b64|hex|HEX|low|up|dig|az|let|b32|b58|bech|BECH)_?(\d+)")


class Maker:
    """Makes values, each from one stream of random numbers: one seed gives the same cases everywhere."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._named: dict[str, Callable[[], str]] = {
            "pw": self.password, "word": self.word, "phrase": self.phrase, "user": self.user, "host": self.host,
            "db": lambda: self.random.choice(("orders", "shop", "billing", "app")), "uuid": self.uuid,
            "jwt": self.jwt, "basic": self.basic, "pem": self.pem,
            "seed12": lambda: " ".join(self.random.sample(_SEEDS.split(), 12)),
            "seed24": lambda: " ".join(self.random.sample(_SEEDS.split(), 24)),
        }  # fmt: skip

    def fill(self, template: str) -> str:
        """Replace each placeholder of the template; `{hex40}` is 40 characters of that alphabet."""
        return _TEMPLATE.sub(lambda found: self._value(found[1]), template)

    def _value(self, name: str) -> str:
        if name in self._named:
            return self._named[name]()
        sized = _SIZED.fullmatch(name)
        assert sized, name
        return self.of(_ALPHABETS[sized[1]], int(sized[2]))

    def of(self, alphabet: str, size: int) -> str:
        """Return random characters; of those with digits, never a run without any."""
        made = "".join(self.random.choices(alphabet, k=size))
        if size > 5 and any(c.isdigit() for c in alphabet) and not any(c.isdigit() for c in made):
            return self.of(alphabet, size)
        return made

    def password(self) -> str:
        """Return a password as people and generators make them."""
        word, number = self.word().capitalize(), self.of(_DIGITS, 4)
        return self.random.choice((
            f"{word}{number}{self.random.choice('!#%+*')}",
            f"{self.word()}-{self.word()}-{number}",
            self.of(_ALPHABETS["an"], self.random.randint(12, 20)),
            f"{self.of(_ALPHABETS['let'], 5)}{self.random.choice('#!^~')}{self.of(_ALPHABETS['an'], 7)}",
        ))  # fmt: skip

    def word(self) -> str:
        """Return a password that is a plain word."""
        return self.random.choice(_WORDS) + self.random.choice(_WORDS)

    def phrase(self) -> str:
        """Return a password of several words."""
        return " ".join(self.random.sample(_WORDS, 4))

    def user(self) -> str:
        return self.random.choice(("alice", "deploy", "root", "svc_ci", "bob.smith"))

    def host(self) -> str:
        return self.random.choice(("db.corp.internal", "10.0.4.17", "files.acme.io", "build-3", "git.acme.dev"))

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def jwt(self) -> str:
        head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
        body = base64.urlsafe_b64encode(f'{{"sub":"{self.of(_DIGITS, 9)}","iat":1700000000}}'.encode()).decode()
        return f"{head}.{body.rstrip('=')}.{self.of(_ALPHABETS['url'], 43)}"

    def basic(self) -> str:
        return base64.b64encode(f"{self.user()}:{self.password()}".encode()).decode()

    def pem(self) -> str:
        """Return the body of a key: full lines of base64, and one that is shorter."""
        lines = [self.of(_ALPHABETS["b64"], 64) for _ in range(self.random.randint(6, 20))]
        return "\n".join(["MII" + lines[0][3:], *lines[1:], self.of(_ALPHABETS["b64"], 30) + "=="])


@dataclass(frozen=True)
class Case:
    """A text of one kind, and what of it is secret: nothing in a harmless one."""

    group: str
    kind: str
    text: str
    secrets: tuple[str, ...]

    def kept(self, output: str) -> bool:
        """Return whether the output still contains one of the secrets, a line of it or one of its halves."""
        return any(part in output for secret in self.secrets for part in _parts(secret))


def _parts(secret: str) -> list[str]:
    middle = len(secret) // 2
    halves = [secret[:middle], secret[middle:]] if len(secret) >= 16 else []
    return [secret, *halves, *(line for line in secret.splitlines() if len(line) > 16)]


def case(group: str, kind: str, marked: str) -> Case:
    """Make a case of a text in which «…» marks what is secret."""
    return Case(group, kind, marked.replace("«", "").replace("»", ""), tuple(re.findall(r"«(.*?)»", marked, re.DOTALL)))

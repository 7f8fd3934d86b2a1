"""Values with an inner structure: JSON Web Tokens, keys in PEM, tokens that are base64 of JSON."""

import json
import random
from collections.abc import Callable

from .slots import MAKERS, WORDS, b64, expand, password, uuid4


def _claims(rng: random.Random) -> dict[str, object]:
    now = rng.randint(1_690_000_000, 1_790_000_000)
    return rng.choice(
        [
            {"sub": expand("{d10}", rng), "name": "Jana Kowalski", "iat": now, "exp": now + 3600},
            {
                "iss": expand("https://{org}.eu.auth0.com/", rng),
                "sub": expand("auth0|{hex24}", rng),
                "aud": expand("https://api.{org}.io", rng),
                "iat": now,
                "exp": now + 86400,
                "scope": "openid profile",
            },
            {
                "iss": "supabase",
                "ref": expand("{az20}", rng),
                "role": "service_role",
                "iat": now,
                "exp": now + 315360000,
            },
            {
                "iss": "kubernetes/serviceaccount",
                "kubernetes.io/serviceaccount/namespace": rng.choice(WORDS["svc"]),
                "kubernetes.io/serviceaccount/service-account.uid": uuid4(rng),
            },
        ]
    )


def jwt(rng: random.Random) -> str:
    alg, size = rng.choice([("HS256", 32), ("HS512", 64), ("RS256", 256), ("ES256", 64)])
    head: dict[str, str] = {"alg": alg, "typ": "JWT"}
    if alg[0] != "H":
        head["kid"] = expand("{url27}", rng)
    parts = [b64(json.dumps(p, separators=(",", ":")), url=True) for p in (head, _claims(rng))]
    return ".".join([*parts, b64(rng.randbytes(size), url=True)])


def jwt_base64(rng: random.Random) -> str:
    return b64(jwt(rng))


def grafana_old(rng: random.Random) -> str:
    return b64(
        json.dumps({"k": expand("{an32}", rng), "n": expand("{org}-{svc}-viewer", rng), "id": 1}, separators=(",", ":"))
    )


def grafana_cloud(rng: random.Random) -> str:
    body = {
        "o": expand("{d6}", rng),
        "n": expand("{svc}-{svc}", rng),
        "k": expand("{an24}", rng),
        "m": {"r": "prod-eu-west-2"},
    }
    return "glc_" + b64(json.dumps(body, separators=(",", ":")))


def sentry_org(rng: random.Random) -> str:
    body = {
        "iat": rng.randint(1_690_000_000, 1_790_000_000) + 0.25,
        "url": "https://sentry.io",
        "region_url": "https://us.sentry.io",
        "org": rng.choice(WORDS["org"]),
    }
    return "sntrys_" + b64(json.dumps(body, separators=(",", ":"))) + "_" + expand("{bs43}", rng)


def one_password_account(rng: random.Random) -> str:
    body = {
        "email": expand("{lo13}@1passwordserviceaccounts.com", rng),
        "muk": {
            "alg": "A256GCM",
            "ext": True,
            "k": expand("{url43}", rng),
            "key_ops": ["decrypt", "encrypt"],
            "kty": "oct",
            "kid": "mp",
        },
        "secretKey": expand("A3-{up6}-{up6}-{up5}-{up5}-{up5}-{up5}", rng),
        "srpX": expand("{hex64}", rng),
        "signInAddress": expand("{org}.1password.com", rng),
        "userAuth": {
            "method": "SRPg-4096",
            "alg": "PBES2g-HS256",
            "iterations": 650000,
            "salt": expand("{url22}", rng),
        },
        "throttleSecret": {"seed": expand("{hex64}", rng)},
    }
    return "ops_" + b64(json.dumps(body, separators=(",", ":")), url=True).replace("-", "+").replace("_", "/")


def mapbox(prefix: str) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        body = {"u": expand("{az5}", rng), "a": expand("c{lo24}", rng)}
        return f"{prefix}." + b64(json.dumps(body, separators=(",", ":")), url=True) + "." + expand("{an22}", rng)

    return make


def bedrock_short(rng: random.Random) -> str:
    query = expand(
        "bedrock.amazonaws.com/?Action=CallWithBearerToken&X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=ASIA{btt16}%2F20260114%2F{region}%2Fbedrock%2Faws4_request&X-Amz-Date=20260114T101500Z"
        "&X-Amz-Expires=43200&X-Amz-SignedHeaders=host&X-Amz-Signature={hex64}&Version=1",
        rng,
    )
    return "bedrock-api-key-" + b64(query)


def discord_bot(rng: random.Random) -> str:
    return b64(expand("1{d17}", rng), url=True) + expand(".G{an5}.{url38}", rng)


def elastic_key(rng: random.Random) -> str:
    return b64(expand("{url20}:{url22}", rng))


def basic_auth(rng: random.Random) -> str:
    return b64(rng.choice(WORDS["user"]) + ":" + password(rng, "any"))


BIP39 = [
    "abandon",
    "ability",
    "absent",
    "acid",
    "acoustic",
    "actor",
    "agent",
    "alarm",
    "almost",
    "anchor",
    "apple",
    "arctic",
    "arrow",
    "aspect",
    "august",
    "avocado",
    "badge",
    "banana",
    "barrel",
    "beauty",
    "behave",
    "blanket",
    "blossom",
    "border",
    "bracket",
    "breeze",
    "bronze",
    "bubble",
    "buzz",
    "cabbage",
    "cactus",
    "camera",
    "canvas",
    "carbon",
    "castle",
    "cement",
    "cereal",
    "cherry",
    "cinnamon",
    "circle",
    "clever",
    "cloth",
    "coconut",
    "column",
    "comic",
    "copper",
    "coral",
    "cradle",
    "cricket",
    "crystal",
    "curve",
    "dawn",
    "debris",
    "denial",
    "desert",
    "diesel",
    "dinosaur",
    "dolphin",
    "dragon",
    "eager",
    "elbow",
    "ember",
    "engine",
    "escape",
    "exotic",
    "fabric",
    "falcon",
    "fatal",
    "fiber",
    "flame",
    "fossil",
    "fringe",
    "galaxy",
    "garlic",
    "giraffe",
    "glove",
    "gospel",
    "guitar",
    "hammer",
    "harvest",
    "hedgehog",
    "hollow",
    "humble",
    "iceberg",
    "inmate",
    "island",
    "jaguar",
    "jungle",
    "kangaroo",
    "kitten",
    "ladder",
    "lemon",
    "liberty",
    "lizard",
    "lunar",
    "magnet",
    "mango",
    "marble",
    "melody",
    "mimic",
    "mosquito",
    "napkin",
    "nephew",
    "noble",
    "ocean",
    "olive",
    "orbit",
    "ostrich",
    "oxygen",
    "pelican",
    "pepper",
    "pigeon",
    "planet",
    "puzzle",
    "rabbit",
    "raven",
    "ribbon",
    "salmon",
    "scorpion",
    "shallow",
    "silver",
    "spider",
    "squirrel",
    "sunset",
    "tennis",
    "tiger",
    "tornado",
    "turtle",
    "umbrella",
    "unveil",
    "velvet",
    "vintage",
    "violin",
    "walnut",
    "weasel",
    "whisper",
    "winter",
    "wolf",
    "yellow",
    "zebra",
]


def seed_phrase(rng: random.Random) -> str:
    return " ".join(rng.sample(BIP39, rng.choice((12, 12, 24))))


def _armour(label: str, body: str, width: int = 64, head: str = "") -> str:
    lines = [body[i : i + width] for i in range(0, len(body), width)]
    return "\n".join([f"-----BEGIN {label}-----", *([head] if head else []), *lines, f"-----END {label}-----"])


def _ssh_string(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def pem_rsa(rng: random.Random) -> str:
    return _armour("RSA PRIVATE KEY", b64(bytes.fromhex("308204a40201000282010100") + rng.randbytes(1176)))


def pem_pkcs8(rng: random.Random) -> str:
    head = bytes.fromhex("308204be020100300d06092a864886f70d0101010500048204a8308204a40201000282010100")
    return _armour("PRIVATE KEY", b64(head + rng.randbytes(1180)))


def pem_ed25519(rng: random.Random) -> str:
    return _armour("PRIVATE KEY", b64(bytes.fromhex("302e020100300506032b657004220420") + rng.randbytes(32)))


def pem_ec(rng: random.Random) -> str:
    middle = bytes.fromhex("a00a06082a8648ce3d030107a144034200")
    return _armour(
        "EC PRIVATE KEY", b64(bytes.fromhex("30770201010420") + rng.randbytes(32) + middle + b"\4" + rng.randbytes(64))
    )


def pem_encrypted(rng: random.Random) -> str:
    head = bytes.fromhex("308204f63020060a2a864886f70d010c0103301204")
    return _armour("ENCRYPTED PRIVATE KEY", b64(head + rng.randbytes(1230)))


def pem_openssh(rng: random.Random) -> str:
    public = _ssh_string(b"ssh-ed25519") + _ssh_string(rng.randbytes(32))
    check = rng.randbytes(4)
    secret = check + check + public + _ssh_string(rng.randbytes(64)) + _ssh_string(b"deploy@build01") + b"\1\2\3"
    blob = (
        b"openssh-key-v1\0"
        + _ssh_string(b"none")
        + _ssh_string(b"none")
        + _ssh_string(b"")
        + b"\0\0\0\1"
        + _ssh_string(public)
        + _ssh_string(secret)
    )
    return _armour("OPENSSH PRIVATE KEY", b64(blob), 70)


def pem_pgp(rng: random.Random) -> str:
    body = b64(bytes.fromhex("95058604") + rng.randbytes(1400))
    lines = [body[i : i + 64] for i in range(0, len(body), 64)]
    return "\n".join(
        [
            "-----BEGIN PGP PRIVATE KEY BLOCK-----",
            "",
            *lines,
            expand("={bs4}", rng),
            "-----END PGP PRIVATE KEY BLOCK-----",
        ]
    )


def pem_any(rng: random.Random) -> str:
    return rng.choice([pem_rsa, pem_pkcs8, pem_ec, pem_openssh])(rng)


def ssh_public(rng: random.Random) -> str:
    return "ssh-ed25519 " + b64(_ssh_string(b"ssh-ed25519") + _ssh_string(rng.randbytes(32)))


def rsa_public(rng: random.Random) -> str:
    return "ssh-rsa " + b64(_ssh_string(b"ssh-rsa") + _ssh_string(b"\1\0\1") + _ssh_string(b"\0" + rng.randbytes(256)))


def public_pem(rng: random.Random) -> str:
    return _armour(
        "PUBLIC KEY", b64(bytes.fromhex("30820122300d06092a864886f70d01010105000382010f00") + rng.randbytes(270))
    )


def certificate(rng: random.Random) -> str:
    return _armour("CERTIFICATE", b64(bytes.fromhex("308203a53082028da0030201020214") + rng.randbytes(900)))


MADE: dict[str, Callable[[random.Random], str]] = {
    "@jwt": jwt,
    "@jwt_base64": jwt_base64,
    "@grafana_old": grafana_old,
    "@grafana_cloud": grafana_cloud,
    "@sentry_org": sentry_org,
    "@ops": one_password_account,
    "@mapbox_pk": mapbox("pk"),
    "@mapbox_sk": mapbox("sk"),
    "@mapbox_tk": mapbox("tk"),
    "@bedrock": bedrock_short,
    "@discord": discord_bot,
    "@elastic": elastic_key,
    "@basic": basic_auth,
    "@seed": seed_phrase,
    "@rsa": pem_rsa,
    "@pkcs8": pem_pkcs8,
    "@ed25519": pem_ed25519,
    "@ec": pem_ec,
    "@encrypted": pem_encrypted,
    "@openssh": pem_openssh,
    "@pgp": pem_pgp,
    "@pem": pem_any,
}
MAKERS.update({"sshpub": ssh_public, "rsapub": rsa_public})

"""The access policy of a server of this machine: decides by the raw headers of a request alone. Pure.

Any page that a browser has open can send requests here, and can make its own host name resolve to this machine. So
the server answers to listed names only, refuses requests of other pages, and answers nothing without a token.
"""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import ip_address
from typing import Final, NamedTuple

COOKIE: Final = "katod_serve"
SHORTEST_TOKEN: Final = 32  # characters of a token that the user chose
_HTTP: Final = 80  # the port that browsers leave out
TLS: Final = "https://"
_SCHEME: Final = b"bearer "
_HIDDEN: Final = "null"
_OWN: Final = "same-origin"
_FROM_HERE: Final = frozenset({_OWN, "none"})
_SAFE: Final = frozenset({"GET", "HEAD"})
_FOLLOWED: Final = {b"origin": [], b"sec-fetch-mode": ["navigate"], b"sec-fetch-dest": ["document"]}
Headers = Sequence[tuple[bytes, bytes]]


class AccessPolicy(NamedTuple):
    """The names under which the server is reached, and the token that lets clients in."""

    hosts: frozenset[str]  # what the header Host may say
    token: str
    is_open: bool = False  # clients of CodingBridge need no token: for addresses of this machine alone
    proxied: frozenset[str] = frozenset()  # the origins of its pages where a server, or a tunnel, is in front

    @property
    def proxied_hosts(self) -> frozenset[str]:
        """What the header Host may say of requests that are passed on."""
        return frozenset(origin.partition("//")[2] for origin in self.proxied)

    @property
    def origins(self) -> frozenset[str]:
        """The origins of the server's own pages."""
        return self.proxied | {f"http://{host}" for host in self.hosts}

    @property
    def cookie(self) -> str:
        """The cookie that a browser gets for the token: another secret, derived from it."""
        return hmac.new(self.token.encode(), COOKIE.encode(), sha256).hexdigest()


class Refusal(NamedTuple):
    """Why a request is refused: the status of the answer, and its code and text."""

    status: int
    code: str
    message: str


_HOST: Final = Refusal(421, "WRONG_HOST", "this server does not answer to that name")
_ORIGIN: Final = Refusal(403, "WRONG_ORIGIN", "requests from other pages are refused")
LINK: Final = Refusal(403, "FROM_ELSEWHERE", "this link is on a page of another site")
_TOKEN: Final = Refusal(401, "UNAUTHORIZED", "a token is needed: `katod serve` printed where it is")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def names_of(host: str, port: int) -> frozenset[str]:
    """Return the values of the header Host that are accepted by a server at this address."""
    given = f"[{host}]" if ":" in host else host
    names = {given, "127.0.0.1", "[::1]", "localhost"} if is_loopback(host) else {given}
    with_port = {f"{name}:{port}".lower() for name in names}
    return frozenset(with_port | {name.lower() for name in names} if port == _HTTP else with_port)


def refusal(
    policy: AccessPolicy, method: str, headers: Headers, *, is_socket: bool = False, may_change: bool = True
) -> Refusal | None:
    """Return why a request is refused, whatever token it has; None if it is not.

    Requests that may change something, and sockets, must not come from another page, as their Origin says. Nor must any
    other one, as far as the browser says where it comes from.
    """
    hosts = _all(headers, b"host")
    if len(hosts) != 1 or hosts[0].lower() not in policy.hosts | policy.proxied_hosts:
        return _HOST
    is_changing = (
        may_change and method not in _SAFE and not _bearer(headers)
    )  # pages cannot send that header to other servers
    if _is_own(policy, headers, must_say=is_changing, may_hide=not is_socket):
        return None
    return LINK if _is_followed(method, headers) else _ORIGIN


def _is_followed(method: str, headers: Headers) -> bool:
    """Return whether a link of another page was followed: its answer replaces that page."""
    return method == "GET" and all(_all(headers, name) == values for name, values in _FOLLOWED.items())


def _is_own(policy: AccessPolicy, headers: Headers, *, must_say: bool, may_hide: bool) -> bool:
    """Return whether a request comes from no other page, by what the browser says.

    Forms of a page that has no referrer sent have a hidden origin, but browsers say that it is the same site.
    """
    origins, sites = _all(headers, b"origin"), _all(headers, b"sec-fetch-site")
    if not _FROM_HERE.issuperset(sites):
        return False
    if may_hide and origins == [_HIDDEN] and sites == [_OWN]:
        return True
    return policy.origins.issuperset(origins) and len(origins) == 1 if origins else not must_say


def refusal_without_token(policy: AccessPolicy, headers: Headers, *, is_bridge: bool) -> Refusal | None:
    """Return the refusal of a request that needs a token and has none, None for others.

    `is_bridge`: it asks for what clients of CodingBridge may ask for without one, if that is allowed and no page asks.
    """
    is_program = not _all(headers, b"origin") and not _all(headers, b"sec-fetch-site")
    if policy.is_open and is_bridge and is_program and not is_proxied(policy, headers):
        return None
    return None if knows_token(policy, headers) else _TOKEN


def knows_token(policy: AccessPolicy, headers: Headers) -> bool:
    """Return whether a request has the token, or the cookie for it."""
    return is_token(policy, _bearer(headers)) or any(is_cookie(policy, value) for value in _cookies(headers))


def gives_header(headers: Headers) -> bool:
    """Return whether a request has a token in a header, right or wrong: browsers send none by themselves."""
    return bool(_bearer(headers))


def gives_token(headers: Headers) -> bool:
    """Return whether a request has a token or a cookie for it, right or wrong."""
    return gives_header(headers) or bool(_cookies(headers))


def is_proxied(policy: AccessPolicy, headers: Headers, scheme: str = "") -> bool:
    """Return whether a request was passed on by a server or a tunnel, as its Host says; by one with this scheme."""
    hosts = {origin.partition("//")[2] for origin in policy.proxied if origin.startswith(scheme)}
    return not hosts.isdisjoint(host.lower() for host in _all(headers, b"host"))


def is_token(policy: AccessPolicy, given: str) -> bool:
    """Return whether this is the token; it takes as long for any that is not."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), policy.token.encode())


def is_cookie(policy: AccessPolicy, given: str) -> bool:
    """Return whether this is the value of the cookie."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), policy.cookie.encode())


def _all(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in headers if key.lower() == name]


def _bearer(headers: Headers) -> str:
    given = [value.strip() for key, value in headers if key.lower() == b"authorization"]
    if len(given) != 1 or given[0][: len(_SCHEME)].lower() != _SCHEME:
        return ""
    return given[0][len(_SCHEME) :].strip().decode("latin-1")


def _cookies(headers: Headers) -> list[str]:
    """Return all cookies of that name: other servers of this machine set cookies for it, too, of any form."""
    pairs = (part.strip().partition("=") for text in _all(headers, b"cookie") for part in text.split(";"))
    return [value for name, _, value in pairs if name == COOKIE]

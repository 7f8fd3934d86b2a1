"""Who is let in: names of the server, other pages, tokens and cookies, decided by headers alone."""

from katod.serve.access.policy import COOKIE, AccessPolicy, is_loopback, names_of, refusal, refusal_without_token
from tests.looping import each

TOKEN = "0123456789abcdef0123456789abcdef"
POLICY = AccessPolicy(names_of("127.0.0.1", 3100), TOKEN)
OPEN = POLICY._replace(is_open=True)
HOST = ("host", "127.0.0.1:3100")
OWN = ("origin", "http://127.0.0.1:3100")
BEARER = ("authorization", f"Bearer {TOKEN}")


def headers(*rows):
    return [(name.encode(), value.encode()) for name, value in rows]


def refused(*rows, method="GET", socket=False, policy=POLICY):
    found = refusal(policy, method, headers(*rows), is_socket=socket)
    return found.code if found else ""


@each(
    "rows, code",
    [
        ([HOST], ""),
        ([("host", "localhost:3100")], ""),
        ([("host", "LOCALHOST:3100")], ""),
        ([("host", "[::1]:3100")], ""),
        ([], "WRONG_HOST"),
        ([("host", "")], "WRONG_HOST"),
        ([("host", "127.0.0.1")], "WRONG_HOST"),
        ([("host", "127.0.0.1:3101")], "WRONG_HOST"),
        ([("host", "127.0.0.1:3100.evil.example")], "WRONG_HOST"),
        ([("host", "evil.example:3100")], "WRONG_HOST"),
        ([("host", "evil.example@127.0.0.1:3100")], "WRONG_HOST"),
        ([HOST, ("host", "evil.example:3100")], "WRONG_HOST"),
        ([HOST, HOST], "WRONG_HOST"),
        ([("x-forwarded-host", "127.0.0.1:3100"), ("host", "evil.example")], "WRONG_HOST"),
    ],
)
def test_a_server_is_reached_by_its_own_names_only(rows, code):
    """A name that somebody else has lead here is refused, whatever other headers say."""
    assert refused(*rows) == code


@each(
    "rows, method, socket, code",
    [
        ([OWN], "POST", False, ""),
        ([("origin", "http://localhost:3100")], "POST", False, ""),
        ([BEARER], "POST", False, ""),  # a program, no page
        ([], "POST", False, "WRONG_ORIGIN"),
        ([("origin", "null")], "POST", False, "WRONG_ORIGIN"),
        ([("origin", "null"), ("sec-fetch-site", "same-origin")], "POST", False, ""),
        ([("origin", "null"), ("sec-fetch-site", "cross-site")], "POST", False, "WRONG_ORIGIN"),
        ([("origin", "null"), ("sec-fetch-site", "same-origin")], "GET", True, "WRONG_ORIGIN"),
        ([("origin", "https://127.0.0.1:3100")], "POST", False, "WRONG_ORIGIN"),
        ([("origin", "http://127.0.0.1:3000")], "POST", False, "WRONG_ORIGIN"),
        ([("origin", "http://127.0.0.1:3100.evil.example")], "POST", False, "WRONG_ORIGIN"),
        ([OWN, ("origin", "http://evil.example")], "POST", False, "WRONG_ORIGIN"),
        ([("origin", "http://evil.example"), BEARER], "POST", False, "WRONG_ORIGIN"),
        ([("origin", "http://evil.example")], "GET", True, "WRONG_ORIGIN"),
        ([("origin", "http://evil.example"), BEARER], "GET", True, "WRONG_ORIGIN"),
        ([OWN], "GET", True, ""),
        ([], "GET", True, ""),  # a program, no page
        ([("sec-fetch-site", "none")], "GET", False, ""),
        ([("sec-fetch-site", "same-origin")], "GET", False, ""),
        ([("sec-fetch-site", "same-site")], "GET", False, "WRONG_ORIGIN"),
        ([("sec-fetch-site", "cross-site")], "GET", False, "WRONG_ORIGIN"),
        ([("sec-fetch-site", "cross-site"), OWN], "POST", False, "WRONG_ORIGIN"),
    ],
)
def test_requests_of_other_pages_are_refused(rows, method, socket, code):
    """By their origin where something may change, and on sockets; else by what the browser says of them."""
    assert refused(HOST, *rows, method=method, socket=socket) == code


FOLLOWED = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]


@each(
    "rows, method, code",
    [
        (FOLLOWED, "GET", "FROM_ELSEWHERE"),
        ([("sec-fetch-site", "same-site"), *FOLLOWED[1:]], "GET", "FROM_ELSEWHERE"),
        ([("sec-fetch-site", "same-origin"), *FOLLOWED[1:]], "GET", ""),
        (FOLLOWED, "POST", "WRONG_ORIGIN"),
        (FOLLOWED, "HEAD", "WRONG_ORIGIN"),
        ([*FOLLOWED, ("origin", "http://evil.example")], "GET", "WRONG_ORIGIN"),
        ([*FOLLOWED, OWN], "GET", "WRONG_ORIGIN"),
        ([*FOLLOWED, ("sec-fetch-dest", "iframe")], "GET", "WRONG_ORIGIN"),
        ([*FOLLOWED[:2], ("sec-fetch-dest", "iframe")], "GET", "WRONG_ORIGIN"),
        ([*FOLLOWED[:1], *FOLLOWED[2:]], "GET", "WRONG_ORIGIN"),
    ],
)
def test_a_link_of_another_page_is_told_from_other_requests(rows, method, code):
    """It shows the answer in a window of its own, in place of that page."""
    assert refused(HOST, *rows, method=method) == code


def is_let_in(*rows, policy=POLICY, bridge=True):
    return refusal_without_token(policy, headers(HOST, *rows), is_bridge=bridge) is None


@each(
    "rows, is_in",
    [
        ([BEARER], True),
        ([("authorization", f"bearer {TOKEN}")], True),
        ([("cookie", f"a=b; {COOKIE}={POLICY.cookie}")], True),
        ([], False),
        ([("authorization", "Bearer ")], False),
        ([("authorization", f"Bearer {TOKEN[:-1]}")], False),
        ([("authorization", f"Bearer {TOKEN}x")], False),
        ([("authorization", f"Bearer {TOKEN.upper()}")], False),
        ([("authorization", f"Basic {TOKEN}")], False),
        ([("authorization", "Bearer ü")], False),
        ([BEARER, ("authorization", "Bearer x")], False),
        ([("cookie", f'a={{"b": "c; d"}}; {COOKIE}={POLICY.cookie}')], True),
        ([("cookie", f"{COOKIE}=x; {COOKIE}={POLICY.cookie}")], True),
        ([("cookie", f"{COOKIE}=x"), ("cookie", f"{COOKIE}={POLICY.cookie}")], True),
        ([("cookie", f"x{COOKIE}={POLICY.cookie}")], False),
        ([("cookie", f"{COOKIE}={TOKEN}")], False),  # the token itself is no cookie
        ([("cookie", f"{COOKIE}=")], False),
        ([("cookie", "ü=; ;;=")], False),
        ([("x-token", TOKEN)], False),
    ],
)
def test_a_token_or_the_cookie_made_of_it_lets_somebody_in(rows, is_in):
    """Nothing else does."""
    assert is_let_in(*rows) is is_in


def test_a_server_that_is_open_lets_in_programs_that_are_no_browser():
    """For what clients of CodingBridge ask for alone."""
    assert is_let_in(policy=OPEN)
    assert not is_let_in(policy=OPEN, bridge=False)
    assert not is_let_in(OWN, policy=OPEN)
    assert not is_let_in(("origin", "http://evil.example"), policy=OPEN)
    assert not is_let_in(("sec-fetch-site", "none"), policy=OPEN)
    assert is_let_in(OWN, BEARER, policy=OPEN)


PROXIED = OPEN._replace(proxied=frozenset({"https://laptop.example.net"}))


@each(
    "rows, method, code",
    [
        ([("host", "laptop.example.net")], "GET", ""),
        ([("host", "Laptop.Example.net"), ("origin", "https://laptop.example.net")], "POST", ""),
        ([("host", "laptop.example.net"), ("origin", "http://laptop.example.net")], "POST", "WRONG_ORIGIN"),
        ([("host", "laptop.example.net"), ("sec-fetch-site", "same-site")], "GET", "WRONG_ORIGIN"),
        ([("host", "laptop.example.net:3100")], "GET", "WRONG_HOST"),
        ([("host", "other.example.net")], "GET", "WRONG_HOST"),
    ],
)
def test_a_server_in_front_is_known_by_the_name_that_was_given(rows, method, code):
    """Its pages are the server's own; no other name of the same domain is."""
    assert refused(*rows, method=method, policy=PROXIED) == code


def test_nobody_comes_in_without_a_token_through_a_server_in_front():
    """What an open bridge lets programs of this machine do, others must not do through a server that runs on it."""
    assert refusal_without_token(PROXIED, headers(HOST), is_bridge=True) is None
    assert refusal_without_token(PROXIED, headers(("host", "laptop.example.net")), is_bridge=True) is not None


def test_addresses_of_this_machine_are_known():
    """Its names are those that browsers use for it; others have theirs alone."""
    assert [host for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost") if not is_loopback(host)] == []
    assert [
        host for host in ("192.168.1.5", "0.0.0.0", "::", "example.org", "localhost.example.org") if is_loopback(host)
    ] == []
    assert names_of("192.168.1.5", 80) == {"192.168.1.5:80", "192.168.1.5"}
    assert names_of("::1", 3100) == {"[::1]:3100", "127.0.0.1:3100", "localhost:3100"}

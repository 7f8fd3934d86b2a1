"""Attacks on `katod serve`: by a page that a browser has open, by another user, by what is said in a session.

Each test is an attack, and says how it is refused or bounded. Those in this process come first; those that need a
connection, then those that need a browser, are slow.
"""

import asyncio
import hmac
import os
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from katod.errors import ServeError
from katod.serve.access import limits
from katod.serve.access import policy as access
from katod.serve.access.policy import COOKIE
from katod.serve.access.token import own_token
from katod.serve.server import listening, listening_at
from tests.looping import each
from tests.serve.attacking import answer, head, is_ended, site, status, wire, wires
from tests.serve.browser import browsing
from tests.serve.serving import BEARER, POLICY, PORT, TOKEN, Served, big_session
from tests.serve.test_app import ONE as REST
from tests.serve.test_app import ORIGIN, asked, run, wrong
from tests.serve.test_page import BROWSER, FRAME, NASTY, ONE, Elements
from tests.support.live import Live, until
from tests.support.records import SESSION, says, user

slow = pytest.mark.slow
COOKIES = {"cookie": f"{COOKIE}={POLICY.cookie}"}
LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
EVIL = "http://evil.example"
CONTENT = (b"begin here", b"with pleasure", SESSION.encode())


def talked(world):
    maker = world.claude()
    maker.say(user("begin here"), says("with pleasure"))
    return maker


def tries(world, *requests, **options):
    """Return the answers to requests, each with its path, method, headers and body."""

    async def work(app):
        return [await app.ask(*request) for request in requests]

    return run(world, work, **options)


async def handshake(app, headers):
    """Return the status of the answer to the handshake of a WebSocket."""
    async with app.socket(headers) as client:
        return getattr(client, "status", 101)


# -- names: DNS rebinding -----------------------------------------------------------------------------

HOSTS = (
    "evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"localhost.:{PORT}",
    f"127.0.0.1.:{PORT}", f"127.0.0.1:{PORT}.evil.example", f"127.0.0.1:{PORT}@evil.example", f"me@127.0.0.1:{PORT}",
    f"evil.example, 127.0.0.1:{PORT}", f"127.0.0.1:{PORT}/", f"127.0.0.1:0{PORT}", f"[::ffff:127.0.0.1]:{PORT}",
    f"[0:0:0:0:0:0:0:1]:{PORT}", f"::1:{PORT}", f"127.1:{PORT}", f"2130706433:{PORT}", f"0x7f000001:{PORT}",
    f"0.0.0.0:{PORT}", f"127.0.0.1:{PORT}\x00", f"127.0.0.1:{PORT} evil.example", f"локалхост:{PORT}".encode().decode("latin-1"), "",
)  # fmt: skip


def test_dns_rebinding(world):
    """By a name that leads here, and by other spellings of ours, nobody gets anything, with the token or without."""
    talked(world)
    right = [f"127.0.0.1:{PORT}", f"LocalHost:{PORT}", f"[::1]:{PORT}"]

    async def work(app):
        found = {host: await app.ask("/", "GET", BEARER | {"host": host}) for host in (*HOSTS, *right)}
        return found, [await handshake(app, BEARER | {"host": host}) for host in HOSTS]

    found, sockets = run(world, work)
    assert {host for host, one in found.items() if one.status != 421} == set(right)
    assert [one.status for host, one in found.items() if host in right] == [200] * 3
    assert set(sockets) == {421}
    assert not [text for text in CONTENT for host in HOSTS if text in found[host].body]


def test_several_hosts(world):
    """No header beside Host counts, and there is one Host."""
    host = ("host", f"127.0.0.1:{PORT}")
    others = [("x-forwarded-host", host[1]), ("forwarded", f"host={host[1]}"), ("x-original-host", host[1])]
    cases = [
        [("host", "evil.example"), host],
        [host, ("host", "evil.example")],
        [host, host],
        *([("host", "evil.example"), one] for one in others),
    ]
    found = tries(world, *(("/", "GET", [*BEARER.items(), *rows]) for rows in cases))
    assert {one.status for one in found} == {421}


# -- pages that a browser has open ----------------------------------------------------------------------

ORIGINS = (
    EVIL, f"http://127.0.0.1:{PORT}.evil.example", f"http://127.0.0.1:{PORT + 1}", "http://127.0.0.1",
    f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}/", f"http://127.0.0.1:{PORT}@evil.example",
    f"http://evil.example:{PORT}", "null", "", "file://", "chrome-extension://abcdefgh", f"127.0.0.1:{PORT}",
)  # fmt: skip


def test_cross_site_post(world):
    """A form of another page changes nothing, though the browser sends the cookie; nor does one that hides its origin."""
    talked(world)
    wanted = [
        (path, "POST", COOKIES | {"origin": origin}, b"do=start")
        for origin in (*ORIGINS, None)
        for path in (f"{ONE}/recording", "/login")
    ]
    mixed = [*COOKIES.items(), *ORIGIN.items(), ("origin", EVIL)]
    cross = COOKIES | ORIGIN | {"sec-fetch-site": "cross-site"}
    for one in tries(world, *wanted, (f"{ONE}/recording", "POST", mixed), (f"{ONE}/recording", "POST", cross)):
        assert (one.status, one.json["code"]) == (403, "WRONG_ORIGIN")
    assert not list(world.state.glob("requests/*"))


def test_cross_site_reads(world):
    """Scripts, pictures, frames and fetches of another page get nothing, of the same machine or not."""
    talked(world)
    wanted = [
        (path, "GET", BROWSER | COOKIES | {"sec-fetch-site": where, "sec-fetch-mode": mode, "sec-fetch-dest": dest})
        for path in ("/", ONE, "/sessions/recent", "/static/page.js", f"{ONE}/live", "/find?q=pleasure", "/usage")
        for where in ("cross-site", "same-site")
        for mode, dest in (
            ("no-cors", "script"), ("no-cors", "image"), ("cors", "empty"), ("navigate", "iframe"), ("navigate", "object"),
            ("same-origin", "empty"), ("navigate", "embed"), ("no-cors", "style"), ("navigate", "frame"),
        )
    ]  # fmt: skip
    found = tries(world, *wanted[::3], *((path, "GET", COOKIES | {"origin": EVIL}) for path in ("/", ONE, "/projects")))
    assert {(one.status, one.json["code"]) for one in found} <= {(403, "WRONG_ORIGIN"), (429, "RATE_LIMITED")}
    assert not [one for one in found for text in CONTENT if text in one.body]


def test_cross_site_socket(world):
    """A WebSocket of another page is refused in the handshake, with the cookie and with the token."""
    talked(world)

    async def work(app):
        pages = [COOKIES | {"origin": origin} for origin in ORIGINS]
        pages += [BEARER | {"origin": EVIL}, COOKIES | {"origin": "null", "sec-fetch-site": "same-origin"}]
        pages += [COOKIES | ORIGIN | {"sec-fetch-site": where} for where in ("cross-site", "same-site")]
        return [await handshake(app, page) for page in pages], await handshake(app, COOKIES | ORIGIN)

    refused, own = run(world, work)
    assert set(refused) == {403}
    assert own == 101


def test_cors(world):
    """No other page is allowed to read an answer: neither a preflight nor any other request is told so."""
    ask = {"origin": EVIL, "access-control-request-method": "GET", "access-control-request-private-network": "true"}
    found = tries(
        world, ("/projects", "OPTIONS", ask), ("/projects", "OPTIONS", ask | BEARER), ("/projects", "GET", BEARER)
    )
    assert [one.status for one in found] == [403, 403, 200]
    assert not [name for one in found for name in one.headers if name.startswith(("access-control", "timing-allow"))]


def test_a_link_from_another_site(world):
    """It shows a page without any content, which leads on; not to a search, whose words another site would choose."""
    talked(world)
    paths = ["/", ONE, f"{ONE}/files"]
    others = [
        "/find", "/usage", "/find?q=pleasure", f"{ONE}?after=x", "/?q=1", f"{ONE}/markdown", "/sessions/recent", f"{ONE}/live", "//evil.example/",
        f"{ONE}/transcripts/1", "/s/../x", "/login",
    ]  # fmt: skip
    for headers in (
        BROWSER | LINK,
        BROWSER | LINK | COOKIES,
        BROWSER | LINK | COOKIES | {"sec-fetch-site": "same-site"},
    ):
        led, refused = (tries(world, *((path, "GET", headers) for path in some)) for some in (paths, others))
        for path, one in zip(paths, led, strict=True):
            assert (one.status, "set-cookie" in one.headers) == (200, False)
            assert f'<a id="onward" href="{path}">'.encode() in one.body
            assert one.headers["cross-origin-opener-policy"] == "same-origin"
        assert led[1].body.replace(ONE.encode(), b"/") == led[0].body
        assert [one.status for one in refused] == [200 if path == "/find" else 403 for path in others]
        assert not [one for one in (*led, *refused) for text in CONTENT[:2] if text in one.body]
    posted = BROWSER | LINK | COOKIES | {"origin": EVIL}
    assert {one.status for one in tries(world, (ONE, "POST", posted), (ONE, "GET", posted), (ONE, "HEAD", LINK))} == {
        403
    }


# -- without the token --------------------------------------------------------------------------------

CREDENTIALS = {
    "none": {}, "another": {"authorization": "Bearer " + "x" * 32}, "its beginning": {"authorization": f"Bearer {TOKEN[:-1]}"},
    "more": {"authorization": f"Bearer {TOKEN}0"}, "in capitals": {"authorization": f"Bearer {TOKEN.upper()}"},
    "by another scheme": {"authorization": f"Basic {TOKEN}"}, "none after the scheme": {"authorization": "Bearer"},
    "as a cookie": {"cookie": f"{COOKIE}={TOKEN}"}, "by another name": {"x-token": TOKEN}, "an empty cookie": {"cookie": f"{COOKIE}="},
    "a cookie of another server": {"cookie": f"{COOKIE}={POLICY._replace(token='y' * 32).cookie}"},
    "the cookie by another name": {"cookie": f"{COOKIE}_={POLICY.cookie}; x{COOKIE}={POLICY.cookie}"},
    "no text": {"authorization": "Bearer \xff\xfe"}, "too long": {"authorization": f"Bearer {'x' * 30_000}"},
}  # fmt: skip


@pytest.mark.slow
def test_no_token_or_a_wrong_one(world):
    """Nothing but the token or its cookie lets anybody in: pages, REST, the socket, and requests to record."""
    talked(world)
    paths = ("/", ONE, f"{ONE}/files", f"{ONE}/transcripts/1", REST, "/search?q=a", "/usage", "/live")

    async def work(app):
        found = {
            name: (await app.ask(paths[number % len(paths)], headers=given), await handshake(app, given))
            for number, (name, given) in enumerate(CREDENTIALS.items())
            if number < 9
        }
        without = {path: (await app.ask(path, headers=CREDENTIALS["none"])).status for path in paths}
        return found, without, await app.ask(f"{ONE}/recording", "POST", ORIGIN, b"do=start")

    found, without, recording = run(world, work)
    assert set(without.values()) == {401}, without
    assert {
        name: (one.status, socket) for name, (one, socket) in found.items() if (one.status, socket) != (401, 401)
    } == {}
    assert recording.status == 401
    assert found["none"][0].headers["www-authenticate"] == "Bearer"
    assert wrong("problem", found["none"][0].json) == []
    later = dict(list(CREDENTIALS.items())[9:])
    assert {one.status for one in tries(world, *(("/", "GET", given) for given in later.values()))} == {401}


def test_the_token_in_an_address(world):
    """It is refused in a query, where it would be in histories and logs."""
    talked(world)
    for name in ("token", "access_token", "key", "auth"):
        assert tries(world, (f"/projects?{name}={TOKEN}", "GET", {}))[0].status == 401
    assert (
        tries(world, (f"/login?token={TOKEN}", "GET", {}), (f"/login?token={TOKEN}", "POST", ORIGIN))[1].status == 401
    )


def test_the_time_of_an_answer(world, monkeypatch):
    """Tokens and cookies are compared in constant time, wherever they come from."""
    compared, hmac_compare = [], hmac.compare_digest

    def compare(one, other):
        compared.append((one, other))
        return hmac_compare(one, other)

    monkeypatch.setattr(access.hmac, "compare_digest", compare)
    tries(
        world, ("/", "GET", {"authorization": "Bearer a"}), ("/", "GET", {"cookie": f"{COOKIE}=b"}),
        ("/login", "POST", ORIGIN, b"token=c"),
    )  # fmt: skip
    assert {one for one, _ in compared} >= {b"a", b"b", b"c"}
    assert {other for _, other in compared} == {TOKEN.encode(), POLICY.cookie.encode()}


def test_cookies_of_other_servers(world):
    """They come, too, as a cookie has no port: none keeps out the person, whatever is in it, and none lets in anybody."""
    odd = ['a={"b": [1, 2]}', "\xff=\xfe", ";;;=", "$Version=1", f"{COOKIE}=x", f'{COOKIE}="', "a=b,c=d e", "a\\=\x01"]
    right = COOKIES["cookie"]
    cases = [*(f"{one}; {right}" for one in odd), *(f"{right}; {one}" for one in odd)]
    found = tries(world, *(("/projects", "GET", {"cookie": text}) for text in (*cases, *odd)))
    assert [one.status for one in found] == [200] * len(cases) + [401] * len(odd)
    two = [("cookie", f"{COOKIE}=x"), ("cookie", right)]
    assert tries(world, ("/projects", "GET", two))[0].status == 200


def test_guessing(world):
    """Wrong tokens are refused after some, and forms with them, too; who knows the token is not kept out."""

    async def work(app):
        guesses = [(await app.ask("/projects", headers={"authorization": "Bearer x"})).status for _ in range(25)]
        forms = [(await app.ask("/login", "POST", ORIGIN, b"token=x")).status for _ in range(25)]
        return guesses, forms, (await app.ask("/health")).status, (await app.ask("/login", headers={})).status

    guesses, forms, known, form = run(world, work)
    assert guesses.count(429) >= 3  # of 25, some more are let in as time goes on
    assert forms.count(429) >= 20
    assert (set(guesses) | set(forms), known, form) == ({401, 429}, 200, 200)


# Each kind of request without the token, with how its flood is answered, and whether that is limited.
FLOODS = {
    "form": ("/login", "GET", {}, b"", {200}),
    "style": ("/static/page.css", "GET", {}, b"", {200}),
    "page": ("/", "GET", BROWSER, b"", {401}),
    "bridge": ("/health", "GET", {}, b"", {401, 429}),
    "other site": ("/", "GET", {"origin": EVIL}, b"", {403, 429}),
    "other name": ("/", "GET", {"host": EVIL}, b"", {421, 429}),
    "cookie": ("/projects", "GET", {"cookie": f"{COOKIE}=x"}, b"", {401, 429}),
    "header": ("/", "GET", BROWSER | {"authorization": "Bearer x"}, b"", {401, 429}),
    "tried": ("/login", "POST", ORIGIN, b"token=x", {401, 429}),
}


@pytest.mark.whole
@pytest.mark.parametrize("flood", FLOODS)
@pytest.mark.parametrize("is_open", [False, True])
def test_a_flood_without_the_token(world, flood, is_open):
    """It keeps out neither who knows the token nor who opens the printed address, whatever is asked for."""
    path, method, headers, body, answers = FLOODS[flood]

    async def work(app):
        statuses = [(await app.ask(path, method, headers, body)).status for _ in range(450)]
        opened = [
            await app.ask(path, headers=BROWSER) for path in ("/", "/static/page.js", "/static/page.css", "/login")
        ]
        entered = await app.ask("/login", "POST", BROWSER | ORIGIN, f"token={TOKEN}&to=/".encode())
        known = [
            (await app.ask(path, headers=COOKIES)).status for path in ("/", "/static/page.js", "/login", "/health")
        ]
        return statuses, [one.status for one in opened], entered.status, known

    policy = POLICY._replace(is_open=is_open)
    statuses, opened, entered, known = run(world, work, policy=policy)
    assert set(statuses) <= answers | ({200} if is_open else set())
    assert (429 in statuses) == (429 in answers)
    assert (opened, entered, known) == ([401, 200, 200, 200], 303, [200] * 4)


# -- paths and forms ----------------------------------------------------------------------------------


def test_path_tricks(world):
    """What is served is found by ids alone: no path leads to a file, in whatever form it is written."""
    maker = talked(world)
    secret = world.home / "secret.txt"
    secret.write_text("the secret")
    up = (
        "../" * 12,
        "..%2f" * 12,
        "%2e%2e/" * 12,
        "..%252f" * 12,
        "..%c0%af" * 12,
        "..\\" * 12,
        "..%5c" * 12,
        "....//" * 12,
    )
    files = [f"{one}{secret}" for one in up] + [str(secret), f"/{secret}", f"file:{secret}", f"{maker.path}"]
    places = [
        "/static/",
        "/s/",
        f"{ONE}/transcripts/",
        f"{ONE}/",
        "/projects/%2Fhome%2Fme%2Fapp/sessions/",
        "/projects/",
        "/",
    ]
    wanted = [f"{place}{file}" for place in places for file in files]
    wanted += [
        "//evil.example/",
        "/s//",
        f"{ONE}/",
        f"{ONE}%00",
        f"{ONE}%0d%0aX: 1",
        "/static/page.js%00.css",
        f"/s/{SESSION[:35]}g",
    ]
    wanted += [f"{ONE}/transcripts/{number}" for number in ("1", "-1", "1e3", "9" * 5000, "%31", "٣", "0x1", "1/..")]
    found = asked(world, *wanted)
    assert {path: one.status for path, one in zip(wanted, found, strict=True) if one.status != 404} == {}
    assert not [one for one in found if b"the secret" in one.body or "x" in one.headers]


def test_open_redirect(world):
    """The form for the token leads to pages of this server alone, and to no header."""
    away = (
        "//evil.example/", "http://evil.example/", "/\\evil.example", "\\\\evil.example", "/s/../..//evil.example", "javascript:alert(1)",
        "/%0d%0aSet-Cookie:a=b", "/\r\nSet-Cookie: a=b", f"{ONE}\r\nX: 1", f"{ONE}//evil.example", "/login", "https:evil.example", " /", "/find?q=x",
        "/\t/evil.example",
    )  # fmt: skip
    found = tries(world, *(("/login", "POST", ORIGIN, f"token={TOKEN}&to={to}".encode()) for to in away))
    assert {(one.status, one.headers["location"]) for one in found} == {(303, "/")}
    found = tries(world, *((to, "GET", BROWSER) for to in away if to.startswith("/")))
    named = [re.search(r'name="to" value="([^"]*)"', one.body.decode())[1] for one in found if one.status == 401]
    assert set(named) == {"/", "/find"}


@each(
    "body",
    [
        b"&".join(b"a=%d" % number for number in range(2000)), b"token=\xff\xfe", b"token=%", b"token", b"token=a&token=" + TOKEN.encode(),
        b"token=" + b"x" * 60_000, b"\x00" * 1000, b'{"token": "x"}', b"token%5b%5d=1", b"=" * 5000, "token=ü".encode(),
    ],
)  # fmt: skip
def test_odd_forms(world, body):
    """They have no token, which is all that is said of them."""
    one = tries(world, ("/login", "POST", ORIGIN, body))[0]
    assert (one.status, "set-cookie" in one.headers) == (401, False)


def test_a_token_that_is_given_to_a_browser(world):
    """It is exchanged for a cookie that no script reads and no other site uses, and is nowhere else."""
    right, refused, form = tries(
        world, ("/login", "POST", ORIGIN, f"token={TOKEN}".encode()), ("/login", "POST", ORIGIN, b"token=wrong"),
        ("/login", "GET", {}),
    )  # fmt: skip
    name, *flags = right.headers["set-cookie"].split("; ")
    assert name == f"{COOKIE}={POLICY.cookie}"
    assert {flag.lower() for flag in flags} == {"httponly", "path=/", "samesite=strict"}
    assert (right.status, right.headers["location"]) == (303, "/")
    assert TOKEN not in str(right.headers)
    assert (refused.status, "set-cookie" in refused.headers) == (401, False)
    assert b'<form id="door" method="post" action="/login">' in form.body
    assert not [one for one in (right, refused, form) if TOKEN.encode() in one.body]


def test_a_cookie_that_is_given_through_a_server_with_tls(world):
    """It is for connections with TLS alone; the host of a request says through what it came."""
    policy = POLICY._replace(proxied=frozenset({"https://laptop.example.net"}))
    beyond = {"host": "laptop.example.net", "origin": "https://laptop.example.net"}
    form = f"token={TOKEN}".encode()
    given, here = tries(world, ("/login", "POST", beyond, form), ("/login", "POST", ORIGIN, form), policy=policy)
    assert "; Secure" in given.headers["set-cookie"]
    assert "; Secure" not in here.headers["set-cookie"]


def test_clickjacking_sniffing_caching_and_referrers(world):
    """Every answer forbids browsers what they need not do, whether it is a page, a refusal, or a stream."""
    talked(world)
    wanted = [
        ("/", "GET", COOKIES), (ONE, "GET", COOKIES), ("/login", "GET", {}), ("/", "GET", {}), ("/", "GET", BROWSER), ("/x", "GET", BEARER),
        ("/projects", "GET", BEARER), ("/projects", "GET", {"host": "x"}), ("/", "POST", {"origin": EVIL}), (ONE, "GET", BROWSER | LINK),
        ("/projects", "POST", BEARER), (REST, "DELETE", BEARER | ORIGIN), (REST, "PUT", BEARER | ORIGIN), ("/projects", "TRACE", BEARER),
        ("/static/page.js", "GET", {}), (f"{REST}/export", "GET", BEARER), (f"{ONE}/markdown", "GET", BEARER),
        ("/login", "POST", ORIGIN | {"content-length": "99999999"}), ("/login", "POST", ORIGIN, b"token=x"),
    ]  # fmt: skip
    found = tries(world, *wanted)
    assert [one.status for one in found] == [
        200, 200, 200, 401, 401, 404, 200, 421, 403, 200, 405, 405, 405, 405, 200, 200, 200, 413, 401,
    ]  # fmt: skip
    for one in found:
        assert one.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
        assert "frame-ancestors 'none'" in one.headers["content-security-policy"]
        assert "unsafe" not in one.headers["content-security-policy"]
        assert one.headers["x-frame-options"] == "DENY"
        assert one.headers["x-content-type-options"] == "nosniff"
        assert one.headers["referrer-policy"] == "no-referrer"
        assert one.headers["cache-control"] == "no-store"
        assert one.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in one.headers
        assert TOKEN.encode() not in one.body
    assert {found[number].json["code"] for number in (10, 11, 12)} == {"READ_ONLY"}


# -- what is said in sessions -------------------------------------------------------------------------


def test_html_in_titles_projects_and_branches(world):
    """It is text on every page, in the stream, and in JSON, of which no browser makes a page."""
    maker = world.claude()
    maker.cwd = f"/home/me/{NASTY.replace('/', '')}"
    maker.write(maker.user(NASTY, gitBranch=NASTY), maker.record("summary", summary=NASTY, leafUuid="x"))
    maker.write(maker.calls("c", NASTY, file_path=NASTY), maker.result("c", NASTY))
    pages = asked(
        world, "/", ONE, f"{ONE}/files", "/find?q=script", f"/find?q={NASTY.replace('#', '').replace('?', '')}"
    )
    for page in pages:
        assert page.status == 200
        found = Elements(page.body.decode()).found
        assert {tag: sum(one == tag for one, _ in found) for tag in ("script", "link")} == {
            "script": 1,
            "link": FRAME["link"],
        }
        assert not {"style", "iframe", "img", "object", "embed", "base"} & {tag for tag, _ in found}
        assert not [name for _, attributes in found for name in attributes if name.startswith("on") or name == "style"]
    rest = asked(world, "/sessions/recent", "/projects", "/search?q=script")
    assert {(one.status, one.headers["content-type"]) for one in rest} == {(200, "application/json")}


def test_line_breaks_in_headers_and_streams(world):
    """What a session says gets into no header, and a line break in it ends no event of a stream."""
    breaks = "x\r\nSet-Cookie: a=b\r\n\r\nHTTP/1.1 200 OK\n\nevent: lost\ndata: 1\n\n"
    maker = world.claude()
    maker.cwd = f"/home/me/{breaks.replace('/', '')}"
    maker.say(user(breaks), says(breaks))

    async def work(app):
        paths = [
            "/",
            ONE,
            f"{ONE}/files",
            f"{ONE}/markdown",
            "/sessions/recent",
            "/find?q=cookie",
            "/find?q=%0d%0aX:1",
            "/%0d%0aX:1",
        ]
        found = [await app.ask(path) for path in paths]
        async with app.events(f"{ONE}/live", BEARER | {"last-event-id": ""}) as event:
            return found, [(await event())[0] for _ in range(3)]

    found, kinds = run(world, work)
    for one in found:
        assert not {"set-cookie", "x"} & set(one.headers)
        assert not [value for value in one.headers.values() if "\n" in value or "\r" in value]
    assert "lost" not in kinds


def recorded(world):
    """Return a world's only transcript, of a session that is recorded."""
    world.claude().say(user("::start\nbegin here"), says("with pleasure"))
    world.once()
    (path,) = world.files()
    return path


def test_a_transcript_that_became_something_else(world):
    """A link, a folder or a pipe in its place is not read, though the ledger names it; the page says why."""
    path = recorded(world)
    (number,) = [row.id for row in world.outputs()]
    other = world.home / "secret.txt"
    other.write_text("the secret")
    kept = path.rename(path.with_suffix(".kept"))
    descriptors = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    for make in (lambda: path.symlink_to(other), lambda: path.symlink_to(kept), path.mkdir, lambda: os.mkfifo(path)):
        make()
        one = asked(world, f"{ONE}/transcripts/{number}", everything=False)[0]
        assert (one.status, one.headers["content-type"]) == (409, "text/html; charset=utf-8")
        assert b"is not a regular file" in one.body
        assert b"the secret" not in one.body
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    kept.rename(path)
    assert b"with pleasure" in asked(world, f"{ONE}/transcripts/{number}", everything=False)[0].body
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) <= len(descriptors) + 2


def test_links_among_the_sessions(world):
    """Neither a file nor a folder that is a link is served, nor a session whose file became one."""
    maker, outside = talked(world), world.home / "outside"
    outside.mkdir()
    folder = maker.path.parent
    for number in (2, 3):
        other = world.session(number)
        other.say(user(f"the secret {number}"))
        other.path.rename(outside / other.path.name)
    (folder / "00000002-8a53-4c3e-9b5e-0a1d5f8f2c11.jsonl").symlink_to(outside / os.listdir(outside)[0])
    (folder.parent / "-linked").symlink_to(outside)

    async def work(app):
        listed = (await app.ask("/sessions/recent")).json["sessions"]
        maker.path.rename(outside / "first.jsonl")
        maker.path.symlink_to(outside / "first.jsonl")
        (outside / "first.jsonl").write_text((outside / os.listdir(outside)[0]).read_text())
        return listed, [await app.ask(path) for path in (ONE, f"{REST}/messages", f"{REST}/export", "/find?q=secret")]

    listed, found = run(world, work)
    assert [row["id"] for row in listed] == [SESSION]
    assert not [one for one in found if b"the secret" in one.body]


# -- a connection: malformed requests -------------------------------------------------------------------


@pytest.fixture
def server(world, monkeypatch):
    """A server as a process, a fork of this one, that has less patience."""
    monkeypatch.setattr("katod.serve.access.guard.PATIENCE", 1.5)
    monkeypatch.setattr("katod.serve.access.limits.PATIENCE", 1.5)
    monkeypatch.setattr("katod.serve.access.limits.FIRST", 1.5)
    monkeypatch.setattr("katod.serve.access.limits.AGAIN", 1)
    world.configure(sessions="all")
    talked(world)
    with Served(world) as served:
        yield served
        told = served.out.read_text()
        assert "Traceback" not in told, told
        assert served.get("/health").status_code == 200


SMUGGLED = b"GET /sessions/recent HTTP/1.1\r\nHost: x\r\n\r\n"
MALFORMED = {
    "both lengths": (("Content-Length: 4", "Transfer-Encoding: chunked"), b"0\r\n\r\n"),
    "both lengths, the other way": (("Transfer-Encoding: chunked", "Content-Length: 4"), b"0\r\n\r\n"),
    "two lengths": (("Content-Length: 0", "Content-Length: 43"), b""),
    "a list of lengths": (("Content-Length: 0, 43",), b""),
    "a negative length": (("Content-Length: -1",), b""),
    "a signed length": (("Content-Length: +43",), b""),
    "a hexadecimal length": (("Content-Length: 0x2b",), b""),
    "a huge length": ((f"Content-Length: {'9' * 400}",), b""),
    "an encoding that is none": (("Transfer-Encoding: xchunked",), b"0\r\n\r\n"),
    "two encodings": (("Transfer-Encoding: chunked, identity",), b"0\r\n\r\n"),
    "an encoding twice": (("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), b"0\r\n\r\n"),
    "a blank before the colon": (("Content-Length : 43",), b""),
    "no name": ((": 43",), b""),
    "a bare carriage return": (("X: a\rTransfer-Encoding: chunked",), b""),
    "a NUL": (("X: a\0b",), b""),
    "a name with a blank": (("X Y: a",), b""),
}


@slow
@each("name", MALFORMED)
def test_request_smuggling(server, name):
    """What two servers may read differently is refused, and the connection ended: nothing after it is a request."""
    lines, body = MALFORMED[name]
    said = answer(server, head(server, "POST /login HTTP/1.1", f"Origin: {server.base}", *lines) + body + SMUGGLED)
    assert status(said) in (400, 413), said
    assert said.count(b"HTTP/1.1 ") == 1
    assert b"421" not in said


@slow
def test_bad_chunks(server):
    """A body in chunks that are none ends the connection, and so does one in endless chunks."""
    begin = head(server, "POST /login HTTP/1.1", f"Origin: {server.base}", "Transfer-Encoding: chunked")
    for chunk in (b"zz\r\n", b"-1\r\n", b"FFFFFFFFFFFFFFFFFFFFF\r\n", b"0x5\r\nhello\r\n", b"5;" + b"x" * 100_000):
        with wire(server) as one:
            one.sendall(begin + chunk)
            assert is_ended(one, 4), chunk[:20]
    with wire(server) as one:
        one.sendall(begin)
        assert is_ended(one, 4, b"2000\r\n" + b"x" * 0x2000 + b"\r\n")


@slow
def test_request_targets_with_a_host(server):
    """An address in place of a path leads nowhere, whatever host is in it; nor do the other forms that are no path."""
    token = f"Authorization: Bearer {server.token}"
    own = f"127.0.0.1:{server.port}"
    for target in (
        f"http://{own}/sessions/recent",
        "http://evil.example/sessions/recent",
        "//evil.example/",
        "*",
        "sessions/recent",
        f"{own}",
    ):
        said = answer(server, head(server, f"GET {target} HTTP/1.1", token, "Connection: close"))
        assert status(said) in (400, 404), (target, said)
    said = answer(
        server,
        head(server, f"GET http://{own}/sessions/recent HTTP/1.1", token, "Connection: close", host="evil.example"),
    )
    assert status(said) == 421
    for first in (
        f"CONNECT {own} HTTP/1.1",
        "OPTIONS * HTTP/1.1",
        "TRACE / HTTP/1.1",
        "PRI * HTTP/2.0",
        "GET /",
    ):
        said = answer(server, head(server, first, token, "Connection: close"))
        assert status(said) in (0, 400, 403, 404, 405), (first, said)
        assert SESSION.encode() not in said


@slow
def test_hosts_on_the_wire(server):
    """Without a Host, with two, and with one in several lines, nobody gets in, with the token either."""
    token, own = f"Authorization: Bearer {server.token}", f"127.0.0.1:{server.port}"
    cases = [
        head(server, "GET / HTTP/1.1", token, host=""), head(server, "GET / HTTP/1.0", token, host=""),
        head(server, "GET / HTTP/1.1", f"Host: {own}", token), head(server, "GET / HTTP/1.1", "Host: evil.example", token),
        head(server, "GET / HTTP/1.1", token, host=f"{own}\r\n evil.example"), head(server, "GET / HTTP/1.1", token, host=f"evil.example\r\n {own}"),
    ]  # fmt: skip
    for data in cases:
        assert status(answer(server, data, 1)) in (400, 421), data
    assert status(answer(server, head(server, "GET / HTTP/1.1", token), 1)) == 200


@slow
def test_very_long_requests(server):
    """Lines and headers have a bound, in one piece and in many; so has the body, whatever it says of its length."""
    token, origin = f"Authorization: Bearer {server.token}", {"Origin": server.base}
    for data in (
        head(server, f"GET /{'x' * 100_000} HTTP/1.1", token), head(server, f"GET /?{'x' * 100_000} HTTP/1.1", token),
        head(server, "GET / HTTP/1.1", token, f"X: {'x' * 100_000}"), head(server, "GET / HTTP/1.1", token, *(f"X{n}: 1" for n in range(20_000))),
    ):  # fmt: skip
        assert status(answer(server, data, 1)) in (400, 431)
    with wire(server) as one:
        one.sendall(b"GET / HTTP/1.1\r\n")
        assert is_ended(one, 4, b"X: " + b"x" * 5000 + b"\r\n")
    assert httpx.post(f"{server.base}/login", content=b"x" * 1_000_000, headers=origin).status_code == 413
    with pytest.raises(httpx.TransportError):
        httpx.post(
            f"{server.base}/login", content=(b"x" * 10_000 for _ in range(100)), headers=origin
        ).raise_for_status()
    zipped = origin | {"Content-Encoding": "gzip"}
    assert httpx.post(f"{server.base}/login", content=b"\x1f\x8b\x08" + b"\0" * 5000, headers=zipped).status_code == 401


# -- slow clients -------------------------------------------------------------------------------------


@slow
def test_slow_heads(server):
    """A head that never ends is not waited for, however often a byte of it comes: the first one, and those after it."""
    for begin in (b"", head(server, "GET / HTTP/1.1")[:-2], head(server, "GET /login HTTP/1.1")):
        with wire(server) as one:
            one.sendall(begin + b"GET")
            assert is_ended(one, 5, b"x")


@slow
def test_slow_bodies(server):
    """A body that is shorter than it says, or comes byte by byte, is not waited for: nor after it was refused."""
    origin, chunked = f"Origin: {server.base}", "Transfer-Encoding: chunked"
    for lines, drip in (
        ((origin, "Content-Length: 9000"), b"x"),
        ((origin, "Content-Length: 9000"), b""),
        ((origin, chunked), b"1\r\nx\r\n"),
    ):
        for host in (None, "evil.example"):
            with wire(server) as one:
                one.sendall(head(server, "POST /login HTTP/1.1", *lines, host=host))
                assert is_ended(one, 5, drip), (lines, host)
    with wire(server) as one:
        one.sendall(head(server, "GET /health HTTP/1.1", f"Authorization: Bearer {server.token}", chunked))
        assert is_ended(one, 5, b"1\r\nx\r\n")


@slow
def test_readers_that_do_not_read(server):
    """A page, an export, a stream and what is asked for a hundred times at once are not kept for them."""
    big_session(server.world.claude(), 12)
    until(lambda: server.get(f"{ONE}/markdown").status_code == 200, "the session")
    token, before = f"Authorization: Bearer {server.token}", server.memory()
    wanted = [
        head(server, f"GET {ONE} HTTP/1.1", token), head(server, f"GET {ONE}/live HTTP/1.1", token),
        head(server, f"GET {REST}/export HTTP/1.1", token, "Connection: close"), head(server, "GET /static/page.js HTTP/1.1") * 400,
    ]  # fmt: skip
    for data in wanted:
        with wire(server, small=True) as one:
            one.sendall(data)
            until(lambda: not _is_connected(server, one), "the end", seconds=40)
    assert server.memory() - before < 25


def _is_connected(server, one):
    """Return whether a process has the other end of a connection open."""
    (_, port), process = one.getsockname(), server.process.pid
    ours = f"{server.port:04X} 0100007F:{port:04X} "
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines() if ours in line]
    sockets = {f"socket:[{row[9]}]" for row in rows}
    links = []
    for number in os.listdir(f"/proc/{process}/fd"):
        with suppress(OSError):
            links.append(os.readlink(f"/proc/{process}/fd/{number}"))
    return bool(sockets & set(links))


@slow
def test_what_is_left_unread_when_a_connection_closes(server):
    """A connection that was closed is ended, though its client never reads the last of what it was sent."""
    with wire(server, small=True) as one:
        request = head(server, "GET /static/page.js HTTP/1.1")
        one.sendall(request * 10)
        while _pending(server, one) < 100_000:
            one.sendall(request)
            time.sleep(0.002)
        one.sendall(head(server, "GET /login HTTP/1.1", "Connection: close"))
        until(lambda: not _is_connected(server, one), "the end", seconds=12)


def _pending(server, one):
    (_, port) = one.getsockname()
    ours = f"{server.port:04X} 0100007F:{port:04X} "
    row = next(line.split() for line in Path("/proc/net/tcp").read_text().splitlines() if ours in line)
    return int(row[4].partition(":")[0], 16)


@slow
def test_a_viewer_that_does_not_read(server):
    """It is dropped, what it was sent does not pile up, others go on; it may come back for what it missed."""
    maker = server.world.claude()
    maker.count = 10

    async def look():
        async with server.client() as slow_one, server.client() as client:
            for one in (slow_one, client):
                await one.start(SESSION)
            slow_one.socket.transport.pause_reading()
            for number in range(60):
                maker.say(user(f"{number} {'x' * 200_000}"))
            maker.say(user("last"))
            frames = await client.heard("last")
            await asyncio.sleep(3)
            slow_one.socket.transport.resume_reading()
            with pytest.raises(ConnectionClosed):
                await slow_one.heard("last")
            since = next(row["id"] for row in reversed(slow_one.frames) if row["type"] == "stream")
        async with server.client() as again:
            missed = await again.missed(SESSION, since)
        got = [row["id"] for row in [*slow_one.frames, *missed] if row["type"] == "stream"]
        assert got == [row["id"] for row in frames if row["type"] == "stream"]

    asyncio.run(look())


# -- many ---------------------------------------------------------------------------------------------


@slow
def test_200_connections(world):
    """No more than so many are open: those on which nothing is asked for make room, and end by themselves."""
    world.configure(sessions="all")
    talked(world)
    with Served(world) as server, wires(server, 200) as idle:
        assert server.get("/health").status_code == 200
        over = sum(map(_is_over, idle))
        assert 200 - limits.CONNECTIONS <= over < 200 - limits.CONNECTIONS + 10
        until(lambda: all(map(_is_over, idle)), "the end of all", seconds=limits.FIRST + 5)


def _is_over(one):
    one.setblocking(False)
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True
    except BlockingIOError:
        return False


@slow
def test_200_busy_connections(server):
    """Where something goes on on each, no more are let in; when they end, others are."""
    with wires(server, 160) as held:
        for one in held:
            with suppress(OSError):
                one.sendall(head(server, "GET /live HTTP/1.1", f"Authorization: Bearer {server.token}"))
        until(lambda: sum(map(_is_over, held)) >= 160 - limits.CONNECTIONS, "the end of some")
    until(lambda: _lets_in(server), "a connection")


def _lets_in(server):
    try:
        return server.get("/health").status_code == 200
    except httpx.TransportError:
        return False


@slow
def test_200_sockets(server):
    """So many clients are served, and the next is told that there are too many."""

    async def open_all(stack):
        found = []
        for _ in range(limits.SOCKETS + 3):
            try:
                found.append(await stack.enter_async_context(server.client()))
            except InvalidStatus as refused:
                found.append(refused.response.status_code)
        return found

    async def look():
        async with AsyncExitStack() as stack:
            return await open_all(stack)

    found = asyncio.run(look())
    assert found[limits.SOCKETS :] == [503] * 3
    assert 503 not in found[: limits.SOCKETS]


@slow
def test_a_flood_of_requests(server):
    """By many strangers at once: whoever knows the token is answered all the while."""
    stop = time.monotonic() + 4
    cases = [{"authorization": "Bearer x"}, {"Host": "evil.example"}, {"Origin": EVIL}, {}]

    def flood(number):
        statuses = []
        with httpx.Client() as client:
            while time.monotonic() < stop:
                with suppress(httpx.TransportError):
                    statuses.append(client.get(f"{server.base}/login", headers=cases[number % 4]).status_code)
        return statuses

    with ThreadPoolExecutor(12) as crowd:
        running = [crowd.submit(flood, number) for number in range(12)]
        waits = []
        while time.monotonic() < stop:
            began = time.monotonic()
            assert server.get("/sessions/recent").status_code == 200
            waits.append(time.monotonic() - began)
        statuses = [status for one in running for status in one.result()]
    assert len(statuses) > 500
    assert statuses.count(429) > len(statuses) / 10
    assert max(waits) < 2


def test_a_client_that_says_too_much(world):
    """It is told so, and is answered again when it waits."""

    async def work(app):
        async with app.socket() as client:
            for _ in range(110):
                await client.say(type="ping")
            return (await client.until("error"))[-1]

    error = run(world, work)
    assert (error["code"], error["retryable"]) == ("RATE_LIMITED", True)


# -- WebSockets ---------------------------------------------------------------------------------------


def frame(first, payload=b"", length=None):
    """Return a frame as a client sends it, masked with zeros; its length may be a lie."""
    length = len(payload) if length is None else length
    size = bytes([0x80 | length]) if length < 126 else b"\xff" + length.to_bytes(8)
    return bytes([first]) + size + b"\0" * 4 + payload


def upgraded(server, one, *lines):
    """Make a connection a WebSocket; return the answer to the handshake."""
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    token = f"Authorization: Bearer {server.token}"
    one.sendall(
        head(
            server,
            "GET /ws HTTP/1.1",
            token,
            "Connection: Upgrade",
            "Upgrade: websocket",
            key,
            "Sec-WebSocket-Version: 13",
            *lines,
        )
    )
    said = b""
    while b"\r\n\r\n" not in said:
        said += one.recv(4096)
    return said


TEXT, REST_OF_IT, PING, LAST = 0x01, 0x00, 0x09, 0x80
FRAMES = {
    "a huge frame": frame(TEXT | LAST, b"x" * 1_000_000),
    "a frame that says it is huge": frame(TEXT | LAST, b"x", 1 << 40),
    "a huge message in pieces": frame(TEXT, b"x" * 60_000) + frame(REST_OF_IT, b"x" * 60_000) * 8,
    "no text": frame(TEXT | LAST, b"\xff\xfe"),
    "a bomb": frame(TEXT | LAST | 0x40, b"\xec\xc1\x01\x01\x00\x00\x00\x80\x90\xfe\xaf\xee\x08\x0a" * 50),
    "an unmasked frame": b"\x81\x05hello",
    "an unknown frame": frame(0x03 | LAST, b"x"),
    "a piece of nothing": frame(REST_OF_IT | LAST, b"x"),
    "a long ping": frame(PING | LAST, b"x" * 200),
}


@slow
@each("name", FRAMES)
def test_frames(server, name):
    """What is too large, compressed or no frame at all ends the connection; nothing is ever unpacked."""
    with wire(server) as one:
        said = upgraded(server, one, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits")
        assert status(said) == 101
        assert b"extensions" not in said.lower()
        with suppress(OSError):
            one.sendall(FRAMES[name])
        assert is_ended(one, 5)


@slow
@pytest.mark.parametrize("name", ["pieces", "pings"])
def test_endless_frames(server, name):
    """Empty pieces of a message, and pings whose answers are not read, take no memory: they end the connection."""
    frames, begin = {
        "pieces": (frame(REST_OF_IT) * 5000, frame(TEXT)),
        "pings": (frame(PING | LAST, b"x" * 125) * 1000, b""),
    }[name]
    before = server.memory()
    with wire(server, small=name == "pings") as one:
        assert status(upgraded(server, one)) == 101
        one.sendall(begin)
        with pytest.raises(OSError):
            _send_for_ever(one, frames)
    assert server.memory() - before < 20


def _send_for_ever(one, frames):
    for _ in range(2000):
        one.sendall(frames)


@slow
def test_handshakes_that_are_none(server):
    """A request to become a WebSocket that cannot is refused, and not kept; without the right to, it is told why."""
    ways = ["Connection: Upgrade", "Upgrade: websocket"]
    token = f"Authorization: Bearer {server.token}"
    key, version = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"
    for first, *lines in (
        ("POST /ws HTTP/1.1", key, version, "Content-Length: 5"), ("GET /ws HTTP/1.1", version), ("GET /ws HTTP/1.1", key),
        ("GET /ws HTTP/1.1", "Sec-WebSocket-Key: x", version), ("GET /ws HTTP/1.1", key, "Sec-WebSocket-Version: 8"),
        ("GET /nothing HTTP/1.1", key, version), ("GET /../ws HTTP/1.1", key, version),
    ):  # fmt: skip
        with wire(server) as one:
            one.sendall(head(server, first, *ways, *lines, token))
            assert is_ended(one, 5), (first, lines)

    async def refused(**headers):
        with pytest.raises(InvalidStatus) as found:
            async with server.client(**headers):
                pass
        return found.value.response.status_code

    assert asyncio.run(refused(Authorization="Bearer wrong")) == 401
    assert asyncio.run(refused(Origin=EVIL)) == 403


# -- another user of the machine ----------------------------------------------------------------------


def test_taking_the_port():
    """Once katod has a port, nobody else can listen there, not even before it answers: its address may be printed."""
    with listening("127.0.0.1", 0) as ours, socket.socket() as theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with pytest.raises(OSError, match="in use"):
            theirs.bind(ours.getsockname())
        with socket.create_connection(ours.getsockname(), 5):
            pass


def test_reading_the_token_or_the_socket(tmp_path):
    """They are for their owner alone; a token that others have access to, or that is no file of ours, is refused."""
    assert own_token(tmp_path / "state")
    path = tmp_path / "state/serve-token"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with listening_at(tmp_path / "socket"):
        assert (tmp_path / "socket").stat().st_mode & 0o077 == 0
    for mode in (0o640, 0o604, 0o622):
        path.chmod(mode)
        with pytest.raises(ServeError):
            own_token(tmp_path / "state")
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(ServeError):
        own_token(tmp_path / "state")


# -- where the token is -------------------------------------------------------------------------------


@slow
def test_the_token_in_logs_processes_and_files(world):
    """It is on one line that the person sees, and in one private file; the service prints it nowhere."""
    world.configure(sessions="all")
    talked(world)
    world.once()

    def state():
        files = [path for path in world.state.iterdir() if path.is_file() and path.suffix == ".db"]
        return {path.name: path.read_bytes() for path in [*files, *world.files()]}

    before = state()
    with Served(world, fresh=True) as server:
        for path in ("/sessions/recent", "/search?q=pleasure", f"/?token={server.token}", "/nothing"):
            server.get(path)
        httpx.get(f"{server.base}/projects", headers={"Authorization": "Bearer wrong"})
        answer(server, b"GET /" + server.token.encode() + b"\0 HTTP/1.1\r\n\r\n", 0.5)
        for name in ("cmdline", "environ"):
            assert server.token.encode() not in Path(f"/proc/{server.process.pid}/{name}").read_bytes()
        token = world.state / "serve-token"
        assert token.read_text() == f"{server.token}\n"
        assert token.stat().st_mode & 0o777 == 0o600
        assert len(server.token) >= 43
        holding = [
            path for path in world.home.rglob("*") if path.is_file() and server.token.encode() in path.read_bytes()
        ]
        assert sorted(holding) == sorted([token, server.out])
        assert server.stop()[0] == 0
        assert server.out.read_text().count(server.token) == 1
        assert server.out.read_text().count("\n") == 1
    assert state() == before


# -- a real browser -----------------------------------------------------------------------------------

# Tries what a page can try; what it could read is its title at the end.
HOSTILE = """<!DOCTYPE html><title>trying</title><body><script>
const base = "http://127.0.0.1:PORT", one = base + "/s/SESSION", read = [];
const got = (what) => (value) => read.push(what + ": " + value), lost = () => {};
const frames = [];
const tries = [
  fetch(base + "/sessions/recent", {credentials: "include"}).then((r) => r.text()).then(got("fetch"), lost),
  fetch(one + "/recording", {method: "POST", credentials: "include", mode: "no-cors", body: new URLSearchParams("do=start")}).then(lost, lost),
  fetch(base + "/login", {method: "POST", credentials: "include", mode: "no-cors", body: new URLSearchParams("token=x")}).then(lost, lost),
  fetch(base + "/projects", {headers: {Authorization: "Bearer x"}}).then(got("preflight"), lost),
  new Promise((done) => { const s = new WebSocket("ws://127.0.0.1:PORT/ws"); s.onopen = () => done(read.push("socket")); s.onerror = done; }),
  new Promise((done) => { const s = new EventSource(base + "/live", {withCredentials: true}); s.onopen = () => done(read.push("events")); s.onerror = () => done(s.close()); }),
  ...["/static/page.js", "/sessions/recent"].map((path) => new Promise((done) => {
    const s = document.createElement("script"); s.src = base + path; s.onload = () => done(read.push("script")); s.onerror = done; document.body.append(s);
  })),
  new Promise((done) => { const s = new Image(); s.src = base + "/static/icon.svg"; s.onload = () => done(read.push("image")); s.onerror = done; }),
  new Promise((done) => { const s = document.createElement("iframe"); s.src = one; s.onload = done; document.body.append(s); frames.push(s); setTimeout(done, 3000); }),
];
const form = document.createElement("form");
Object.assign(form, {method: "post", action: one + "/recording", target: "posted"});
form.innerHTML = '<input name="do" value="capture">';
const target = document.createElement("iframe");
target.name = "posted";
document.body.append(target, form);
form.submit();
Promise.all(tries).then(() => setTimeout(() => {
  for (const frame of [...frames, target]) { try { frame.contentDocument && got("frame")(frame.contentDocument.body.textContent); } catch {} }
  document.title = "read " + JSON.stringify(read.filter((one) => one !== "frame: "));
}, 500));
</script>"""


@slow
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"])
def test_a_hostile_page_in_a_real_browser(world, host):
    """Of another site, and of another server of this machine: it reads nothing, and starts no recording."""
    world.configure(sessions="all")
    talked(world)
    rules = "--host-resolver-rules=MAP *.example 127.0.0.1"
    with Live(world), Served(world) as server, site() as evil, browsing(server, rules) as browser:
        evil.page = HOSTILE.replace("PORT", str(server.port)).replace("SESSION", SESSION)
        browser.enter()
        browser.program.get(f"http://{host}:{evil.server_port}/")
        until(lambda: browser.program.title.startswith("read "), "the attack")
        assert browser.program.title == "read []"
        assert not world.files()
        browser.program.get(f"http://rebound.example:{server.port}/s/{SESSION}")
        assert "does not answer to that name" in browser.program.page_source
        browser.open(f"/s/{SESSION}").sees("with pleasure")
        browser.sees("not recorded", "#about")


@slow
@pytest.mark.parametrize("script", [True, False], ids=["script", "no-script"])
@pytest.mark.parametrize("host", ["forge.example", "127.0.0.1"])
def test_a_link_of_another_site_in_a_real_browser(world, host, script):
    """A click on it leads to the message, once the token was given; the other site reads nothing of that."""
    world.configure(sessions="all")
    talked(world)
    rules = "--host-resolver-rules=MAP *.example 127.0.0.1"
    with Served(world) as server, site() as forge, browsing(server, rules, script=script) as browser:
        browser.open(f"/s/{SESSION}")
        browser.all("#token")[0].send_keys(server.token)
        browser.click("#door button")
        until(lambda: browser.all("#log .said"), "the conversation")
        name = browser.all("#log .said")[1].get_attribute("id")
        address = f"{server.base}/s/{SESSION}#{name}"
        forge.page = f"<title>forge</title><a id=link href='{address}'>a</a><a id=blank target=_blank rel=opener href='{address}'>b</a>"
        browser.program.get(f"http://{host}:{forge.server_port}/")
        browser.click("#link")
        if not script:
            browser.click("#onward")
        until(lambda: browser.all("#log .said"), "the conversation")
        assert "with pleasure" in browser.program.page_source
        if script:
            assert browser.program.current_url == address
            until(lambda: browser.all(".e:target"), "the message")
        browser.program.refresh()
        until(lambda: browser.all("#log .said"), "the conversation")
        if script:
            browser.program.back()
        else:
            browser.program.get(f"http://{host}:{forge.server_port}/")
        until(lambda: browser.program.title == "forge", "the other site")
        browser.click("#blank")
        until(lambda: len(browser.program.window_handles) == 2, "a window")
        browser.program.switch_to.window(browser.program.window_handles[1])
        until(lambda: browser.all("#onward, #log .said"), "the page")
        if script:
            until(lambda: browser.all("#log .said"), "the conversation")
            assert browser.run("return window.opener") is None


@slow
def test_the_token_in_a_link_of_another_site(world):
    """The address that `katod serve` prints works where a terminal is a page of a browser; the token is not kept in it."""
    talked(world)
    world.configure(sessions="all")
    rules = "--host-resolver-rules=MAP *.example 127.0.0.1"
    with Served(world) as server, site() as terminal, browsing(server, rules) as browser:
        terminal.page = f"<a id=link href='{server.base}/#token={server.token}'>a</a>"
        browser.program.get(f"http://terminal.example:{terminal.server_port}/")
        browser.click("#link")
        until(lambda: browser.all("#groups .row"), "the list")
        assert server.token not in browser.program.current_url


@slow
def test_what_another_site_is_told_of_a_link_to_it(world):
    """Neither where it was, nor the token or the cookie."""
    world.configure(sessions="all")
    maker = talked(world)
    rules = "--host-resolver-rules=MAP *.example 127.0.0.1"
    with Served(world) as server, site("there") as other, browsing(server, rules) as browser:
        maker.say(says(f"See [it](http://other.example:{other.server_port}/there)."))
        browser.enter().open(f"/s/{SESSION}")
        browser.click("#log a[href*='other.example']")
        until(lambda: any(one.startswith("/there") for one in other.heard), "the request")
        told = next(one for one in other.heard if one.startswith("/there")).lower()
        assert "referer" not in told
        assert "cookie" not in told
        assert str(server.port) not in told

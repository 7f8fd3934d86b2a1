"""The base of links: no link leaves it, whatever it is spelled like."""

from posixpath import normpath
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod.formats.text.linkbase import address_of, base_of, based, destination, is_address, problem_of, seen_from
from tests.examples import examples, texts
from tests.looping import each

WEB = "https://git.example.org/me/shop/src/branch/main"
STRANGE = [
    "..", ".", "/", "//", "\\", "%2e%2e", "%2E.", "%2f", "%5c", "%00", "%0a", "\t", "a", "a.py", ":12", "#", "?", "~", ":", "javascript:",
    "@", "evil.org", "%", "%zz", "ä", "%c3%a4", "%ff", "\u202e", " ", "'", '"', "<", ";", "&",
]  # fmt: skip


@each(
    ("target", "path"),
    [
        ("src/a.py", "/src/a.py"),
        ("./src/./a.py", "/src/a.py"),
        ("src/../a.py", "/a.py"),
        ("src//a.py", "/src/a.py"),
        ("src/", "/src"),
        (".", "/"),
        ("a%20b.py", "/a%20b.py"),
        ("%C3%A4.py", "/%C3%A4.py"),
        ("src/a.py#L3", "/src/a.py#L3"),
        ("src/a.py#a%20b", "/src/a.py#a%20b"),
        ("src/a.py:12", "/src/a.py#L12"),
        ("src/a.py:12:5", "/src/a.py#L12"),
        ("src/a.py:12#x", "/src/a.py%3A12#x"),
        ("src/:12", "/src/%3A12"),
        ("src/..:12", "/src/..%3A12"),
        ("a&b'c.py", "/a%26b%27c.py"),
    ],
)
def test_a_relative_link_leads_below_the_base(target, path):
    """Without the parts that lead nowhere; the line of a file is a fragment, as forges have it."""
    assert based(target, WEB) == WEB + path
    assert based(target, f"{WEB}/") == WEB + path


@pytest.mark.fault("link that runs something")
@each(
    "target",
    [
        "", "#here", "..", "../a.py", "src/../../a.py", "%2e%2e/a.py", "src/%2E%2E/..%2fa.py", "/etc/passwd", "//evil.org/x", "\\\\evil.org",
        "%5c%5cevil.org/x", "a%2f..%2f..%2fb", "a\\..\\..\\b", "a%00b", "a%0ab", "a\nb", "a?b", "~/a.py", "~root/a.py", "a" * 3000, "%e2%80%ae",
    ],
)  # fmt: skip
def test_what_is_not_below_the_base_stays_text(target):
    """Paths of the machine, of other hosts, and those that leave the base, however they are encoded."""
    assert based(target, WEB) == ""


def test_without_a_base_there_is_no_link():
    """As it always was."""
    assert based("src/a.py", "") == ""


@examples(200, 20_000)
@given(st.lists(st.sampled_from(STRANGE), max_size=8).map("".join), st.sampled_from([WEB, "..", "../../a%20b", "."]))
def test_no_link_leaves_its_base(target, base):
    """A browser that follows a link asks for something below the base, of the same host."""
    link = based(target, base)
    if not link:
        return
    page = "https://pages.example.org/1/2/3/4/page.html"
    whole, below = urlsplit(urljoin(page, link)), urlsplit(urljoin(page, f"{base}/"))
    assert (whole.scheme, whole.netloc, whole.query) == (below.scheme, below.netloc, "")
    assert normpath(unquote(whole.path) + "/.").startswith(normpath(unquote(below.path)))
    assert not set(link) & set("\"'<>\\ \t\n\0")
    assert link.isascii()


@pytest.mark.parametrize(
    "base",
    [WEB, "http://localhost:3000", "https://[::1]/x/", f"{WEB}/{{project}}", "..", "/srv/a b", "{project}", " x:y"],
)
def test_addresses_and_directories_are_bases(base):
    """An address is one of http or https."""
    assert problem_of(base) == ""
    assert is_address(base) == base.startswith("http")


@each(
    "base",
    [
        "", "javascript:alert(1)", "JavaScript:alert(1)//", "data:text/html,x", "file:///etc", "vbscript:x", "ftp://a.b/", "mailto:a@b.c", "a:b",
        "https://", "https:///x", "http://a b/", "https://me:secret@example.org/", "https://example.org@evil.org/", "https://a.b/?q=", "https://a.b/#x",
        "https://a.b/?", "https://a.b/../x", "https://a.b/%2e%2e/x", 'https://a.b/"x', "https://a.b/<x>", "https://a.b\\@evil.org", "https://ä.b/",
        "https://a.b/\n", "x\ny", "x\x00", "http://[::1", "https://a.b:x/", "https://{project}.example.org/",
    ],
)  # fmt: skip
def test_everything_else_is_none(base):
    """No other scheme, no password, nothing behind which a path means something else."""
    assert problem_of(base)


def test_the_name_of_the_project_is_put_into_a_base():
    """It is one part of a path, whatever it is; without a name, there is no base."""
    assert base_of(WEB, "") == WEB
    assert base_of("https://a.b/{project}/x", "my shop") == "https://a.b/my%20shop/x"
    assert base_of(seen_from("/home/me/{project}", "/home/me/all"), "shop?") == "../shop%3F"
    assert [base_of("https://a.b/{project}", name) for name in ("", ".", "..", "a/b", "a\\b", "a\nb")] == [""] * 6


def test_a_directory_is_seen_from_the_page():
    """Its parts are encoded, so that none of them is a scheme or a query."""
    assert seen_from("/home/me/shop", "/home/me/shop") == "."
    assert seen_from("/home/me/shop", "/home/me/all/shop") == "../../shop"
    assert seen_from("/srv/a b/javascript:x", "/srv/a b") == "javascript%3Ax"
    assert based("src/a.py", seen_from("//evil.org/x", "/srv")) == "../evil.org/x/src/a.py"


STEPS = (st.lists(st.sampled_from(STRANGE), min_size=1, max_size=3).map("".join) | texts(min_size=1, max_size=5)).map(
    lambda step: step.replace("/", "-").replace("\0", "-")
).filter(lambda step: step not in (".", ".."))  # fmt: skip


@given(path=st.lists(STEPS, min_size=1, max_size=3).map("/".join))
@examples(60, 400)
def test_a_link_leads_to_the_file_of_any_name(path):
    """In Markdown, as its parsers read it, and in a page: no part of a name is a scheme, a query or an entity."""
    inside = MarkdownIt("commonmark").parseInline(f"![x]({destination(path)})")[0].children
    for address in (str(inside[0].attrs["src"]), address_of(path)):
        parts = urlsplit(urljoin("file:///folder/page", address))
        assert (unquote(parts.path, errors="surrogateescape"), parts.query, parts.fragment) == (
            f"/folder/{path}",
            "",
            "",
        )
        assert not parts.netloc


def test_a_name_that_is_no_text_is_an_address_too():
    """It has the bytes of the name."""
    assert address_of("a/\udcff b.html") == "a/%FF%20b.html"


@each("path", ["auth.assets/ab.png", "my notes.assets/ab.png", "größe (2).agents/agent-x.md", "a[b]'s.assets/é.png"])
def test_a_plain_name_is_written_as_it_is(path):
    """People read transcripts as text, too."""
    assert destination(path) == f"<{path}>"

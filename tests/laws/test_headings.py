"""No heading of a transcript is a link, whatever a person or a program calls the conversation and its parts."""

from html.parser import HTMLParser

import cmarkgfm
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.transcript.html import Html
from katod.formats.transcript.markdown import Markdown
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from tests.examples import examples
from tests.looping import each

KEY = SessionKey("claude", "s")
TITLES = [
    "https://example.org/a?b=c&d=e#f", "see www.example.org/x now", "WWW.example.org", "HTTP://A.B", "ftp://a.b/c", "[a](http://x.y)",
    "[a]: http://x.y", "<http://a.b>", "<https://a.b|x>", "![i](http://a.b/x.png)", "[x][1]", "[[https://a.b]]", "(www.a.b)", "**https://a.b/c**",
    "_www.a.b_", "`x` https://a.b", "\\https://a.b", "x:https://a.b", "http\\://a.b", "www\\.a.b", "[![a](http://a.b/c.png)](http://d.e)", "&lt;http://a.b&gt;",
    "https&#58;//a.b", "~~http://a.b~~", "[https://a.b", "https://a.b](x)", "http:\\//a.b", "<a href='http://a.b'>x</a>", "wwwww.a.b",
]  # fmt: skip
PIECES = [
    "http",
    "https",
    ":",
    "//",
    "www",
    ".",
    "a.b",
    "ftp",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "\\",
    "*",
    "_",
    "~~",
    "`",
    "!",
    "&#58;",
    "&colon;",
    " ",
    "x",
    '"',
    "|",
]


class Headings(HTMLParser):
    """The links in the headings of a page, and the text of its headings."""

    def __init__(self, source):
        super().__init__()
        self.links, self.words, self._level = [], [], 0
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag in ("h1", "h2", "h3"):
            self._level += 1
            self.words.append("")
        if self._level and tag in ("a", "img"):
            self.links.append(dict(attrs).get("href"))

    def handle_endtag(self, tag):
        self._level -= tag in ("h1", "h2", "h3")

    def handle_data(self, data):
        if self._level:
            self.words[-1] += data


def printed(printer, title, words):
    """Return a transcript with a title, a prompt and the name of a model."""
    metadata = SessionMetadata(KEY, {"title": title, "model": title})
    said = [(ev.USER_MESSAGE, "one"), (ev.USER_MESSAGE, words), (ev.ASSISTANT_MESSAGE, "answer")]
    rows = [
        Event(str(n), kind, SessionRef("claude", "s"), {"text": text}, {}, "", typed=True, model=title)
        for n, (kind, text) in enumerate(said)
    ]
    return (
        printer.head(metadata, "")
        + "".join(printer.event(row, metadata) for row in metadata.observed(rows))
        + printer.pause()
        + printer.end()
    )


def readings(title):
    """Return the headings of a transcript as a forge, a strict renderer and a browser have them."""
    text = printed(Markdown(Options()), title, title).partition("\n---\n")[2]
    yield Headings(cmarkgfm.github_flavored_markdown_to_html(text))
    yield Headings(MarkdownIt("commonmark").render(text))
    yield Headings(printed(Html(Options()), title, title))


def assert_no_links(title):
    for read in readings(title):
        assert [link for link in read.links if not link.startswith(("#m", "mailto:"))] == []


@each("title", TITLES)
def test_a_heading_is_no_link(title):
    """Nor has it one: neither the title of a transcript, nor the heading of a message or of a turn."""
    assert_no_links(title)


@examples(100, 10_000)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_heading_has_a_link(title):
    """However an address is spelled."""
    assert_no_links(title)


@each(
    "title", ["https://example.org/a?b=c", "see www.example.org now", "HTTP://A.B/_x_*y*", "C:\\a.b", "me@example.org"]
)
def test_a_heading_still_says_what_was_typed(title):
    """An address in it is shown as it is."""
    for read in readings(title):
        assert read.words[0] == title

"""Markdown that notifies nobody, as a forge reads it: an independent renderer, and the forge's rule for names."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from katod.formats.text.mdtext import body, html, typed
from katod.formats.text.quiet import apart, quiet
from tests.examples import examples, texts
from tests.looping import each

FORGE = MarkdownIt("commonmark", {"html": True, "maxNesting": 1000}).enable(["table", "strikethrough"])
MENTION = re.compile(r"(?:^|[^A-Za-z0-9_])(?:@[A-Za-z0-9]|(?:#|GH-)[0-9]+\b)|\w/\w+#[0-9]+\b", re.IGNORECASE)
ADDRESS = re.compile(r"https?://[A-Za-z0-9]\S*")
# In these elements a forge looks for no names.
EXEMPT = frozenset({"code", "pre", "a"})


class Words(HTMLParser):
    """The texts of a page in which a forge looks for names, and the targets of its links."""

    def __init__(self, page):
        super().__init__()
        self.open, self.texts, self.targets = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.targets += [value for name, value in attrs if name == "href"]
        if tag in EXEMPT:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            self.open.remove(tag)

    def handle_data(self, data):
        if not self.open:
            self.texts.append(ADDRESS.sub("x", data))


def notified(markdown):
    """Return the texts of Markdown by which a forge would notify somebody."""
    return [text for text in Words(FORGE.render(markdown)).texts if MENTION.search(text)]


PIECES = st.sampled_from(
    [
        "@foo", "@a/team", "#12", "a/b#7", "GH-9", "&#64;foo", "&commat;foo", "@&#102;oo", "\\@foo", "\\\\@foo", "`", "``", "`@foo`", "```\n", "\n", "\n\n", " ",
        "*", "_", "**", "x", "a@b.de", "<b>", "</b>", "<div>", "</div>", "<code>", "</code>", "<pre>", "</pre>", "|", "a | b\n|---|---|\n",
        "[x](/home/me/x)", "[`x`](/home/@me/x)", "[@foo](https://a.b/@foo)", "https://a.b/@foo", "https://@foo", "(", ")", "[", "](",
        "> ", "- ", "1. ", "    ", "\t", "# ", "<", ">", "\\", "\\`", "<a href='/home/me'>", "<a title='@foo'>", "</a>", "~~", "<!-- @foo -->",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | texts(max_size=3), max_size=12).map("".join)


@examples(4, 2_000)
@given(TEXTS)
@example("`a`@foo")
@example("https://a.b/@foo\xa0@foo")
@example("| a |\n|---|\n| `x | @foo` |")
@example("> " * 60 + "@foo")
@example(">`a | b\n|---|---|\n@foo")
def test_nobody_is_notified_by_a_message(text):
    """Whatever a message of the agent or of the person contains, the forge finds no name outside of code in it."""
    for shown in (quiet(body(text)), quiet(typed(text))):
        assert notified(shown) == []


@pytest.mark.slow
@examples(4, 1_000)
@given(TEXTS)
def test_nobody_is_notified_by_a_title(text):
    """A title in HTML has its names as code."""
    assert notified(f"<details>\n<summary>{html(apart(text))}</summary>\n\n</details>") == []


@each(
    ("text", "shown"),
    [
        ("ask @someone", "ask `@someone`"),
        ("(@a/team.x), closes #12, a/b#7 and GH-9", "(`@a/team.x`), closes `#12`, `a/b#7` and `GH-9`"),
        ("mail a@b.de, @scope/pkg@1.0", "mail a@b.de, `@scope/pkg@1.0`"),
        ("`@a` and @b", "`@a` and @\u200bb"),
        ("`a\n@b` and @c", "`a\n@b` and @\u200bc"),
        ("use `Array<T>` with `@Input()`", "use `Array<T>` with `@Input()`"),
        ("| a |\n|---|\n| `@a` @b |", "| a |\n|---|\n| `@a` @\u200bb |"),
        ("`#1` &#35; #x a#", "`#1` &#35; #x a#"),
        ("- *@a*\n- b@c.de", "- *@\u200ba*\n- b@c.de"),
        ("    @a", "    @a"),
        ("~~~\n@a\n~~~", "~~~\n@a\n~~~"),
        ("[`app.ts`](/home/me/app.ts:3)", "[`app.ts`]"),
        ("see [app.ts](/home/me/app.ts)", "see `app.ts`"),
        ("![plan](plan.png)", "`plan`"),
        ("[page.tsx](app/(auth)/page.tsx) x", "`page.tsx` x"),
        ("[[id].tsx](app/[id].tsx)", "[[id].tsx]"),
        ("[the\nfile](/home/me/x)", "[the\nfile]"),
        ("[## You `x`](/x) [~~~ `x`](/x)", "[## You `x`] [~~~ `x`]"),
        ("[x]( https://a.b) [a](https://x.y/(z)/@foo)", "[x]( https://a.b) [a](https://x.y/(z)/@foo)"),
        ("[docs](https://a.b/@c), <https://a.b/@c>", "[docs](https://a.b/@c), <https://a.b/@c>"),
        ("`x` <b>@a</b>", "`x` <b>@\u200ba</b>"),
        ("<div>\n@a #12 https://a.b/@c\n</div>", "<div>\n@\u200ba #\u200b12 https://a.b/@c\n</div>"),
        ("<a href='/home/me/x'>x</a>", "<a>x</a>"),
        ("see https://a.b/` and @octocat and `x", "see https://a.b/` and @\u200boctocat and `x"),
        ("<div>\n&#64octocat\n</div>", "<div>\n@\u200boctocat\n</div>"),
    ],
)
def test_names_and_files_become_code(text, shown):
    """A name, or what a link to a file is called, stands as code; code and addresses of the web stay as they are."""
    assert quiet(text) == shown


def test_text_without_names_is_not_parsed(monkeypatch):
    """Most texts mention nobody; they are returned at once."""
    monkeypatch.setattr("katod.formats.text.quiet._parser", None)
    assert quiet("# words\n\n`code`") == "# words\n\n`code`"

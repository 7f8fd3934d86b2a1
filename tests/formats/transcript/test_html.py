"""HTML: one page with the same content, in which nothing of a message acts or loads."""

import http.server
import re
import shutil
import subprocess
import threading
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.transcript.html import Html
from katod.formats.transcript.messages import as_html, typed_as_html
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from tests.examples import examples
from tests.looping import each

KEY = SessionKey("claude", "s")
VOID = {"meta", "img", "hr", "br", "input"}
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "main", "nav", "ol", "ul", "li", "a", "b", "i", "p", "h1", "h2", "h3",
    "h4", "h5", "h6", "time", "span", "div", "code", "pre", "details", "summary", "blockquote", "em", "strong", "s", "hr",
    "br", "table", "thead", "tbody", "tr", "th", "td", "img",
}  # fmt: skip
ATTRIBUTES = {"href", "rel", "class", "id", "src", "alt", "start", "style", "title", "lang", "charset", "name", "content",
              "http-equiv"}  # fmt: skip
HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "![x](http://a.b/c.png)",
    "<svg onload=alert(1)>", "</div></main><script>1</script>", "[x](data:text/html,<script>1</script>)", "&lt;script&gt;",
    "<!--", "</style>", "<iframe src=//a.b>", '"><b onclick=x>', "```html\n<script>1</script>\n```", "<a href='vbscript:x'>",
    "![x](data:image/svg+xml,<svg onload=1>)", "[x](JaVaScRiPt&colon;alert(1))", "<style>*{background:url(http://a.b)}</style>",
    "[x]: javascript:a\n\n[x]", "\x1b[31mred\x1b[0m\u202eevil", "<details><summary>Bash</summary>fake</details>",
]  # fmt: skip


class Page(HTMLParser):
    """Reads a page: its elements with their attributes, its text, and whether each element is closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words += data


def event(kind, payload, number=0, **more):
    time = f"2026-02-10T22:{number:02d}:00.000Z"
    return Event(f"claude:s:{number}", kind, SessionRef("claude", "s"), payload, {}, time, typed=True, **more)


def page(*events, tools="full", title="A title", base="", cwd=""):
    """Return a whole page of these events."""
    shown, metadata = Html(Options(tools=tools, base=base)), SessionMetadata(KEY, {"title": title, "cwd": cwd})
    text = shown.head(metadata, "2026-02-10T22:00:00.000Z")
    for one in metadata.observed(events):
        text += shown.event(one, metadata)
    return text + shown.pause() + shown.end()


def conversation(text):
    """Return events with a text in every place that shows one."""
    call = {"toolCallId": "t", "name": text, "family": "execute", "input": {"command": text, "description": text}}
    asked = {
        "decisionId": "d:0",
        "decisionKey": text,
        "prompt": text,
        "options": [{"label": text, "description": text}],
    }
    return [
        event(ev.USER_MESSAGE, {"text": text}, 1),
        event(ev.ASSISTANT_MESSAGE, {"text": text}, 2, model=text),
        event(ev.TOOL_CALL, call, 3),
        event(ev.TOOL_RESULT, {"toolCallId": "t", "text": text, "isError": True}, 4),
        event(ev.DECISION_PROMPT, asked, 5),
        event(ev.DECISION_RESPONSE, {"decisionId": "d:0", "selections": [text]}, 6),
        event(ev.ERROR, {"message": text}, 7),
    ]


def assert_harmless(source):
    """Assert that a page consists of known elements alone, that nothing in it acts, and that all is closed."""
    read = Page(source)
    assert read.open == []
    for tag, attributes in read.found:
        assert tag in ALLOWED, tag
        assert attributes.keys() <= ATTRIBUTES, attributes
        assert "style" not in attributes or re.fullmatch(r"text-align:(?:left|right|center)", attributes["style"] or "")
        link = (attributes.get("href") or "").strip().lower()
        assert ":" not in link.split("/")[0] or link.startswith(("http:", "https:", "mailto:")), link
        assert tag != "img" or (attributes["src"] or "").startswith("data:image/")


@pytest.mark.fault("link that runs something")
@each("text", HOSTILE)
def test_nothing_of_a_text_acts(text):
    """Wherever a hostile text stands, the page has the elements that katod prints, and no others."""
    assert_harmless(page(*conversation(text), title=text))


@pytest.mark.fault("link that runs something")
@examples(3, 1_000)
@given(st.lists(st.sampled_from([*HOSTILE, "`", "\n", "> ", "- ", "words", "|", "---"]), max_size=6).map("".join))
def test_nothing_of_a_message_acts(text):
    """However hostile pieces are put together, a rendered message is harmless."""
    assert_harmless(as_html(text, 3))


@each(
    ("before", "levels"),
    [
        ((), ["h1", "h2", "h3", "h4", "h3", "h4", "h5"]),
        ((event(ev.USER_MESSAGE, {"text": "words"}),), ["h1", "h2", "h3", "h4", "h5", "h4", "h5", "h6"]),
    ],
)
def test_no_level_of_headings_is_left_out(before, levels):
    """Whatever levels a message uses, its headings begin right below its speaker's, as readers of screens expect."""
    words = "## a\n\n##### b\n\n# c\n\n### d\n\n#### e"
    source = page(*before, event(ev.ASSISTANT_MESSAGE, {"text": words}, 1))
    assert [tag for tag, _ in Page(source).found if re.fullmatch("h[1-6]", tag)] == levels


def said(text):
    """Return an answer of the agent."""
    return event(ev.ASSISTANT_MESSAGE, {"text": text})


def test_only_speakers_look_like_speakers():
    """Before the first prompt, headings of a message have the level of later speakers, but not their class."""
    source = page(said("# Plan\n\n## Step"))
    assert source.count('class="speaker"') == 1
    assert "<h3>Plan</h3>" in source


def test_what_looks_like_a_definition_is_shown():
    """A renderer would take it for the target of a link, and show nothing."""
    assert "[INFO]: started" in page(said("[INFO]: started\n[WARN]: low"))


def test_a_message_that_is_nested_deeply_is_whole():
    """Nothing is lost of a message, however deep its quotations and lists are."""
    for depth in (20, 99, 100, 5000):
        assert "words" in page(said("> " * depth + "words"))
    assert "words" in page(said("".join("  " * depth + "- x\n" for depth in range(120)) + "  " * 120 + "- words"))


def test_a_failure_stands_out():
    """What failed or was declined has another colour than what went well."""
    call = {"toolCallId": "t", "name": "Bash", "family": "execute", "input": {"command": "make"}}
    failed = event(ev.TOOL_RESULT, {"toolCallId": "t", "text": "no rule", "isError": True, "exitCode": 2}, 1)
    assert '<span class="failed">exit 2</span> · 1 line' in page(event(ev.TOOL_CALL, call), failed)
    short = Html(Options())
    assert '<span class="failed"><span>failed, exit 2:</span>' in "".join(
        short.event(one, SessionMetadata(KEY)) for one in (event(ev.TOOL_CALL, call), failed)
    )


def test_a_message_has_its_number_and_is_in_the_list():
    """Each typed message can be linked to, and the list beside the page does."""
    source = page(event(ev.USER_MESSAGE, {"text": "first words"}), event(ev.USER_MESSAGE, {"text": "second"}, 1))
    assert '<h2 class="speaker person" id="m2">' in source
    assert '<a href="#m2">second</a>' in source
    assert Page(source).words.count("first words") == 2


def test_a_single_message_needs_no_list():
    """It would only say the title again."""
    assert "<nav>" not in page(event(ev.USER_MESSAGE, {"text": "first words"}))


def test_a_call_and_its_result_are_one_block():
    """The result is inside the block of its call, with its exact characters."""
    call = {"toolCallId": "t", "name": "Bash", "family": "execute", "input": {"command": "ls  -la"}}
    source = page(event(ev.TOOL_CALL, call), event(ev.TOOL_RESULT, {"toolCallId": "t", "text": "one\ntwo"}, 1))
    assert source.count("<details>") == 1
    assert "one\ntwo" in Page(source).words
    assert "ls  -la" in Page(source).words


def test_a_picture_is_in_the_page():
    """A person's picture is embedded; one of another type is only named."""
    digest = "a" * 64
    row = {"type": "image", "mediaType": "image/png", "bytes": 3, "sha256": digest}
    shown = event(ev.USER_MESSAGE, {"text": "", "attachments": [row]}, blobs=((digest, "image/png", "AAAA"),))
    assert '<img src="data:image/png;base64,AAAA"' in page(shown)
    vector = event(
        ev.USER_MESSAGE, {"text": "", "attachments": [row | {"mediaType": "image/svg+xml"}]},
        blobs=((digest, "image/svg+xml", "AAAA"),),
    )  # fmt: skip
    assert "<img" not in page(vector)


def test_a_page_goes_on_from_its_state():
    """A page that is printed by one process after another equals that of one process."""
    rows = conversation("words")
    metadata = SessionMetadata(KEY, {"title": "t"})
    text, state = "", None
    for one in metadata.observed(rows):
        shown = Html(Options(tools="full"), state)
        text += shown.head(metadata, "") if state is None else ""
        text += shown.event(one, metadata)
        state = shown.state()
    shown = Html(Options(tools="full"), state)
    text += shown.mark(Mark("stopped")) + shown.end()
    again = Html(Options(tools="full"))
    metadata = SessionMetadata(KEY, {"title": "t"})
    whole = again.head(metadata, "") + "".join(again.event(one, metadata) for one in metadata.observed(rows))
    assert text == whole + again.mark(Mark("stopped")) + again.end()


@each(
    ("words", "html"),
    [
        ("do *this*", "<p>do <em>this</em></p>"),
        ("one\n`two`", "<p>one<br />\n<code>two</code></p>"),
        ("# Plan", "<h3>Plan</h3>"),
        ("1. one\n2. two", "<ol>\n<li>one</li>\n<li>two</li>\n</ol>"),
        ("a &amp; b", "<p>a &amp; b</p>"),
        ("[a](src/a.py)", "<p><a>a</a></p>"),
    ],
)
def test_a_prompt_in_markdown_is_rendered(words, html):
    """It has its line breaks, and a switch to it as it was typed."""
    source = page(event(ev.USER_MESSAGE, {"text": words}))
    assert f'<div class="shown">{html}</div>' in source
    assert "<summary>As typed</summary>" in source
    assert words in Page(source).words
    assert_harmless(source)


@each(
    "words",
    ["words", "one\ntwo", "one\n\n\n  two  three\n", "a < b & c", "snake_case, 2 * 3, #1", "<b>x</b>", "> " * 5000],
)
def test_a_prompt_that_is_no_markdown_needs_no_switch(words):
    """Of plain text, rendering would only change the spaces; what is nested too deeply is best shown as it was typed."""
    source = page(event(ev.USER_MESSAGE, {"text": f"{words}x"}))
    assert 'class="shown"' not in source
    assert f"{words}x" in Page(source).words


@examples(5, 1_000)
@given(st.text(st.sampled_from("ab *_`#>-\n\\&;[](){}<!1.|~"), max_size=40))
def test_nothing_of_a_prompt_is_lost(words):
    """Whatever is rendered, the page has the prompt as it was typed."""
    shown = page(event(ev.USER_MESSAGE, {"text": f"x{words}x"}))
    assert "".join(f"x{words}x".split()) in "".join(Page(shown).words.split())
    assert_harmless(shown)


@pytest.mark.slow
def test_the_switch_needs_no_script(tmp_path):
    """In a browser, either the rendered prompt is shown or the typed one."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium here")
    path, home = tmp_path / "page.html", {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"]
    probe = "<script>document.title=['.shown','.plain'].map((one)=>document.querySelector(one).checkVisibility()).join()</script>"
    source = page(event(ev.USER_MESSAGE, {"text": "do *this*"}))
    source = source.replace('http-equiv="Content-Security-Policy"', "").replace("</body>", f"{probe}</body>")
    shown = []
    for text in (source, source.replace('<details class="source">', '<details class="source" open>')):
        path.write_text(text)
        done = subprocess.run(
            [browser, *arguments, path.as_uri()], capture_output=True, timeout=120, env=home, check=True
        )
        shown.append(re.search(r"<title>(.*?)</title>", done.stdout.decode())[1])
    assert shown == ["true,false", "false,true"]


@pytest.mark.slow
def test_a_browser_loads_and_runs_nothing(tmp_path):
    """A browser that opens a page of hostile texts makes no request, and no script changes the page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium here")
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        port = server.server_port
        texts = [
            text.replace("//a.b", f"//127.0.0.1:{port}").replace("alert(1)", "document.title='ran'") for text in HOSTILE
        ]
        path = tmp_path / "page.html"
        path.write_text(page(*(one for text in texts for one in conversation(text))))
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"]
        home = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [browser, *arguments, path.as_uri()], capture_output=True, timeout=120, env=home, check=True
        )
    finally:
        server.shutdown()
        server.server_close()
    assert b"<title>A title</title>" in done.stdout
    assert asked == []


BASES = ["https://example.org/x", "..", "."]


@pytest.mark.fault("link that runs something")
@each(
    "text",
    [
        *HOSTILE,
        "[x](javascript:alert(1)/a)",
        "[x](//evil.org)",
        "![x](..%2f..%2fx)",
        "[x](\\\\evil.org/a)",
        "[x](<a\tb>)",
        "[x](a/../../b)",
    ],
)
def test_nothing_of_a_text_acts_below_a_base(text):
    """What is no relative path within the base is what it is without one."""
    for base in BASES:
        source = page(*conversation(text), title=text, base=base)
        assert_harmless(source)
        targets = {attributes.get("href") or "#" for tag, attributes in Page(source).found if tag == "a"}
        assert {link for link in targets if "evil.org" in link or ".." in link.removeprefix("..")} == set()


def test_relative_links_lead_below_a_base():
    """In answers, prompts, questions and thinking; all others are as without it."""
    text = "[a](src/a.py) and [b](../b.py) and [c](https://c.org)"
    asked = {"decisionId": "d:0", "decisionKey": "k", "prompt": text, "options": []}
    rows = [
        event(ev.USER_MESSAGE, {"text": text}),
        event(ev.ASSISTANT_MESSAGE, {"text": text}),
        event(ev.DECISION_PROMPT, asked),
    ]
    source = page(*rows, base="https://example.org/{project}/", cwd="/home/me/my shop")
    found = [attributes.get("href") for tag, attributes in Page(source).found if tag == "a"]
    assert found.count("https://example.org/my%20shop/src/a.py") == 3
    assert found.count("https://c.org") == 3
    assert found.count(None) == 3
    assert "src/a.py" not in "".join(map(str, re.findall('href="([^"]*)"', page(*rows))))


def test_a_base_is_a_part_of_the_state():
    """What waits for the end of a run has its links, too, wherever the page goes on."""
    one = Html(Options(base="https://example.org/{project}"))
    one.event(event(ev.USER_MESSAGE, {"text": "x"}), SessionMetadata(KEY, {"cwd": "/srv/shop"}))
    assert one.state()["base"] == "https://example.org/shop"
    assert Html(Options(), one.state()).state()["base"] == "https://example.org/shop"


@each(
    ("words", "html"),
    [
        ("[a](src/a.py)", "<p><a>a</a></p>"),
        ("[a](../a.py#L3)", "<p><a>a</a></p>"),
        ("[a](/home/me/a.py)", "<p><a>a</a></p>"),
        ("![a](a.png)", "<p><a>a</a></p>"),
        ("[a](HTTPS://example.org)", '<p><a href="HTTPS://example.org" rel="noreferrer">a</a></p>'),
        ("[a](mailto:a@example.org)", '<p><a href="mailto:a@example.org" rel="noreferrer">a</a></p>'),
        ("![a](https://example.org/a.png)", '<p><a href="https://example.org/a.png" rel="noreferrer">a</a></p>'),
        ("[a](#m2)", '<p><a href="#m2" rel="noreferrer">a</a></p>'),
    ],
)
def test_a_link_to_a_file_of_the_project_is_text(words, html):
    """Whoever has the page does not have the project beside it."""
    assert as_html(words, 3) == html


def test_what_takes_long_to_read_is_shown_as_it_was_written():
    """A dump with thousands of brackets costs no more than its length, as an answer and as a prompt."""
    dump = "ERR [x] [y [z " * 20_000
    assert as_html(dump, 3).startswith("<pre>ERR [x] [y")
    assert typed_as_html(dump, 3) == typed_as_html("*a* " * 50_000, 3) == ""
    assert "<em>a</em>" in typed_as_html("*a* [b", 3)

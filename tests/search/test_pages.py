"""Pages of HTML taken apart into passages."""

import re
from time import process_time

import pytest

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.transcript.exportindex import IndexRow, index_page
from katod.formats.transcript.html import Html
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.record.export import render_all
from katod.search.pages import page_about, page_passages
from katod.search.spoken import is_said
from katod.search.transcripts import markdown_passages
from tests.golden.cases import PLAIN, cases
from tests.looping import each

HEAD = (
    '<!DOCTYPE html>\n<head>\n<meta name="generator" content="katod">\n</head>\n'
    '<p class="about">Claude Code · shop · 2026-03-02 10:00 (Europe/Berlin)</p>\n'
)


def test_pages_of_html_have_passages_too():
    """Speaker, time and words are those of the Markdown."""
    page = (
        f'{HEAD}<h2 class="speaker person" id="m1"><a href="#m1">You</a><time>10:00</time></h2>\n<div class="typed">a &lt; b</div>\n'
        '<h3 class="speaker">Claude<span class="model">opus</span><time>2026-03-03 10:01</time></h3>\n<p>Yes,\nit <i>is</i>.</p>\n'
    )
    assert [(p.speaker, p.time[:16], p.text) for p in page_passages(page)] == [
        ("You", "2026-03-02T10:00", "a < b"),
        ("Claude", "2026-03-03T10:01", "Yes,\nit is."),
    ]


@each(
    "asked", ["Feed the **pelican**", "# Plan\n\n- the `pelican`\n- a &lt; b", "```\n</details>\n```\nof the pelican"]
)
def test_a_prompt_in_markdown_is_one_passage_of_a_page(asked):
    """As it is shown there, and not a second time as it was typed; what follows is said by who says it."""
    metadata, printer = SessionMetadata(SessionKey("claude", "s")), Html(Options(time_zone="UTC"))
    said = ((ev.USER_MESSAGE, asked), (ev.ASSISTANT_MESSAGE, "The **pelican** is fed."), (ev.USER_MESSAGE, "Thanks"))
    events = [
        Event(f"claude:s:{n}", kind, SessionRef("claude", "s"), {"text": text}, {}, f"2026-03-02T09:0{n}:00.000Z")
        for n, (kind, text) in enumerate(said)
    ]
    page = printer.head(metadata, "2026-03-02T09:00:00Z") + "".join(printer.event(one, metadata) for one in events)
    assert "As typed" in page
    found = [(p.speaker, p.text) for p in page_passages(page) if "pelican" in p.text or "typed" in p.text]
    assert [speaker for speaker, _ in found] == ["You", "Claude"]
    assert "As typed" not in found[0][1]


def test_what_a_tool_was_given_on_a_page_is_said_by_nobody():
    """Nor is what it returned, or a thought; what follows a fold or a tool line is the agent's again."""
    page = (
        f'{HEAD}<h3 class="speaker">Claude<time>10:00</time></h3>\n<p>first</p>\n<details>\n<summary><b>Agent</b> '
        "<i>x</i></summary>\n<pre>given</pre>\n<h4>returned</h4>\n<details>\n<summary>y</summary>\n<p>deep</p>\n</details>\n"
        "<p>still</p>\n</details>\n<p>second</p>\n<details>\n<summary>Thinking</summary>\n<h4>a</h4>\n</details>\n"
        '<div class="tool"><b>Bash</b> <code>ls</code></div>\n<div class="outcome">1 line</div>\n<p>third</p>\n'
        '<details>\n<summary><b>2 more</b> Read</summary>\n<div class="tool"><b>Read</b> a.py</div>\n</details>\n'
        "<details>\n<summary>mine</summary>\n<h4>own</h4>\n</details>\n<p>last</p>\n"
        '<details class="between">\n<summary><b>Task</b> z</summary>\n<h4>report</h4>\n</details>\n<p>end</p>\n'
    )
    found = [(p.speaker, p.text) for p in page_passages(page)]
    said = [text for speaker, text in found if speaker == "Claude"]
    assert [" ".join(text.split()) for text in said] == ["first", "second", "third", "mine own", "last", "end"]
    assert {speaker for speaker, _ in found} == {
        "Claude", "Claude ▸ Agent", "Claude ▸ Thinking", "Claude ▸ Bash", "Claude ▸ 2 more", "Claude ▸ Read", "Task",
    }  # fmt: skip


def test_the_page_that_katod_prints_is_of_this_form():
    """The head of a page is found by its printer's own words."""
    metadata = SessionMetadata(SessionKey("claude", "s"))
    head = Html(Options(time_zone="Europe/Berlin")).head(metadata, "2026-03-02T09:00:00Z")
    page = head + '<h2 class="speaker person" id="m1"><a href="#m1">You</a><time>10:00</time></h2>\n<p>Hello</p>'
    assert [p.time[:16] for p in page_passages(page)] == ["2026-03-02T10:00"]


def _printed(*said, **more):
    """Return the page of events, each of a kind and with a payload."""
    metadata, printer = SessionMetadata(SessionKey("claude", "s")), Html(Options(time_zone="UTC"))
    metadata.names = metadata.names._replace(**more)
    events = [
        Event(f"claude:s:{n}", kind, SessionRef("claude", "s"), payload, {}, f"2026-03-02T09:{n:02}:00.000Z")
        for n, (kind, payload) in enumerate(said)
    ]
    head = printer.head(metadata, "2026-03-02T09:00:00Z")
    return head + "".join(printer.event(one, metadata) for one in events) + printer.pause() + printer.end()


def _asked_twice():
    """Return a page with a list of prompts."""
    return _printed(
        (ev.USER_MESSAGE, {"text": "Go"}), (ev.ASSISTANT_MESSAGE, {"text": "Done."}), (ev.USER_MESSAGE, {"text": "More"}),
        (ev.ASSISTANT_MESSAGE, {"text": "Done, too."}),
    )  # fmt: skip


def _words(text):
    return set(re.findall(r"[^\W\d_]{2,}", text))


@pytest.mark.breaks  # some sessions are damaged
@each("case", [case for case in cases() if case.name != "aborted-turn"])  # there is an empty list on that page
def test_a_page_says_what_the_markdown_says(case):
    """Whatever agent it is of, the same speakers say at the same times what stands in the other form, too."""
    pages = [p for p in page_passages("".join(render_all(case.events(), "html", PLAIN))) if is_said(p.speaker)]
    others = [p for p in markdown_passages([case.golden(".md").read_text()]) if is_said(p.speaker)]
    assert [(p.speaker, p.time) for p in pages] == [(p.speaker, p.time) for p in others]
    for page, other in zip(pages, others, strict=True):
        assert _words(page.text) <= _words(other.text)


def test_a_prompt_with_something_pasted_is_one_passage():
    """What stands before, in and behind what was pasted, and what is attached, as it looks and as it was typed."""
    typed, pasted, more = "Look **here**", "</details>\n# log\nx", "What comes **before** it?"
    start = len(typed) + 1
    payload = {
        "text": f"{typed}\n{pasted}\n{more}", "pasted": [[start, start + len(pasted)]],
        "attachments": [{"type": "file", "name": "a.ts"}],
    }  # fmt: skip
    asked, answer = page_passages(_printed((ev.USER_MESSAGE, payload), (ev.ASSISTANT_MESSAGE, {"text": "Yes."})))
    assert asked.text.split() == ["Look", "here", *pasted.split(), *more.replace("*", "").split(), "file:", "a.ts"]
    assert asked.source.split() == [*payload["text"].split(), "file:", "a.ts"]
    assert (asked.speaker, answer.speaker, answer.text) == ("You", "Claude", "Yes.")


def test_all_parts_of_a_prompt_as_typed_are_found_once():
    """Addresses of links, paths of pictures, comments, tags, and what stands behind a fence."""
    text = (
        "# Plan\n\nFix [it](https://x.example.com/walrus) and `<x>`:\n\n<pelican size='heron'>\n</pelican>\n\n<!-- ibis -->\n\n"
        "![stork](img/egret.png)\n\n```toucan\ncode\n```\n\n- a **kiwi**bird &amp;"
    )
    (asked,) = page_passages(_printed((ev.USER_MESSAGE, {"text": text})))
    assert asked.source == text
    assert "kiwibird &" in asked.text
    assert not _words(asked.text) & {"walrus", "egret", "toucan"}


def test_a_prompt_that_looks_like_nothing_is_found():
    """As it was typed."""
    (asked,) = page_passages(_printed((ev.USER_MESSAGE, {"text": "[](https://x.example.com/walrus)"})))
    assert "walrus" in (asked.text or asked.source)


def test_an_answer_on_a_page_is_the_users():
    """What names its question, and what follows it, is the agent's; choices are words of their own."""
    asked = {
        "decisionId": "c:1",
        "decisionKey": "Name",
        "prompt": "Which?",
        "options": [{"label": "a"}, {"label": "b"}],
    }
    other = {"decisionId": "c:2", "decisionKey": "Size", "prompt": "How?", "options": []}
    page = _printed(
        (ev.USER_MESSAGE, {"text": "Ask"}), (ev.DECISION_PROMPT, asked), (ev.DECISION_PROMPT, other),
        (ev.DECISION_RESPONSE, {"decisionId": "c:1", "selections": ["a"], "freeText": "You: **all** <b>"}),
        (ev.ASSISTANT_MESSAGE, {"text": "Done."}),
    )  # fmt: skip
    assert [(p.speaker, p.text.split()) for p in page_passages(page)][1:] == [
        ("Claude", ["Which?", "a", "b", "How?", "Name"]), ("You", ["a", "·", "You:", "**all**", "<b>"]), ("Claude", ["Done."]),
    ]  # fmt: skip


def test_what_katod_notes_on_a_page_is_said_by_nobody():
    """An error, another model, what a turn did; also above the first heading. Marks and times are left out."""
    page = _printed(
        (ev.ERROR, {"message": "overloaded"}), (ev.USER_MESSAGE, {"text": "Go"}), (ev.ERROR, {"message": "lost"}),
        (ev.CONFIG_CHANGE, {"what": "model", "before": "a", "after": "b"}),
        (ev.TOOL_CALL, {"toolCallId": "1", "name": "Bash", "family": "execute", "input": {"command": "ls"}}), (ev.ASSISTANT_MESSAGE, {"text": "Done."}),
    )  # fmt: skip
    found = [(p.speaker, p.text) for p in page_passages(page)]
    assert found == [
        ("▸ Note", "Error: overloaded"), ("You", "Go"), ("▸ Note", "Error: lost\n\nModel: a → b"), ("Claude ▸ Bash", "Bash ls"),
        ("Claude", "Done."), ("▸ Note", "1 tool · 4 min"),
    ]  # fmt: skip


def test_the_head_of_a_page_with_a_star_and_labels_is_read():
    """They stand behind the date and the zone."""
    head = page_about(_printed(starred=True, labels=("bug", "a b")))
    assert (head.agent, head.date, head.zone) == ("Claude Code", "2026-03-02", "UTC")


def test_a_project_and_a_branch_may_be_called_like_a_day():
    """The time of a page is behind them."""
    head = page_about(HEAD.replace("shop", "2026-01-01 talk (UTC) · 2026-01-02 talk (UTC)"))
    assert (head.agent, head.project, head.date, head.zone) == (
        "Claude Code", "2026-01-01 talk (UTC)", "2026-03-02", "Europe/Berlin",
    )  # fmt: skip


OWN_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>Zoo</title><style>p{color:red}</style>\n<script>if (a < b) say('<p>')</script></head>"
    '<body><h1>wombat plan</h1><p>gecko</p>\n<p class="lead">le<b>mur</b> &lt; b < c</p><!-- kiwi -->\n<h2>badger</h2>\n'
    '<p class="note">ocelot</p><details class="x"><summary>y</summary>stork</details><nav>ibis</nav>egret<br>heron\n'
    '<h3 class="speaker">Claude</h3><div class="tool"><b>Bash</b> ls</div><p class="about">toucan</p></body></html>\n'
)


def test_a_page_of_ones_own_is_a_note_as_a_whole():
    """With all of its text, whatever its classes are called, and as it looks."""
    (note,) = page_passages(OWN_PAGE)
    assert (note.speaker, note.time) == ("Note", "")
    shown = "Zoo wombat plan gecko lemur < b < c kiwi badger ocelot y stork ibis egret heron Claude Bash ls toucan"
    assert " ".join(note.text.split()) == shown


@each(
    ("body", "shown"),
    [
        ("<ul><li>okapi<li>zebra</ul>kiwi", "okapi\nzebra\nkiwi"),
        ("<p>one<p>gecko<hr>ibis", "one\ngecko\nibis"),
        ("<header>Zoo</header><main>lemur</main><footer>gnu", "Zoo\nlemur\ngnu"),
        ("<table><tr><td>okapi<td>zebra</table>", "okapi\nzebra"),
        ("<zoo-card>okapi</zoo-card><zoo-card>zebra", "okapi\nzebra"),
        ("Zoo<P CLASS=x>one<BR/>gecko", "Zoo\none\ngecko"),
        ("<dl><dt>okapi<dd>zebra</dl>", "okapi\nzebra"),
        ("ze<b>b</b>r<span\n>a</span>s, <a href='x'>gnu</a>s", "zebras, gnus"),
        ("<pre>one\n\n  two</pre>", "one\n  two"),
    ],
)
def test_words_of_a_page_of_ones_own_stay_apart(body, shown):
    """As a browser shows them, whichever tags the page leaves out; words with emphasis in them stay whole."""
    (note,) = page_passages(f"<!DOCTYPE html>\n<html><body>{body}</body></html>\n")
    assert note.text == shown


@each(
    ("part", "shown"),
    [
        ("<!-- <style> of the draft -->", "of the draft"),
        ("<!-- <script src='old.js'> -->", ""),
        ("<!-- <p title=' -->gnu'>", "<p title=' gnu'>"),
        ("<!-- <script>gnu</script> --!>", "gnu"),
        ("<style-guide>ocelot</style-guide>", "ocelot"),
        ('<a title="a <script> tag, <b>">x</a>', "x"),
        ("<a title = 'a <style> tag' href=x>x</a>", "x"),
        ("<textarea><script></textarea>", "<script>"),
        ("<textarea>a &lt;b> <!-- c</textarea>", "a <b> <!-- c"),
        ("<title>The <style> element</title>", "The <style> element"),
        ("<script src='a>b.js'></script>", ""),
        ("<script src='x.js' />gnu", "gnu"),
        ("<SCRIPT>say('</p>', a < b)</Script >gnu", "gnu"),
        ("<style>p:before{content:'</styles>'}</style>gnu", "gnu"),
        ("<p>x < 3 and y<z, <me@zoo.example.com> wrote", "x < 3 and y<z, <me@zoo.example.com> wrote"),
        ("<a title=don't>gnu</a> isn't", "gnu isn't"),
        ('<p class="x"">gnu', "gnu"),
    ],
)
def test_text_of_a_page_of_ones_own_is_found_whatever_is_before_it(part, shown):
    """The name of a tag may stand in a comment, an attribute, a field or a longer name; only scripts and styles go."""
    (note,) = page_passages(f"<!DOCTYPE html>\n<html><body>{part}\n<p>the last zebra</p></body></html>\n")
    assert " ".join(note.text.split()) == f"{shown} the last zebra".strip()


@each("above", ["", "<h1>About</h1>\n"])
def test_a_page_of_ones_own_may_have_classes_of_katods(above):
    """It is katod's by its head: nothing above a line about something is lost."""
    page = f'<!DOCTYPE html>\n<html><body><h1>Me</h1><p>okapi</p>\n{above}<p class="about">zebra · 2026-03-02 (UTC)</p></html>'
    (note,) = page_passages(page)
    assert {"okapi", "zebra"} <= _words(note.text)
    assert page_about(page).date == ""


@each(
    ("title", "said"),
    [("<title>Zoo</title>", "Zoo"), ("<TITLE\nlang='en'>\n Zoo &amp; me\n</TITLE>", "Zoo & me"), ("", "")],
)
def test_a_page_of_ones_own_is_named_by_its_title(title, said):
    """However it is written."""
    assert page_about(f"<!doctype html>\n<head>{title}</head>\n").title == said


HOSTILE = [
    "<script>walrus", "<a walrus", "<!-- walrus", "<" * 100_000, "<a " * 30_000, "<script <" * 30_000,
    "<script>" * 30_000 + "</script ", "<p>" * 30_000 + "\n", "<p>" + " " * 100_000, "<!--" * 30_000, '<a ="' * 30_000,
    '<a " ="' * 30_000, "<a =\"'" * 30_000, "<a ='" + "<a x " * 30_000, "<textarea>" * 30_000, "<a " + "= " * 30_000,
    "\n " * 100_000, "<title></tit" * 30_000, '<li><a href="#m1">' * 30_000,
]  # fmt: skip


@pytest.mark.parametrize("end", HOSTILE)
@pytest.mark.parametrize("head", ["<!DOCTYPE html>\n", HEAD])
def test_a_page_may_end_anywhere(head, end):
    """What stands before that is found, soon."""
    (note,) = page_passages(f"{head}<p>pelican</p>\n{end}")
    assert note.text.startswith("pelican")


INDEX = HEAD.replace("</head>", "<title>Transcripts</title>\n</head>")
REPEATED = [
    '<h2 class="speaker ', '<h2 class="speaker">x<span ', "<details>\n<summary>3 lines</summary>\n", "<details>", "</details>",
    "<details class='x'><p>", '<div class="typed written"><details class="source"><summary>x</summary><div class="plain">',
    '<div class="tool"><b>', '<div class="outcome">', '<p class="about">', '<p class="about">a</p>', "· a ", "1 ",
    "· 2026-03-02 ", "· 2026-03-02 x (", "<nav>", "<nav>\n<b>Prompts</b>", "<!-- saved from url=(1)", "<main> ", '<img src="',
    '<ul class="pages">', '<ul class="pages"><ul>', '<li><a href="a.html', '<nav aria-label="Months">',
]  # fmt: skip


@pytest.mark.slow
@each("piece", REPEATED)
@each("head", [HEAD, f'{HEAD}<h2 class="speaker">You</h2>\n', HEAD.partition("Claude")[0], INDEX])
def test_a_hostile_page_takes_linear_time(head, piece):
    """Four times the page takes at most about four times as long."""

    def seconds(size):
        page = head + piece * (size // len(piece))
        begun = process_time()
        page_about(page)
        for _ in page_passages(page):
            pass
        return process_time() - begun

    assert min(seconds(160_000) for _ in range(2)) <= 8 * max(seconds(40_000), 0.01)


@each(
    "mine",
    ["platypus: my remark", "<p>platypus</p>", '<p class="x">platypus</p>\n<p>more</p>', "<ul><li>platypus</li></ul>"],
)
@each("at", ['<p class="note">', '<p class="mark">', '<h2 class="speaker'])
def test_what_a_person_writes_above_the_first_heading_of_a_page_is_a_note(mine, at):
    """Wherever it stands there, below the line about the page; what katod notes there is katod's."""
    page = _printed((ev.ERROR, {"message": "overloaded"}), (ev.USER_MESSAGE, {"text": "Go"}))
    page = page.replace('<h2 class="speaker', '<p class="mark">Recording started</p>\n<h2 class="speaker', 1)
    found = list(page_passages(page.replace(at, f"{mine}\n{at}", 1)))
    (note,) = [passage for passage in found if passage.speaker == "Note"]
    assert "platypus" in note.text
    assert [(p.speaker, p.text) for p in found if p != note] == [("▸ Note", "Error: overloaded"), ("You", "Go")]


@pytest.mark.breaks  # some sessions are damaged
@each("case", cases())
def test_what_katod_prints_above_the_first_heading_of_a_page_is_no_note(case):
    """Nobody wrote into these pages."""
    pages = page_passages("".join(render_all(case.events(), "html", PLAIN)))
    assert not [passage for passage in pages if passage.speaker.startswith("Note")]


@each(
    "mine",
    ["zebra", "<p>zebra</p>", "<h2>My view</h2><p>zebra</p>", "<!-- zebra -->", "<nav>zebra</nav>", "<p>3 < 4 zebra"],
)
@each(
    "at",
    [
        "<!DOCTYPE",
        "</head>",
        "<main>",
        "<h1>",
        '<p class="about">',
        "<nav>",
        "<b>Prompts",
        "<ol>",
        "</nav>",
        "</body>",
        "</html>",
        "",
    ],
)
def test_what_a_person_writes_around_a_page_is_a_note(mine, at):
    """Above the title, in the list of prompts and at the end; nothing of katod's counts as written by the person."""
    page = _asked_twice()
    assert "<b>Prompts</b>" in page
    note = f"{mine}\n"
    written = page.replace(at, f"{note}{at}", 1) if at else page + note
    found = list(page_passages(written))
    (own,) = [passage for passage in found if passage.speaker == "Note"]
    assert own.text.split() == {"<h2>": ["My", "view", "zebra"], "<p>3": ["3", "<", "4", "zebra"]}.get(
        mine[:4], ["zebra"]
    )
    assert [p for p in found if p != own] == list(page_passages(page))


@each(
    ("mine", "shown"),
    [
        ("<p>if x < 3 the zebra", "if x < 3 the zebra"),
        ("<p>ask <me@zoo.example.com>, zebra", "ask <me@zoo.example.com>, zebra"),
        ("<!-- zebra -->", "zebra"),
        ("<ul><li>okapi<li>zebra</ul>", "okapi zebra"),
        ('<a title="x > y">zebra</a>', "zebra"),
    ],
)
def test_what_a_person_writes_into_a_message_of_a_page_is_found(mine, shown):
    """With signs of a tag that are none."""
    page = _asked_twice().replace("<p>Done.</p>", f"<p>Done.</p>\n{mine}")
    assert [p.text.split() for p in page_passages(page)] == [
        ["Go"], ["Done.", *shown.split()], ["More"], ["Done,", "too."],
    ]  # fmt: skip


@each(
    ("other", "shown"),
    [
        (lambda page: re.sub("<h1>[^<]*</h1>", "<h1>zebra</h1>", page), "zebra"),
        (lambda page: re.sub("<title>[^<]*", "<title>zebra", page), "2026-03-02 09:00"),
    ],
)
def test_a_page_with_two_titles_has_the_one_on_it_as_a_note_of_nobodys(other, shown):
    """A person changed one of them: that on the page is found, but may be katod's. Alike, they are not searched."""
    page = _asked_twice()
    (note, *others) = page_passages(other(page))
    assert (note.speaker, note.text) == ("▸ Note", shown)
    assert others == list(page_passages(page))


def test_a_page_that_a_browser_saved_says_the_same():
    """The line about where it was is the browser's."""
    page = _asked_twice()
    line = "<!-- saved from url=(0034)file:///home/me/notes/zebra.html -->\n"
    assert list(page_passages(page.replace("<html", f"{line}<html", 1))) == list(page_passages(page))
    assert list(page_passages(index_page(ROWS, {}).replace("<html", f"{line}<html", 1))) == []


@each("mine", ['<ul>\n<li><a href="#m1">zebra</a></li>\n</ul>', "<b>Prompts</b> zebra", '<p class="about">zebra</p>'])
def test_what_reads_like_the_list_of_prompts_at_the_end_of_a_page_is_a_note(mine):
    """That list is where katod prints it; a page of one prompt has none."""
    one = _printed((ev.USER_MESSAGE, {"text": "Go"}), (ev.ASSISTANT_MESSAGE, {"text": "Done."}))
    for page in (one, _asked_twice()):
        (*others, note) = page_passages(page.replace("</body>", f"{mine}\n</body>"))
        assert (note.speaker, note.text) == ("Note", re.sub("<[^>]*>", "", mine).strip())
        assert others == list(page_passages(page))


@each("at", ["<h1>", '<p class="about">', "<h2"])
def test_a_line_of_a_persons_about_a_page_is_a_note(at):
    """Above or below katod's."""
    page = _asked_twice()
    (note, *others) = page_passages(page.replace(at, f'<p class="about">zebra</p>\n{at}', 1))
    assert ((note.speaker, note.text), others) == (("Note", "zebra"), list(page_passages(page)))


def test_pages_that_katod_wrote_before_there_was_an_index_are_known():
    """Their heads do not name katod; they begin as its pages do."""
    page = _asked_twice()
    old = re.sub(r'<meta name="(?:generator|date|agent|project)"[^>]*>\n', "", page)
    assert "generator" not in old
    assert list(page_passages(old)) == list(page_passages(page))
    assert page_about(old) == page_about(page)


ROWS = [
    IndexRow("shop/a.html", "a wombat's <b>", "2026-03-02 09:00", "Claude Code", "shop", ("bug",), is_starred=True),
    IndexRow("b.html", "an okapi", "2026-04-02"),
    IndexRow("c.html", "c.html"),
]


@each("rows", [ROWS, ROWS[:1], ROWS[2:]])
def test_an_index_of_pages_is_no_note(rows):
    """Its titles are those of the pages; only what a person wrote there is found."""
    page = index_page(rows, {rows[0].name: [IndexRow("s.html", "a gnu", "2026-03-03"), IndexRow("t.html", "another")]})
    assert list(page_passages(page)) == []
    for at in ("<main>", "<h1>", "<ul", "<li>", "</ul>", "</main>", "</html>"):
        (note,) = page_passages(page.replace(at, f"<p>zebra</p>\n{at}", 1))
        assert (note.speaker, note.text) == ("Note", "zebra")


@each(
    ("at", "mine"),
    [
        ("</ul>", '<li><a href="https://zoo.example.com/a.html">zebra</a></li>'),
        ("<li>", '<li><a href="//zoo.example.com/a.html">zebra</a></li>'),
        ("<li>", '<li><a href="../zoo/a.html">zebra</a></li>'),
        ("</ul>", '<li><a href="zoo.txt">zebra</a></li>'),
        ("</main>", '<ul>\n<li><a href="zoo.html">zebra</a></li>\n</ul>'),
        ("<h1>", '<ul>\n<li><a href="zoo.html">zebra</a></li>\n</ul>'),
        ("</ol>", '<li><a href="#m2026-03">zebra</a></li>'),
        ("</body>", '<ul>\n<li><a href="#m2026-03">zebra</a></li>\n</ul>'),
        ("<ul", '<h2 id="mine">zebra</h2>'),
        ("<ul", '<h2 id="m2026-03">zebra</h2>'),
        ("<ul", '<p class="about">zebra</p>'),
        ('<p class="about">', '<p class="about">zebra</p>'),
        ("<ul", "<details>\n<summary>zebra</summary>\n</details>"),
    ],
)
def test_what_a_person_adds_to_an_index_in_katods_own_form_is_found(at, mine):
    """Links, headings and lines about something are katod's only where katod writes them, and as it does."""
    page = index_page(ROWS, {ROWS[0].name: [IndexRow("s.html", "a gnu", "2026-03-03")]})
    (note,) = page_passages(page.replace(at, f"{mine}\n{at}", 1))
    assert (note.speaker, note.text) == ("Note", "zebra")


def test_a_transcript_that_is_called_like_an_index_is_none():
    """Its head says more."""
    page = _printed((ev.USER_MESSAGE, {"text": "Transcripts"}), title="Transcripts")
    assert "<title>Transcripts</title>" in page
    assert [p.text for p in page_passages(page)] == ["Transcripts"]

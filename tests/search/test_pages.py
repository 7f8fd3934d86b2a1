"""Pages of HTML taken apart into passages."""

from katod import events as ev
from katod.events import Event, SessionRef
from katod.formats.transcript.html import Html
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.search.pages import page_passages
from tests.looping import each


def test_pages_of_html_have_passages_too():
    """Speaker, time and words are those of the Markdown."""
    page = (
        '<!DOCTYPE html>\n<p class="about">Claude Code · shop · 2026-03-02 10:00 (Europe/Berlin)</p>\n'
        '<h2 class="speaker person" id="m1"><a href="#m1">You</a><time>10:00</time></h2>\n<div class="typed">a &lt; b</div>\n'
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
        '<!DOCTYPE html>\n<h3 class="speaker">Claude<time>10:00</time></h3>\n<p>first</p>\n<details>\n<summary><b>Agent</b> '
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

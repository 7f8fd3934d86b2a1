"""The heads of transcripts."""

import re

from katod.formats.transcript.markdown import Markdown
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.search.heads import about, head_of, is_speaker
from katod.search.hits import TranscriptHead
from katod.search.transcripts import markdown_passages
from tests.documents import ROOT
from tests.looping import each
from tests.search.edits import ADDED, ADDITIONS, HEADS

GOLDEN = ROOT / "fixtures" / "golden"
HEAD = '---\ntitle: "x"\nagent: claude-code\nsession: "s"\n---\n\n'
PLAIN = (GOLDEN / "claude" / "next-day.md").read_text()


def _found(text, *, is_recording=False):
    return [(p.speaker, p.time, p.text) for p in markdown_passages([text], is_recording=is_recording)]


def test_the_head_says_what_a_transcript_is_of():
    """Front matter and the line below the title have session, project, title, date and time zone."""
    assert about((GOLDEN / "claude" / "plain-turn.md").read_text()) == TranscriptHead(
        "claude-code", "plain-turn", "", "shop", "The cart forgets its items when the page is reloaded. Where is it kept?",
        "2026-03-02", "Europe/Berlin",
    )  # fmt: skip
    assert about("no front matter") == TranscriptHead()


def test_the_zone_is_the_one_beside_the_time():
    """Its name may have digits; what else is in brackets is none."""
    for zone in ("EST5EDT", "Etc/GMT+5", "UTC", "America/Port-au-Prince"):
        text = f'---\ntitle: "x"\n---\n\n# Look (v2)\n\nClaude Code · shop · 2026-06-24 20:20 ({zone})\n'
        assert about(text).zone == zone


def test_a_head_that_is_not_katods_says_nothing():
    """A note with lines that look like its fields is nobody's session."""
    assert about("My note\nagent: zot\nsession: x\n---\n") == TranscriptHead()


@each("title", ["Move it to 07:30 (EST)", "x · 2026-11-20 07:30 (EST)", "Claude Code · 2026-11-20 07:30 (EST)"])
@each("more", ["", "Mine: 08:00 (EST)\n\n"])
def test_the_zone_is_never_that_of_a_title(title, more):
    """It is in the line below; a person may have written above that."""
    line = "Claude Code 2.1 · shop · 2026-11-20 21:00 (Europe/Berlin)\n"
    head = f'---\ntitle: "{title}"\nagent: claude-code\nsession: "s"\n---\n\n# {title}\n\n'
    said = f"\n## You · 21:00 · {title}\n"
    assert about(f"{head}{more}{line}{said}").zone == "Europe/Berlin"
    assert about(f"{head}{said}").zone == ""


@each("title", ['Say "hi" in C:\\new', "\\", '"', 'a\\"b', "x: y", "plain"])
def test_a_title_is_as_it_was_before_it_was_quoted(title):
    """Whatever is in it; a person may quote in another way."""
    metadata = SessionMetadata(SessionKey("claude", "s"))
    metadata.names = metadata.names._replace(own=title)
    assert about(Markdown(Options()).head(metadata, "")).title == title
    for quoted in (title if title == "plain" else "'x'", '"C:\\x"'):
        assert about(f"---\ntitle: {quoted}\n---\n").title == quoted.strip("'\"")


def test_the_zone_is_never_that_of_a_message():
    """Nothing below the first heading is about the transcript."""
    line = "Claude Code 2.1 · 2026-11-20 07:30 (EST)"
    assert about(f"{HEAD}# x\n\nClaude Code 2.1 · shop\n\n## You · Look\n\nLook\n\n{line}\n").zone == ""


@each("way", sorted(HEADS))
@each("path", ["claude/next-day.md", "pi/plain.md", "cursor/plain.md", "codex/aborted-turn.full.md"])
def test_a_head_that_an_editor_changed_is_one(way, path):
    """Who said what, and when, is the same; nothing of the head is a note."""
    text = (GOLDEN / path).read_text()
    edited = HEADS[way](text)
    assert edited != text
    assert about(edited) == about(text)
    assert _found(edited) == _found(text)


@each("way", sorted(ADDITIONS))
def test_what_a_person_adds_is_found_and_changes_nothing_else(way):
    """Wherever it stands, it is in one passage, and what was there before is said by who said it."""
    before, after = _found(PLAIN), _found(ADDITIONS[way](PLAIN))
    assert len([words for _, _, words in after if ADDED in words]) == 1
    assert about(ADDITIONS[way](PLAIN)) == about(PLAIN)
    assert [(who, when) for who, when, _ in after if who != "Note"] == [(who, when) for who, when, _ in before]
    assert all(any(words in found for _, _, found in after) for _, _, words in before)
    assert not any("Still awake?" in words or "Berlin)" in words for who, _, words in after if who == "Note")


@each("agent", ["pi/plain.md", "codex/aborted-turn.full.md", "cursor/plain.md"])
@each("word", ["ned", "elines · keep these", "-hole", "ing 2026", " keep", ""])
def test_a_line_that_begins_like_the_agents_name_is_a_persons(agent, word):
    """It may have the name, too: the line about a transcript has its project, or a time."""
    text = (GOLDEN / agent).read_text()
    title = re.search(r"^# [^\n]*\n\n", text, re.MULTILINE).end()
    mine = text[title:].split(" ", 1)[0] + word
    assert ("Note", "", mine) in _found(f"{text[:title]}{mine}\n\n{text[title:]}")


def test_a_title_is_katods_above_the_line_about_a_transcript():
    """Or if it has the words of the front matter; another heading is a person's."""
    line = "Claude Code 2.1 · shop"
    for text, mine in ((f"# y\n\n{line}", ""), ("# x", ""), ("# y", "# y"), (f"# y\n\nz\n\n{line}", "# y\n\nz")):
        assert [words for _, _, words in _found(f"{HEAD}{text}\n\n## You · Hi\n")] == [*filter(None, [mine]), "Hi"]


def test_front_matter_of_ones_own_is_text_of_a_file_and_of_a_recording():
    """A recording is one whatever became of its head, and what was put in its place is found."""
    text = "---\nmine: zebra\n---\n\n# x\n\nClaude Code 2.1 · 2026-02-10 21:00 (Europe/Berlin)\n\n### Claude · 21:01\n\nHi.\n"
    assert [who for who, _, _ in _found(text)] == ["Note", "Note"]
    assert [(who, words) for who, _, words in _found(text, is_recording=True)] == [
        ("Note", "---\nmine: zebra\n---"), ("Claude", "Hi."),
    ]  # fmt: skip
    assert head_of(text) is None


def test_an_own_file_that_quotes_a_field_is_nobodys_session():
    """Front matter below lines of a person's is a transcript's only without a gap, and with agent and session."""
    for text in (
        "a\n\n---\nagent: zot\n\nsession: x\n---\n",
        "a\n\n---\nagent: zot\n---\nsession: x\n",
        "---\nagent: zot\n",
    ):
        assert head_of(text) is None


def test_a_heading_is_a_speakers_with_a_name_that_katod_prints():
    """Others are a person's."""
    assert all(map(is_speaker, ["## You", "## You · 10:00 · x", "### Claude · opus · 10:00\n", "### Pi"]))
    assert not any(map(is_speaker, ["## Your plan", "## My review", "### Claudette", "# You", "### You · 10:00"]))

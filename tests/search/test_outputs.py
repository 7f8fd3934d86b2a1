"""Searches in the transcripts that katod wrote."""

import os
import re
from functools import partial

import pytest

from katod.agents import AGENTS
from katod.errors import OutputError
from katod.events import ASSISTANT_MESSAGE
from katod.log import EventLog
from katod.model import Options, SessionKey
from katod.record.export import Stretch, render_all, replay
from katod.search import outputs
from katod.search.outputs import search_transcript
from katod.search.query import Query
from katod.search.spoken import redacted_words_of
from katod.search.transcriptfiles import TranscriptFile
from katod.write.output import OutputPath
from katod.write.reading import open_plain
from tests.documents import ROOT
from tests.examples import mostly
from tests.looping import each
from tests.oracle.corpus import READERS, fixture_sources

GOLDEN = ROOT / "fixtures" / "golden" / "claude"


def _file(path):
    """Return a file that no ledger knows, as it is found below a folder."""
    return TranscriptFile(path, 0, partial(open_plain, OutputPath(path.parent, (path.name,))))


def _hits(path, *words):
    return [(hit.speaker, hit.text) for hit in filter(None, search_transcript(_file(path), Query(words))[1])]


@pytest.mark.parametrize("suffix", [".md", ".jsonl"])
def test_every_form_of_a_transcript_is_searched(suffix):
    """Hits have their speaker, and the transcript says of which session it is."""
    about, hits = search_transcript(_file(GOLDEN / f"plain-turn{suffix}"), Query(["ids", "prices"]))
    assert about.session == "plain-turn"
    assert [(hit.speaker, hit.text) for hit in filter(None, hits)] == [
        ("Claude", "Then I store ids and quantities only, and ask for the prices again.")
    ]


def test_words_have_to_be_in_one_passage():
    """They may be escaped there, but are not to be found in two messages."""
    assert _hits(GOLDEN / "plain-turn.md", "reloaded", "quantities") == []


def test_a_prompt_on_a_page_is_found_once_as_it_looks_and_as_it_was_typed(tmp_path):
    """Words that are only in its source are found there, and those that it shows are shown."""
    path = tmp_path / "page.html"
    prompt = (
        '<div class="typed written"><details class="source"><summary>As typed</summary><div class="plain">'
        "[the **pelican** &lt;x&gt;](https://x.example.com/walrus)</div></details>\n"
        '<div class="shown"><p><a href="https://x.example.com/walrus">the <strong>pelican</strong> &lt;x&gt;</a></p></div></div>'
    )
    head = '<!DOCTYPE html>\n<meta name="generator" content="katod">\n</head>\n<h1>Birds</h1>\n<p class="about">Claude Code</p>\n'
    path.write_text(f'{head}<h2 class="speaker person"><a href="#m1">You</a></h2>\n{prompt}\n</main>\n')
    for word in ("pelican", "the pelican", "<x>"):
        assert _hits(path, word) == [("You", "the pelican <x>")]
    for word in ("walrus", "**pelican**"):
        assert _hits(path, word) == [("You", "[the **pelican** <x>](https://x.example.com/walrus)")]


@each(
    "begin",
    [
        "<!DOCTYPE html>", "<!doctype html>", "<!DocType\nHTML>", "\ufeff<!DOCTYPE html>", "\n  <!DOCTYPE html>", "",
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" "x.dtd">', '<?xml version="1.0"?>\n<!DOCTYPE html>',
        "<html>", "<!-- saved -->\n<html>", "<HTML lang=en>",
    ],
)  # fmt: skip
def test_a_page_may_begin_in_any_way(tmp_path, begin):
    """It is read as a page by its name: without scripts, and not as Markdown."""
    path = tmp_path / "own.html"
    path.write_text(f"{begin}<title>T</title>\n<script>walrus</script><P>C:\\_dir of zebr&auml;</P>\n")
    ((speaker, text),) = _hits(path, "zebrä")
    assert (speaker, text.split()[-3:]) == ("Note", ["C:\\_dir", "of", "zebrä"])
    assert "\ufeff" not in text
    assert _hits(path, "walrus") == []


def test_a_page_is_known_by_its_beginning_and_a_transcript_by_its_own(tmp_path):
    """Whatever they are called; text of any other beginning is what its name says."""
    page, note, talk = tmp_path / "page.md", tmp_path / "note.md", tmp_path / "talk.html"
    page.write_text("\ufeff<!doctype HTML>\n<script>walrus</script>")
    note.write_text("<html> and <script>walrus</script>")
    talk.write_text((GOLDEN / "plain-turn.md").read_text())
    assert [len(_hits(path, "walrus")) for path in (page, note)] == [0, 1]
    assert _hits(talk, "ids", "prices")[0][0] == "Claude"


@each(
    "begin",
    [
        "<!doctype html> is what a page begins with.", "<!DOCTYPE html>\nis its first line.", "<!doctype html",
        "    <!DOCTYPE html>\n    <html>", "\n<!DOCTYPE html>\n<html>", "<!doctype htmlx><p>",
    ],
)  # fmt: skip
def test_notes_that_begin_with_a_sample_of_html_are_no_page(tmp_path, begin):
    """Nothing behind a `<style>` in them is lost."""
    path = tmp_path / "notes.md"
    path.write_text(f"{begin}\n\nUse <style> for it.\n\nThe walrus\n")
    assert _hits(path, "walrus")


def test_a_recording_is_known_by_the_ledger(tmp_path):
    """Without its front matter, it has speakers; a file that no ledger knows is notes."""
    path = tmp_path / "talk.md"
    path.write_text("## You · 10:00 · the pelican\n")
    known = _file(path)._replace(key=SessionKey("claude", "s"))
    found = [search_transcript(file, Query(["pelican"]))[1] for file in (known, _file(path))]
    assert [hit.speaker for hits in found for hit in hits if hit] == ["You", "Note"]


def test_escaped_words_are_found_as_they_are_shown(tmp_path):
    """What stands there with backslashes and entities is found without them, and as it is written."""
    path = tmp_path / "notes.md"
    path.write_text("## You · 10:00 · Use snake\\_case &lt;here&gt;\n")
    for word in ("snake_case", "<here>", "snake\\_case"):
        assert len(_hits(path, word)) == 1


def test_other_files_are_notes(tmp_path):
    """Text without speakers is a note of the person's, also in JSONL without events."""
    for name, text in (("a.md", "# Needle\n\nneedle\n"), ("b.jsonl", '{"needle": 1}\n')):
        (tmp_path / name).write_text(text)
        assert _hits(tmp_path / name, "needle") == [("Note", text.strip())]


LINES = (GOLDEN / "plain-turn.jsonl").read_bytes().splitlines(keepends=True)
SAID = [("Claude", "Then I store ids and quantities only, and ask for the prices again.")]


@each("at", range(len(LINES) + 1))
@each("note", [b"my needle", b"// my needle", b"# my needle\r", b"\xef\xbb\xbfmy needle", b"\n\nmy needle"])
def test_a_line_of_ones_own_is_found_in_jsonl_and_changes_nothing_else(tmp_path, at, note):
    """Wherever it stands; the events around it are said by who said them."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join([*LINES[:at], note + b"\n", *LINES[at:]]))
    (hit,) = filter(None, search_transcript(_file(path), Query(["needle"]))[1])
    assert (hit.speaker, hit.text.strip("# /\r\ufeff"), hit.is_said) == ("Note", "my needle", True)
    assert hit.shown_by(Query(["needle"]), [], "") is None
    about, hits = search_transcript(_file(path), Query(["ids", "prices"]))
    assert about.session == "plain-turn"
    assert [(hit.speaker, hit.text) for hit in filter(None, hits)] == SAID


@each("edited", [lambda data: b"\xef\xbb\xbf" + data, lambda data: data.replace(b"\n", b"\r\n"), bytes.rstrip])
@each("count", [2, len(LINES)])
def test_jsonl_that_an_editor_saved_is_one(tmp_path, edited, count):
    """However short it is."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(edited(b"".join(LINES[:count])))
    about, hits = search_transcript(_file(path), Query(["cart"]))
    assert about.session == "plain-turn"
    assert next(hit.speaker for hit in filter(None, hits)) == "You"


@each("at", range(len(LINES)))
def test_what_is_damaged_in_jsonl_is_said_and_the_rest_is_found(tmp_path, at):
    """Also if it is the first line: the session is known by the next event."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join([*LINES[:at], LINES[at][:-2] + b' "needle"\n', *LINES[at + 1 :]]))
    about, hits = search_transcript(_file(path), Query(["needle"]))
    assert about.session == "plain-turn"
    with pytest.raises(OutputError, match="1 line that may have the words cannot be read"):
        list(hits)
    if b"quantities" not in LINES[at]:
        assert _hits(path, "ids", "prices") == SAID


def test_a_file_of_which_no_event_can_be_read_is_said_to_be_damaged(tmp_path):
    """What stands in it may be anybody's."""
    (tmp_path / "a.jsonl").write_text('{"schema":"katod.event/1"}\n{"needle": 1}\n')
    with pytest.raises(OutputError):
        _hits(tmp_path / "a.jsonl", "needle")
    assert _hits(tmp_path / "a.jsonl", "elsewhere") == []


def test_a_transcript_that_cannot_be_read_is_an_error(tmp_path):
    """The caller notes it, and goes on with the others. A link is not followed."""
    os.symlink(GOLDEN / "plain-turn.md", tmp_path / "a.md")
    for name in ("a.md", "gone.md"):
        with pytest.raises(OutputError):
            search_transcript(_file(tmp_path / name), Query(["a"]))


def test_a_huge_transcript_is_searched_in_pieces(tmp_path, monkeypatch):
    """It has the same hits as one that is read as a whole, also with the line ends of another system."""
    text = (GOLDEN / "tool-kinds-more.full.md").read_text()
    path, dos = tmp_path / "a.md", tmp_path / "b.md"
    path.write_bytes(text.encode())
    dos.write_bytes(text.replace("\n", "\r\n").encode())

    def found(file):
        return [
            (about, [(hit.speaker, hit.time, hit.text, hit.until) for hit in filter(None, hits)])
            for about, hits in (
                search_transcript(_file(file), Query([word])) for word in ("a", "bash", "12", "nowhere")
            )
        ]

    for file in (path, dos):
        file.write_bytes(file.read_bytes().replace(b"tags:", b"summary: " + b"words of it " * 1000 + b"\ntags:", 1))
    whole = found(path)
    monkeypatch.setattr(outputs, "_WHOLE", 100)
    monkeypatch.setattr(outputs, "_PIECE", 15_000)
    in_pieces = found(path)
    assert [hits for _, hits in in_pieces] == [hits for _, hits in whole] == [hits for _, hits in found(dos)]
    assert in_pieces[0][0] == whole[0][0]
    assert len(whole[0][1]) > 5


@pytest.mark.slow
@pytest.mark.parametrize("agent", mostly(("claude", "codex"), sorted(READERS)))
def test_no_message_of_a_transcript_is_missed(tmp_path, agent):
    """Whatever Markdown makes of it, each message is found by each of its words, as said by whoever said it."""
    looked = 0
    for source in [one for one in fixture_sources() if one.agent == agent]:
        identity = AGENTS[agent].named(source.path)
        stretch = [Stretch(str(source.path), identity)]
        path = tmp_path / f"{looked}.md"
        path.write_text("".join(render_all(replay(identity.key, stretch, EventLog()), "markdown", Options())))
        for event, _ in replay(identity.key, stretch, EventLog()):
            if event.kind == ASSISTANT_MESSAGE and event.session.subagent == identity.key.subagent:
                for word in sorted(set(re.findall(r"[^\W_]{3,}", redacted_words_of(event))))[:5]:
                    assert AGENTS[agent].label in [speaker for speaker, _ in _hits(path, word)], (source.path, word)
                    looked += 1
    assert looked

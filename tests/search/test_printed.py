"""The lines of katod's own in a Markdown transcript."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.text.ownlines import MARKS
from katod.formats.transcript.content import ChosenAnswer, Footer, MarkLine, Note, PassedTime
from katod.formats.transcript.markdown import print_piece
from katod.formats.transcript.results import compacted
from katod.formats.transcript.turn import TurnTally
from katod.search.printed import own_line
from tests.examples import examples
from tests.looping import each

COUNTS = st.integers(0, 12_345)
STAMPS = ("", "10:30", "2026-03-02 10:30")


def _whole(line):
    """Return the line of katod's own that a line is."""
    found = own_line(line)
    assert found is not None, line
    assert found[0] == line
    return found


@each("kind", sorted(MARKS))
@each("stamp", STAMPS)
@each("more", ["", "· 12,345 tokens", "· 7 tokens · $0.0012", "· $12.30"])
def test_a_mark_of_each_kind_is_one(kind, stamp, more):
    """With its time, and with what the recording used."""
    line = print_piece(MarkLine(MARKS[kind], stamp, "x (y) *z*" if kind == "refused" else more))
    assert _whole(line)["mark"]


@examples(100, 2000)
@given(counts=st.fixed_dictionaries(dict.fromkeys(("tools", "commits", "tokens", "more"), COUNTS)), added=COUNTS,
       removed=COUNTS, seconds=st.integers(0, 100_000))  # fmt: skip
def test_the_footer_of_any_turn_with_a_tool_is_one(counts, added, removed, seconds):
    """Whatever the turn did; a message may have the footer of one that only changed files."""
    turn = TurnTally({**counts, "added": added, "removed": removed, "began": 1.0, "last": 1.0 + seconds})
    if words := turn.footer():
        line = print_piece(Footer(words))
        assert (own_line(line) is None) == (not counts["tools"]), words
        assert not counts["tools"] or _whole(line)["mark"]


@each("stamp", STAMPS[1:])
def test_a_time_is_one(stamp):
    """Where much of it passed inside a turn."""
    assert _whole(print_piece(PassedTime(stamp)))["mark"]


@each("words", ["Error: a *b*\n[c] \\ d_", "Model: a → b", "Title: x", "Interrupted", "Plan accepted", "2 turns rolled back",
                "Conversation rewound", "Conversation cleared: a new session begins", "Messages taken back",
                compacted({}), compacted({"tokensBefore": 1234}), compacted({"tokensBefore": 1234, "tokensAfter": 5}),
                compacted({"tokensAfter": 5})])  # fmt: skip
def test_what_katod_notes_is_a_note(words):
    """In the words that katod has for it."""
    assert _whole(print_piece(Note(words)))["note"]


@each("key", ["", "Name", "a (b): c*", "x:** y"])
@each("text", ["everywhere", "", "a, b · **c**"])
def test_an_answer_has_its_question_and_its_words(key, text):
    """Both are those that are printed."""
    line = print_piece(ChosenAnswer(key, text))
    found = _whole(line)
    shown = f" ({found['key']})" if key else ""
    assert line == f"**You{shown}:** {found['answer']}"


@pytest.mark.parametrize(
    "line",
    [
        "*10:30* Dentist", "*3 tools to buy:* rake", "*3 tools to buy*", "* 3 tools to buy", "*3 rooms · 4 s*", "*4 s*",
        "*Recording stopped working in the room*", "*Recording stopped 10:30 at last*", "*10:30 Dentist*", "**10:30**",
        "*Recording started too late, the concert was half over.*", "*Interrupted twice*", "*Errors: x*", "*You:* x",
        "**You and I:** x", "**You:**x", "*Error: x* y", "*mine*", "*2 files*", "*\u0662 tools*", "*\u0661\u0660:\u0663\u0660*",
    ],
)  # fmt: skip
def test_what_only_begins_alike_is_none(line):
    """A person may write it."""
    assert own_line(line) is None


@each("key", ["b" * 991 + r"\*b", "a " * 1200, "a" * 1000])
def test_an_answer_that_a_message_may_have_is_none(key):
    """Of a long line, only the beginning is disarmed there."""
    assert own_line(f"**You ({key}):** I agree") is None

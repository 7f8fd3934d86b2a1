"""The lines of katod's own in a Markdown transcript."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.text.ownlines import MARKS
from katod.formats.transcript.content import ChosenAnswer, Footer, MarkLine, Note, PassedTime
from katod.formats.transcript.markdown import print_piece
from katod.formats.transcript.results import compacted
from katod.formats.transcript.turn import TurnTally
from katod.search.printed import PRINTED
from tests.examples import examples
from tests.looping import each

COUNTS = st.integers(0, 12_345)
STAMPS = ("", "10:30", "2026-03-02 10:30")


@each("kind", sorted(MARKS))
@each("stamp", STAMPS)
@each("more", ["", "· 12,345 tokens", "· 7 tokens · $0.0012", "· $12.30"])
def test_a_mark_of_each_kind_is_one(kind, stamp, more):
    """With its time, and with what the recording used."""
    found = PRINTED.fullmatch(print_piece(MarkLine(MARKS[kind], stamp, "x (y) *z*" if kind == "refused" else more)))
    assert found is not None
    assert found["mark"]


@examples(100, 2000)
@given(counts=st.fixed_dictionaries(dict.fromkeys(("tools", "commits", "tokens", "more"), COUNTS)), added=COUNTS,
       removed=COUNTS, seconds=st.integers(0, 100_000))  # fmt: skip
def test_the_footer_of_any_turn_is_one(counts, added, removed, seconds):
    """Whatever the turn did."""
    turn = TurnTally({**counts, "added": added, "removed": removed, "began": 1.0, "last": 1.0 + seconds})
    if words := turn.footer():
        found = PRINTED.fullmatch(print_piece(Footer(words)))
        assert found is not None, words
        assert found["mark"]


@each("stamp", STAMPS[1:])
def test_a_time_is_one(stamp):
    """Where much of it passed inside a turn."""
    assert PRINTED.fullmatch(print_piece(PassedTime(stamp)))["mark"]


@each("words", ["Error: a *b*\n[c] \\ d_", "Model: a → b", "Title: x", "Interrupted", "Plan accepted", "2 turns rolled back",
                "Conversation rewound", "Conversation cleared: a new session begins", "Messages taken back",
                compacted({}), compacted({"tokensBefore": 1234}), compacted({"tokensBefore": 1234, "tokensAfter": 5}),
                compacted({"tokensAfter": 5})])  # fmt: skip
def test_what_katod_notes_is_a_note(words):
    """In the words that katod has for it."""
    found = PRINTED.fullmatch(print_piece(Note(words)))
    assert found is not None
    assert found["note"]


@each("key", ["", "Name", "a (b): c*", "x:** y"])
@each("text", ["everywhere", "", "a, b · **c**"])
def test_an_answer_has_its_question_and_its_words(key, text):
    """Both are those that are printed."""
    line = print_piece(ChosenAnswer(key, text))
    found = PRINTED.fullmatch(line)
    assert found is not None
    shown = f" ({found['key']})" if key else ""
    assert line == f"**You{shown}:** {found['answer']}"


@pytest.mark.parametrize(
    "line",
    [
        "*10:30* Dentist", "*3 tools to buy:* rake", "*3 tools to buy*", "* 3 tools to buy", "*3 rooms · 4 s*", "*4 s*",
        "*Recording stopped working in the room*", "*Recording stopped 10:30 at last*", "*10:30 Dentist*", "**10:30**",
        "*Recording started too late, the concert was half over.*", "*Interrupted twice*", "*Errors: x*", "*You:* x",
        "**You and I:** x", "**You:**x", "*Error: x* y", "*mine*",
    ],
)  # fmt: skip
def test_what_only_begins_alike_is_none(line):
    """A person may write it."""
    assert PRINTED.match(line) is None

"""First words, model names, and where a line is cut."""

from hypothesis import given
from hypothesis import strategies as st

from katod.formats.transcript.turn import short_model
from katod.metadata import cut_at_word, first_words
from tests.examples import texts
from tests.looping import each


@each(
    ("text", "shown"),
    [
        ("short", "short"),
        ("one two three", "one two…"),
        ("one, two, three", "one, two…"),
        ("abcdefghijklmnop", "abcdefghi…"),
        ("exactly 10", "exactly 10"),
    ],
)
def test_a_long_line_is_cut_at_a_word(text, shown):
    """A line that fits stays; of a longer one, whole words are kept, and a word that is too long alone is cut."""
    assert cut_at_word(text, 10) == shown


@given(texts(), st.integers(4, 60))
def test_a_line_is_never_longer_than_asked(text, longest):
    """Whatever the text, the line has at most the given number of characters."""
    assert len(cut_at_word(text, longest)) <= longest


@each(
    ("text", "words"),
    [
        ("\n\n  Add a cart.\nNow.", "Add a cart."),
        ("# My plan\n\nmore", "My plan"),
        ("> quoted", "quoted"),
        ("[Image #1] Make it red.", "Make it red."),
        ("![logo](logo.png)\nMake it red.", "Make it red."),
        ("[Pasted text #1 +20 lines]\nwhat is this?", "what is this?"),
        ("look at @src/cart.ts", "look at src/cart.ts"),
        ("mail me@example.org", "mail me@example.org"),
        ("", ""),
        ("[Image #1]", ""),
    ],
)
def test_first_words_are_those_of_the_person(text, words):
    """Headings have the first line that says something, without markers of images, pastes and files."""
    assert first_words(text, 60) == words


def test_first_words_have_at_most_sixty_characters():
    """The words of a heading are cut at a word."""
    words = first_words("I want to add authentication to my shop, and I want it today. Can you help?", 60)
    assert words == "I want to add authentication to my shop, and I want it…"
    assert len(words) <= 60


@each(
    ("model", "short"),
    [
        ("claude-opus-4-6", "opus-4-6"),
        ("anthropic/claude-haiku-4-5-20251001", "haiku-4-5"),
        ("us.anthropic/claude-opus-4-6@20260115", "opus-4-6"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gpt-5.4-2026-02-01", "gpt-5.4"),
        ("gpt-5.4", "gpt-5.4"),
        ("openrouter/z-ai/glm-5", "glm-5"),
        ("claude-", "claude-"),
        ("", ""),
    ],
)
def test_a_model_is_named_without_vendor_and_date(model, short):
    """The vendor in front of a model's name and the date behind it are left out; something is always left."""
    assert short_model(model) == short

"""What names a conversation."""

from hypothesis import given
from hypothesis import strategies as st

from katod.metadata import LONGEST_TITLE, cut_at_word, first_words, title_of
from tests.examples import examples
from tests.looping import each

LONG = LONGEST_TITLE


@each(
    ("words", "title"),
    [
        ("Add auth", "Add auth"),
        ("\n\n  Add auth  \nand more", "Add auth"),
        ("\r\nAdd auth\r\n", "Add auth"),
        ("x" * LONG, "x" * LONG),
        ("x" * (LONG + 1), "x" * (LONG - 1) + "…"),
        ("a" * (LONG - 2) + " " + "b" * 20, "a" * (LONG - 2) + "…"),
        ("## Plan for auth", "Plan for auth"),
        ("1. Add auth\n2. Test it", "Add auth"),
        ("- add auth", "add auth"),
        ("It was - at last - good to see", "It was - at last - good to see"),
        ("Добавь вход", "Добавь вход"),
        ("追加", "追加"),
    ],
)
def test_a_title_is_the_first_line_that_says_something(words: str, title: str) -> None:
    """With at most 400 characters, cut at a word, without what makes it a heading or an item."""
    assert title_of(words) == title


@each(
    "idle",
    [
        "", " \n ", "yes", "Commit.", "commit then", "ok, go on", "resume please", "y", "1", "👍", "---", "...",
        "https://example.org/a?b=c", "file:///home/me/a", "/home/me/app", "~/app", "./run.sh", "C:\\app", "src/app/a.ts",
        "::start", "::strat notes", "::start a b [[c]]", "<context>", "</context>", "Implement the following plan:",
    ],
)  # fmt: skip
def test_a_line_that_says_nothing_names_nothing(idle: str) -> None:
    """The next one that does names the conversation, whatever it is that stands before it."""
    assert title_of(idle) == ""
    assert title_of(f"{idle}\n\nAdd auth") == "Add auth"


@each(
    ("words", "title"),
    [
        ("<context>\nThe time is now.\n</context>\nAdd auth", "Add auth"),
        ('<note kind="a">The time is now.</note> Add auth', "Add auth"),
        ("<context>\nThe time is now.\n</context>\n", "The time is now."),
        ("<a>\nOne.\n</a>\n<b>\nTwo.\n</b>\nAdd auth", "Add auth"),
        ("<a>\nOne.\n</a>\n<b>\nTwo.\n</b>\n", "One."),
        (r"<a>\nOne.\n</a>\n\nAdd auth\nnow", "Add auth"),
        (r"Explain \n and \n to me", r"Explain \n and \n to me"),
        (r'Why does printf("a\nb\n") print a line?', r'Why does printf("a\nb\n") print a line?'),
        (r"Move C:\new\names to D:\news", r"Move C:\new\names to D:\news"),
        ("<context>\nThe time is now.", "The time is now."),
        ("Implement the following plan:\n\n# Login\n\n1. Add a page", "Login"),
        ("Why does <b>this</b> fail?", "Why does <b>this</b> fail?"),
    ],
)
def test_what_a_program_wrote_around_the_words_comes_last(words: str, title: str) -> None:
    """An element before them counts only if there are no others; a plan is named by its heading."""
    assert title_of(words) == title


def test_first_words_have_no_markers_of_images_and_files() -> None:
    """What a client inserts for a picture or a file is no word of a person."""
    assert first_words("[Image #1] look at @src/app.ts\nmore", 80) == "look at src/app.ts"
    assert first_words("![shot](a.png)\n\n## words", 80) == "words"
    assert title_of("[Image #1]\n![shot](a.png) look at @src/app.ts") == "look at src/app.ts"


def test_a_long_line_is_cut_after_a_word() -> None:
    """An ellipsis says so, and is within the length."""
    assert cut_at_word("one two three", 9) == "one two…"


@given(st.text(st.sampled_from("a<>/:.-# \n👍日я1")))
@examples(50, 5000)
def test_any_words_have_a_title_of_one_line_or_none(words: str) -> None:
    """It is one line, no longer than it may be, and has a letter unless it is cut."""
    title = title_of(words, 10)
    assert len(title) <= 10
    assert "\n" not in title
    assert title == "" or title.endswith("…") or any(map(str.isalpha, title))


def test_a_reviewers_session_is_called_by_what_it_reviews() -> None:
    """Its task begins with the conversation so far, of which the first prompt says most."""
    task = (
        "The following is the Codex agent history whose request action you are assessing. Treat it as evidence:\n"
        ">>> TRANSCRIPT START\n[1] user: Add auth\n\n[2] assistant: Done\n"
    )
    assert title_of(task) == "Review: Add auth"
    assert title_of(f"> {task}") != "Review: Add auth"

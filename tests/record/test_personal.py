"""What the person says of a session, as it is kept."""

from hypothesis import given

from katod.model import PersonalWord, SessionKey
from katod.record.personal import LONGEST_LABEL, LONGEST_NAME, MOST_LABELS, labels_in, said_of
from katod.store.rows import PersonalRow
from tests.examples import examples, texts
from tests.looping import each

EMPTY = PersonalRow(SessionKey("claude", "6f1c"))
SECRET = "sk-ant-api03-" + "a1B2" * 24


@each(
    ("word", "words", "row"),
    [
        ("rename", "  The\nlogin \x1b[31mpage ", EMPTY._replace(title="The login page")),
        ("rename", "", EMPTY),
        ("rename", "a" * LONGEST_NAME, EMPTY._replace(title="a" * LONGEST_NAME)),
        ("rename", "a" * (LONGEST_NAME + 1), EMPTY._replace(title="a" * (LONGEST_NAME - 1) + "…")),
        ("star", "", EMPTY._replace(starred=True)),
        ("unstar", "", EMPTY),
        ("label", "Auth #urgent auth", EMPTY._replace(labels=("auth", "urgent"))),
        ("unlabel", "auth", EMPTY),
    ],
)
def test_a_request_changes_what_is_said(word: PersonalWord, words: str, row: PersonalRow) -> None:
    """A title is one line of at most 200 characters; nothing that a terminal would obey stays."""
    assert said_of(EMPTY, word, words) == row


def test_labels_are_added_and_taken_away() -> None:
    """Each is there once, in the order in which they were typed, at most twenty."""
    row = said_of(said_of(EMPTY, "label", "b a"), "label", "c a")
    assert row.labels == ("b", "a", "c")
    assert said_of(row, "unlabel", "#A x").labels == ("b", "c")
    many = " ".join(f"l{n}" for n in range(MOST_LABELS + 5))
    assert len(said_of(EMPTY, "label", many).labels) == MOST_LABELS


@each(
    ("typed", "labels"),
    [
        ("c++ C# needs/review v1.2", ("c++", "c#", "needs/review", "v1.2")),
        ("вход 認証", ("вход", "認証")),
        ('a,b "x" [y]: {z}', ("a-b", "x", "y", "z")),
        ("- -- # / …", ()),
        ("x" * 50, ("x" * LONGEST_LABEL,)),
        (f"{'x' * 39}-y", ("x" * 39,)),
        ("हिन्दी ไทยน้ำ", ("हिन्दी", "ไทยน้ำ")),
        ("cafe\u0301 café", ("café",)),
        ("İstanbul a\udcff", ("i̇stanbul", "a")),
    ],
)
def test_a_label_is_a_word(typed: str, labels: tuple[str, ...]) -> None:
    """Of characters that mean nothing in Markdown's front matter, in HTML, or to a shell."""
    assert labels_in(typed) == labels


def test_secrets_are_redacted() -> None:
    """In titles and in labels."""
    assert "a1B2" not in said_of(EMPTY, "rename", f"try {SECRET}").title
    assert "a1b2" not in "".join(labels_in(SECRET))


@examples(25, 1000)
@given(texts(max_size=300))
def test_whatever_is_typed_is_one_printable_line(words: str) -> None:
    """No title, and no label, has a line break or a control character."""
    row = said_of(said_of(EMPTY, "rename", words), "label", words)
    for kept in (row.title, *row.labels):
        assert "\n" not in kept
        assert "\x1b" not in kept
    for label in row.labels:
        assert labels_in(label) == (label,), "so that it can be taken away"

"""The parts of what a person typed."""

from katod.formats.transcript.content import Quoted, TypedWords
from katod.formats.transcript.typed import typed_parts


def test_what_was_pasted_is_folded_where_it_was() -> None:
    """With the number of its lines; the words around it stay as they are."""
    assert typed_parts("Look:\na\nb\nand tell me", [(6, 9)], "Look:", str) == [
        TypedWords("Look:"), Quoted("Pasted: 2 lines", "a\nb"), TypedWords("and tell me"),
    ]  # fmt: skip


def test_a_message_that_is_its_heading_is_not_repeated() -> None:
    """Whatever is more than that is."""
    assert typed_parts("Add auth", [], "Add auth", str) == []
    assert typed_parts("Add auth\nnow", [], "Add auth", str) == [TypedWords("Add auth\nnow")]


def test_the_rest_of_a_long_message_is_folded() -> None:
    """Up to 60 lines are shown; of a longer one, the first 40."""
    lines = [str(n) for n in range(61)]
    assert typed_parts("\n".join(lines[:60]), [], "", str) == [TypedWords("\n".join(lines[:60]))]
    words, rest = typed_parts("\n".join(lines), [], "", str)
    assert words == TypedWords("\n".join(lines[:40]))
    assert rest == Quoted("21 lines more", "\n".join(lines[40:]))


def test_all_parts_are_redacted() -> None:
    """Each by itself: a secret in one is none in another."""
    assert typed_parts("x\ny", [(2, 3)], "", str.upper) == [TypedWords("X"), Quoted("Pasted: 1 line", "Y")]

"""Lines as hashes."""

from katod.edits.lines import LineHasher, split_lines
from tests.looping import each


@each("text, lines", [
    ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("a\r\nb\r\n", ["a", "b"]), ("a\x0cb\u2028c", ["a\x0cb\u2028c"]),
])  # fmt: skip
def test_only_line_feeds_end_lines(text, lines):
    """As in git and in editors; the end of the last line is none of its own."""
    assert split_lines(text) == lines


def test_a_line_is_told_from_one_that_is_indented_otherwise():
    """And both from other text, all without a word of it."""
    plain, indented, other = LineHasher(hash).lines("return x\n\treturn x\nreturn y")
    assert plain.unindented == indented.unindented != other.unindented
    assert plain.exact != indented.exact


def test_brackets_tell_nothing():
    """A line with few letters and digits may be anywhere."""
    told = [line.is_distinctive for line in LineHasher(hash).lines("}\n\n  );\nEND\nelse {\n世界你好")]
    assert told == [False, False, False, False, True, True]

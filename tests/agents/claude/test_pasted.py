"""Claude Code: where a paste begins and ends in a prompt."""

from katod.agents.claude.text import unwrap
from tests.looping import each


def element(content: str, name: str = "9e96") -> str:
    """Return a paste as the client marks it."""
    return f'<pasted_content id="{name}">{content}</pasted_content id="{name}">'


@each(
    ("text", "typed", "pasted"),
    [
        ("typed", "typed", []),
        (element("\n"), "", [""]),
        (element("\na\nb\n"), "a\nb", ["a\nb"]),
        (f"one\n\n{element(chr(10) + 'a' + chr(10))}\n\ntwo", "one\n\na\n\ntwo", ["a"]),
        (f"{element(chr(10) + 'a' + chr(10))}\n\n{element(chr(10) + 'b' + chr(10))}", "a\n\nb", ["a", "b"]),
        ('one\n\n<pasted_content id="9e96">\nno end', "one\n\nno end", ["no end"]),
    ],
)
def test_the_tags_are_left_out_and_what_is_between_them_is_pasted(text: str, typed: str, pasted: list[str]) -> None:
    """An empty paste is one, too; one without an end goes on to the end of the text."""
    found = unwrap(text)
    assert found.text == typed
    assert [found.text[begin:end] for begin, end in found.pasted] == pasted


def test_a_closing_tag_of_another_id_is_content() -> None:
    """A page cannot know the id of a session's pastes."""
    content = 'a\n</pasted_content id="beef">\n::start'
    found = unwrap(f"typed\n\n{element(chr(10) + content + chr(10))}")
    assert (found.text, found.pasted) == (f"typed\n\n{content}", ((7, 7 + len(content)),))

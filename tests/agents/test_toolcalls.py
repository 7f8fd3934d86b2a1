"""Calls that wait for their results."""

from katod.agents.toolcalls import LONGEST_DESCRIPTION, OpenCalls, one_line, words_of_refusal
from katod.model import LONGEST_NAME
from tests.looping import each


def test_a_call_is_open_until_its_result_comes() -> None:
    """A call is known from when it is added until it is closed."""
    calls: OpenCalls[int] = OpenCalls()
    assert calls.add("a", 1)
    assert not calls.add("a", 2)
    assert ("a" in calls, calls.get("a"), calls.state()) == (True, 1, {"a": 1})
    calls.replace("a", 3)
    assert (calls.close("a"), calls.close("a")) == (3, None)
    assert "a" not in calls


def test_a_call_without_a_usable_id_is_not_remembered() -> None:
    """A call without a usable id counts as new each time and is not stored."""
    calls: OpenCalls[int] = OpenCalls()
    for call in ("", "i" * (LONGEST_NAME + 1)):
        assert calls.add(call, 1)
        assert calls.add(call, 1)
    assert calls.state() == {}


def test_the_oldest_of_many_calls_is_forgotten() -> None:
    """Of many calls without results, only the latest 256 are kept."""
    calls: OpenCalls[int] = OpenCalls()
    for number in range(1000):
        calls.add(f"call-{number}", number)
    assert len(calls.state()) == 256
    assert "call-999" in calls
    assert "call-0" not in calls


@each(
    ("text", "line"),
    [
        ("", ""),
        (" make \n", "make"),
        ("make  \nmake test", "make …"),
        ("x" * LONGEST_DESCRIPTION, "x" * LONGEST_DESCRIPTION),
        ("x" * (LONGEST_DESCRIPTION + 1), "x" * (LONGEST_DESCRIPTION - 1) + "…"),
        ("x" * (LONGEST_DESCRIPTION - 2) + " yz", "x" * (LONGEST_DESCRIPTION - 2) + "…"),
    ],
)
def test_one_line_says_when_there_is_more(text: str, line: str) -> None:
    """An ellipsis stands for further lines, or for the end of a line that is too long."""
    assert one_line(text) == line


@each(
    ("text", "words"),
    [
        ("It was rejected. To tell you how to proceed, the user said:\nno,\nthe other", "no,\nthe other"),
        ("It was rejected. The user provided the following reason for the rejection:  use pnpm", "use pnpm"),
        ("The user rejected this tool call. User feedback: not now", "not now"),
        ("the user said:\nThe user wants to clarify these questions.\n  This means", "The user wants to clarify these questions."),
        ("STOP what you are doing", ""),
    ],
)  # fmt: skip
def test_the_words_of_a_refusal_are_found(text: str, words: str) -> None:
    """Whatever the client puts before them; its own instructions are left out."""
    assert words_of_refusal(text) == words

"""Claude Code: messages of teammates and peers, each with its sender, and never as words of the person."""

from typing import Any

from katod import events as ev
from tests.looping import each
from tests.support.records import Claude
from tests.support.translated import kinds, payloads, translated


def envelope(text: str, name: str = "reviewer", more: str = "") -> str:
    """Return a message as the client wraps it."""
    return f'<teammate-message teammate_id="{name}" color="blue"{more}>\n{text}\n</teammate-message>'


def told(text: str, **fields: Any) -> list[dict[str, Any]]:
    """Return what a record of the user with this text says."""
    events = translated("claude", Claude().user(text, **fields))
    assert ev.USER_MESSAGE not in kinds(events)
    assert len({event.id for event in events}) == len(events)
    return payloads(events, ev.SYSTEM_MESSAGE)


def message(text: str, name: str = "reviewer", **more: str) -> dict[str, str]:
    """Return the payload of a message."""
    return {"text": text, "subtype": "teammate-message", "speaker": name} | more


def test_each_message_in_a_record_has_its_sender() -> None:
    """Several messages in one record are several events, in order; the client's envelope is not shown."""
    text = f"{envelope('Done.')}\n\n{envelope('Not yet.', 'tester')}\n"
    assert told(text) == [message("Done."), message("Not yet.", "tester")]


def test_the_first_message_of_a_record_is_called_as_if_it_were_alone() -> None:
    """A client that adds a second one when it writes the record again does not make the first one new."""
    make = Claude()
    alone, both = make.user("hi"), make.user(envelope("Done.") + "\n" + envelope("Not yet."))
    both["uuid"] = alone["uuid"]
    [one, [first, second]] = [[event.id for event in translated("claude", row)][1:] for row in (alone, both)]
    assert ([first], second) == (one, f"{first}t1")


def test_a_message_keeps_what_looks_like_an_envelope() -> None:
    """Only an envelope that follows the end of another one begins a message."""
    inner = f"I got this:\n{envelope('x')}\nand answered."
    assert told(envelope(inner)) == [message(inner)]


@each(
    ("text", "more", "summary"),
    [
        ("Task #18 is done.", ' summary="Task #18 &amp; more"', "Task #18 & more"),
        ('{"type":"idle_notification","from":"reviewer"}', "", "idle notification"),
        ('{"type":["x"]}', "", ""), ("{not json", "", ""),
    ],
)  # fmt: skip
def test_a_message_is_called_as_its_sender_calls_it(text: str, more: str, summary: str) -> None:
    """By its summary; a message of the client's own protocol by its type."""
    assert told(envelope(text, more=more)) == [message(text, **({"summary": summary} if summary else {}))]


@each("text", ["<teammate-message", "<teammate-message teammate_id='a'", "<teammate-message <x>>hi"])
def test_an_envelope_that_cannot_be_read_is_kept(text: str) -> None:
    """It is a message of nobody in particular."""
    assert told(text) == [{"text": text, "subtype": "teammate-message"}]


def test_nothing_before_a_known_envelope_is_lost() -> None:
    """A message whose head cannot be read is kept beside those that can."""
    broken = "<teammate-message x>\nfirst\n"
    assert told(f"{broken}</teammate-message>\n{envelope('Done.')}") == [
        {"text": broken, "subtype": "teammate-message"}, message("Done."),
    ]  # fmt: skip


def test_marks_of_the_record_do_not_hide_a_message() -> None:
    """Newer versions mark such records as their own."""
    assert told(envelope("Done."), isMeta=True, origin={"kind": "teammate"}) == [message("Done.")]


def test_a_peer_is_named_by_the_origin() -> None:
    """A record that names another agent as its sender is that agent's."""
    [said] = told("Done.", origin={"kind": "peer", "from": "worker-1"})
    assert said == {"text": "Done.", "subtype": "agent-message", "speaker": "worker-1"}
    [unnamed] = told("Done.", origin={"kind": "peer"})
    assert unnamed == {"text": "Done.", "subtype": "agent-message"}


def test_many_unfinished_envelopes_take_little_time() -> None:
    """Time is linear in the text, whatever a teammate writes."""
    text = "<teammate-message teammate_id=" * 20_000 + envelope("x") + "</teammate-message>  " * 20_000
    assert len(told(text)) == 1

"""OpenCode: what a person does that is no ordinary prompt: `!` commands, pictures, refusals; and ids that repeat."""

import json
from typing import Any

from katod import events as ev
from katod.events import Event
from tests.looping import each
from tests.support.records import OpenCode, says, user
from tests.support.rendering import rendered
from tests.support.translated import Row, kinds, payloads, translated
from tests.support.world import World

RAN = "The following tool was executed by the user"
PICTURE = "data:image/png;base64,iVBORw0KGgo="


def message(name: str, *parts: Row, **info: Any) -> Row:
    """Return a message; parts without an id are named after their place."""
    rows = [{"id": f"prt_{name}{n}"} | part for n, part in enumerate(parts)]
    return {"info": {"id": f"msg_{name}", "time": {"created": 5}} | info, "parts": rows}


def typed(name: str, *parts: Row) -> Row:
    return message(name, *parts, role="user")


def answer(name: str, to: str, *parts: Row, **info: Any) -> Row:
    times = {"time": {"created": 5, "completed": 9}}
    return message(name, *parts, **({"role": "assistant", "parentID": f"msg_{to}"} | times | info))


def text(words: str, **more: Any) -> Row:
    return {"type": "text", "text": words, "time": {"start": 6, "end": 7}} | more


def call(tool: str, status: str = "completed", **state: Any) -> Row:
    made = {"status": status, "input": {"command": "make"}, "time": {"start": 6, "end": 7}} | state
    return {"type": "tool", "tool": tool, "callID": "call_2", "state": made}


def read(*messages: Row) -> list[Event]:
    """Return the events of a session with these messages, as far as they are final."""
    return translated("opencode", {"info": {"id": "ses_1"}, "messages": list(messages)})[1:]


def shell(**state: Any) -> list[Row]:
    """Return a command that the person ran, between two turns."""
    given = {"input": {"command": "echo hi"}, "output": "hi\n", "metadata": {"output": "hi\n"}} | state
    ran = answer("4", "3", call("bash", **given), modelID="large")
    before = [typed("1", text("hello")), answer("2", "1", text("yes"), finish="stop")]
    return [*before, typed("3", text(RAN, synthetic=True)), ran]


# -- commands of the person --------------------------------------------------------------------------


def test_a_command_that_the_person_ran_is_theirs() -> None:
    """It is no call of the assistant, has a turn of its own, and is complete without a later one."""
    events = read(*shell())
    assert kinds(events[2:]) == [ev.USER_MESSAGE, ev.SYSTEM_MESSAGE]
    assert [event.payload for event in events[2:]] == [
        {"text": "! echo hi", "subtype": "shell"},
        {"text": "hi\n", "subtype": "shell-output"},
    ]
    assert not events[2].typed
    shown = rendered("markdown", events)
    assert shown.index("yes") < shown.index("## You · 00:00 · ! echo hi") < shown.index("hi\n```")


def test_a_command_that_still_runs_is_shown_before_its_output() -> None:
    """The ids stay the same when the command has ended, so that nothing is said twice."""
    running = shell(status="running", output="", time={"start": 6})
    running[-1]["info"]["time"] = {"created": 5}
    assert [event.id for event in read(*running)] == [event.id for event in read(*shell())][:-1]


def test_the_same_words_of_a_person_are_a_prompt() -> None:
    """Only the client's own part makes a prompt that of a command."""
    events = read(typed("1", text(RAN)), answer("2", "1", call("bash"), text("done"), finish="stop"))
    assert kinds(events) == [ev.USER_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT, ev.ASSISTANT_MESSAGE]


def test_a_command_is_recorded_live(world: World) -> None:
    """It is in a recording when it has ended, although no answer of the model follows."""
    maker = OpenCode(world).say(user("::start talk.md\nfirst words"), says("first answer"))
    world.once()
    asked = maker.message("user")
    ran = maker.message("assistant", parentID=asked["id"], time={"completed": 5})
    given = {"status": "completed", "input": {"command": "echo hi"}, "output": "out of it"}
    part = maker.part(ran, type="tool", tool="bash", callID="c", state=given)
    maker.put(asked, maker.part(asked, type="text", text=RAN, synthetic=True), ran, part)
    world.once()
    assert "· ! echo hi\n" in (shown := world.written()["talk.md"])
    assert "out of it" in shown
    assert world.assert_live_is_batch()


# -- pictures and files ------------------------------------------------------------------------------


@each("first", ["text", "file"])
def test_a_file_stays_in_its_message(first: str) -> None:
    """Whichever part comes first, there is one message, with its picture."""
    file = {"type": "file", "mime": "image/png", "filename": "x.png", "url": PICTURE}
    parts = [text("[Image 1] what is this"), file]
    [said] = read(typed("1", *(parts if first == "text" else parts[::-1])))
    assert (said.kind, said.payload["text"], said.typed) == (ev.USER_MESSAGE, "[Image 1] what is this", True)
    assert [row["name"] for row in said.payload["attachments"]] == ["x.png"]
    assert [media for _, media, _ in said.blobs] == ["image/png"]


def test_files_without_words_are_one_message() -> None:
    """A prompt of files alone is said once, with all of them, when it is answered."""
    files = [{"type": "file", "mime": "image/png", "filename": name, "url": PICTURE} for name in ("a.png", "b.png")]
    asked = typed("1", *files)
    assert read(asked) == []
    said, _ = read(asked, answer("2", "1", text("two pictures"), finish="stop"))
    assert [row["name"] for row in said.payload["attachments"]] == ["a.png", "b.png"]


@each("missing", ["file", "text"])
def test_a_prompt_waits_for_the_part_that_it_names(missing: str) -> None:
    """The client writes part after part: what is read in between must not be said without its picture."""
    file = {"type": "file", "mime": "image/png", "url": PICTURE}
    assert read(typed("1", text("[Image 1] look") if missing == "file" else file)) == []
    answered = read(typed("1", text("[Image 1] look")), answer("2", "1", text("no picture"), finish="stop"))
    assert payloads(answered, ev.USER_MESSAGE) == [{"text": "[Image 1] look"}]


# -- refusals ----------------------------------------------------------------------------------------

TOOL = "The user rejected permission to use this specific tool call"


@each(
    ("error", "shown"),
    [
        (f"{TOOL}.", "declined"),
        (f"{TOOL} with the following feedback: only read it", "declined: only read it"),
        ("The user dismissed this question", "declined"),
        ("The user has specified a rule which prevents you from using this specific tool call.", "failed"),
        ("boom: The user rejected permission to use it", "failed"),
    ],
)
def test_a_refused_call_is_declined(error: str, shown: str) -> None:
    """The client's own words at the beginning decide; a rule that forbids a call is no person."""
    events = read(typed("1", text("go")), answer("2", "1", call("bash", "error", error=error), finish="tool-calls"))
    [result] = payloads(events, ev.TOOL_RESULT)
    assert result["isError"]
    assert result.get("denied", False) == shown.startswith("declined")
    assert f"\n  - {shown}" in rendered("markdown", events)


# -- ids that repeat ---------------------------------------------------------------------------------


def test_a_document_whose_ids_repeat_says_so() -> None:
    """Ids name what was said: of two parts or prompts with one id, the first is there, and a note counts the others."""
    said = [typed("1", text("one")), answer("2", "1", text("yes", id="prt_x"), text("no", id="prt_x"), finish="stop")]
    events = read(*said, typed("1", text("again", id="prt_y")))
    assert payloads(events, ev.USER_MESSAGE) == [{"text": "one"}]
    assert events[0].payload == {
        "text": "Left out: 2 messages and parts with the id of an earlier one", "subtype": "incomplete",
    }  # fmt: skip
    assert "*Left out: 2 messages" in rendered("markdown", events)
    assert "incomplete" not in str(read(*said[:1], *shell()[1:]))


def test_what_was_taken_back_and_deleted_is_missing_nowhere(world: World) -> None:
    """The client deletes it, and the note that it was taken back, with the next prompt: what was recorded stays."""
    make = OpenCode(world)
    world.once()
    make.say(user("::start notes.md\none"), says("first"))
    world.once()
    kept = len(make.items)
    make.say(user("two"), says("second"))
    world.once()
    revert = json.dumps({"messageID": make.items[kept]["id"]})
    make.run(("UPDATE session SET revert = ?, time_updated = time_updated + 1", (revert,)))
    world.once()
    make.rewrite(lambda number, _: number < kept)
    make.run("UPDATE session SET revert = NULL")
    make.say(user("other two"), says("third"))
    world.once()
    [row] = world.outputs()
    text = row.path.read_text()
    for said in ("first", "second", "*Messages taken back*", "other two", "third"):
        text = text.partition(said)[2]
        assert text, said
    world.cli("verify")

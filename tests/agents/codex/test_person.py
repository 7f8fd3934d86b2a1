"""Codex: what a person does that is no ordinary prompt: `!` commands, rewinds, and prompts without an event."""

import json
from typing import Any

import pytest

from katod import events as ev
from katod.events import Event
from tests.looping import each
from tests.support.records import THREAD, Codex, CodexLegacy
from tests.support.rendering import rendered
from tests.support.translated import Row, payloads, translated

FORMS = pytest.mark.parametrize("form", [Codex, CodexLegacy])
RAN = (
    "<user_shell_command>\n<command>\necho from the shell\n</command>\n<result>\nExit code: 0\n"
    "Duration: 0.0154 seconds\nOutput:\nfrom the shell\n\n</result>\n</user_shell_command>"
)


def sent(make: Codex, text: str) -> Row:
    """Return the item that the model is sent in the person's name."""
    content = [{"type": "input_text", "text": text}]
    return make.record("response_item", {"type": "message", "role": "user", "content": content})


def prompts(*records: Row) -> list[tuple[str, bool]]:
    """Return the messages of the person, and whether each was typed."""
    said = (one for one in translated("codex", *records) if one.kind == ev.USER_MESSAGE)
    return [(one.payload["text"], one.typed) for one in said]


# -- commands of the person --------------------------------------------------------------------------


@FORMS
def test_a_command_that_the_person_ran_is_shown(form: type[Codex]) -> None:
    """A `!` command is the person's, in a turn of its own, with what it printed; its execution is not another call."""
    make = form()
    item = {
        "type": "CommandExecution", "id": "405d0519", "command": ["/bin/bash", "-lc", "echo from the shell"],
        "source": "user_shell", "status": "completed", "aggregated_output": "from the shell\n", "exit_code": 0,
        "duration": {"secs": 0, "nanos": 15358964},
    }  # fmt: skip
    executed = make.record("event_msg", {"type": "item_completed", "thread_id": make.session, "item": item})
    ended = make.record("event_msg", {"type": "task_complete", "duration_ms": 32})
    events = translated("codex", make.meta(), executed, sent(make, RAN), ended)
    assert [event.payload for event in events[1:3]] == [
        {"text": "! echo from the shell", "subtype": "shell"},
        {"text": "from the shell", "subtype": "shell-output"},
    ]
    assert [event.kind for event in events[1:]] == [ev.USER_MESSAGE, ev.SYSTEM_MESSAGE, ev.TURN_END]
    assert not any(event.typed for event in events)
    assert "## You" in (shown := rendered("markdown", events))
    assert "! echo from the shell" in shown
    assert "from the shell\n```" in shown


# -- prompts without an event ------------------------------------------------------------------------


@FORMS
def test_a_prompt_that_is_only_an_item_is_shown_as_not_typed(form: type[Codex]) -> None:
    """It is shown where it was sent, before the answer; a command in it never acts, as nobody is known to have typed."""
    make = form()
    records = [make.meta(), make.user("typed"), sent(make, "typed"), make.says("one"), sent(make, "::start not typed")]
    assert prompts(*records, make.says("two")) == [("typed", True), ("::start not typed", False)]
    assert prompts(*records) == [("typed", True)]  # an event may still follow


@FORMS
def test_of_two_prompts_that_are_only_items_none_is_lost(form: type[Codex]) -> None:
    """The second shows that no event follows for the first, which stands before it."""
    make = form()
    records = [make.meta(), sent(make, "one"), sent(make, "two"), make.says("three")]
    assert prompts(*records) == [("one", False), ("two", False)]
    context = sent(make, "<environment_context>\nx\n</environment_context>")
    assert prompts(make.meta(), sent(make, "look"), context, make.user("look"), make.says("x")) == [("look", True)]


@FORMS
def test_a_prompt_that_an_event_says_is_shown_once(form: type[Codex]) -> None:
    """The item may come before or after the event, and need not have the same words."""
    make = form()
    records = [make.meta(), sent(make, "look <image>"), make.user("look"), make.says("one")]
    records += [make.user("again"), sent(make, "again "), make.says("two")]
    assert prompts(*records) == [("look", True), ("again", True)]


@FORMS
def test_what_the_client_sends_in_the_persons_name_is_no_prompt(form: type[Codex]) -> None:
    """Context, instructions and notes for the model are not shown."""
    make = form()
    said = ("<environment_context>\nx\n</environment_context>", "# AGENTS.md instructions\nx", "<turn_aborted>x")
    assert prompts(make.meta(), *(sent(make, text) for text in said), make.says("one")) == []


# -- rewinds -----------------------------------------------------------------------------------------


def notes(events: list[Event]) -> list[str]:
    """Return the notes of what was taken back."""
    return [one.payload["text"] for one in events if one.payload.get("subtype") == "rollback"]


def test_a_rewind_leaves_a_mark() -> None:
    """A rollout that goes on from within an earlier one of its thread says so; a fork takes nothing back."""
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 38, "end_byte_offset": 58306}
    assert notes(translated("codex", Codex().meta(history_base=base))) == ["Conversation rewound"]
    other = base | {"thread_id": "01a1f88f-22eb-7122-87d5-862e9a5d1004"}
    assert notes(translated("codex", Codex().meta(history_base=other, forked_from_id=other["thread_id"]))) == []
    assert notes(translated("codex", Codex().meta())) == []


# -- calls of the agent ------------------------------------------------------------------------------

PATCH = "*** Begin Patch\n*** Add File: made.txt\n+one\n+two\n*** End Patch"


@each(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}\nEOF\n",
        f'cd /home/me/app && apply_patch <<"PATCH"\n{PATCH}\nPATCH',
        ["bash", "-lc", f"apply_patch <<EOF\n{PATCH}\nEOF\n"],
        ["apply_patch", PATCH],
    ],
)
def test_a_patch_by_the_shell_is_shown_as_that_patch(command: Any) -> None:
    """A command that hands a patch over is an edit with its diff, and the client's record of it belongs to it."""
    make = Codex()
    name, key = ("exec_command", "cmd") if isinstance(command, str) else ("shell", "command")
    called = {"type": "function_call", "name": name, "call_id": "call_2", "arguments": json.dumps({key: command})}
    changes = {"/home/me/app/made.txt": {"type": "add", "content": "one\ntwo\n"}}
    item = {"type": "FileChange", "id": "call_2", "changes": changes, "status": "completed", "stdout": "Success."}
    changed = make.record("event_msg", {"type": "item_completed", "thread_id": make.session, "item": item})
    events = translated(
        "codex", make.meta(), make.record("response_item", called), changed, make.result("call_2", "Success.")
    )
    [call], [result] = payloads(events, ev.TOOL_CALL), payloads(events, ev.TOOL_RESULT)
    assert (call["name"], call["family"], call["input"], call["description"]) == (
        "apply_patch", "edit", PATCH, "made.txt",
    )  # fmt: skip
    assert call["native"] == {"name": name, "input": {key: command}}
    assert [row["path"] for row in result["structured"]["files"]] == ["/home/me/app/made.txt"]
    assert "`made.txt` (+2 " in rendered("markdown", events)


@each(
    "command", [f"cat <<'EOF'\n{PATCH}\nEOF\n", f"apply_patch <<'EOF'\n{PATCH}\nEOF\nmake test", "apply_patch < a.diff"]
)
def test_any_other_command_is_a_command(command: str) -> None:
    """A script in which a patch is only a part stays a command, with all that it runs."""
    make = Codex()
    [call] = payloads(translated("codex", make.meta(), make.runs("call_2", command)), ev.TOOL_CALL)
    assert (call["name"], call["family"], call["input"]) == ("exec_command", "execute", {"cmd": command})


@each(
    ("namespace", "name", "server"),
    [
        ("mcp__deepwiki", "ask_question", "deepwiki"),
        ("mcp__codex_apps__github", "_fetch_pr", "codex_apps"),
        ("", "mcp__tracker__search", "tracker"),
    ],
)
def test_a_tool_of_a_server_is_named_with_it(namespace: str, name: str, server: str) -> None:
    """The server is a field of the call, without the client's prefix, and is in the transcript."""
    make = Codex()
    row = {"type": "function_call", "name": name, "call_id": "c1", "arguments": '{"query": "cart"}'}
    if not namespace:  # code mode
        row = {"type": "custom_tool_call", "name": "exec", "call_id": "c1"}
        row |= {"input": f'text(await tools.{name}({{query: "cart"}}))'}
    called = make.record("response_item", row | ({"namespace": namespace} if namespace else {}))
    events = translated("codex", make.meta(), called)
    [call] = payloads(events, ev.TOOL_CALL)
    assert (call["server"], call["family"]) == (server, "mcp")
    shown = rendered("markdown", events).replace("\\", "")
    assert f"**{server}: {name.removeprefix(f'mcp__{server}__')}**" in shown

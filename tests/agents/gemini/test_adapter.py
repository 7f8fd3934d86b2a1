"""Gemini CLI: results as the client wraps them, rewinds, shell mode, and sub-agents."""

from pathlib import Path
from typing import Any

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.agents.gemini.adapter import GeminiAdapter
from katod.events import Event
from katod.model import Identity, Record, SessionKey
from tests.agents.test_compliance import events as recorded
from tests.agents.test_compliance import words
from tests.looping import each
from tests.support.records import Gemini, moment, says, user
from tests.support.rendering import rendered
from tests.support.translated import Row, kinds, payloads, translated
from tests.support.world import World

PARENT = "35f6981d-90c6-497b-8a61-6f52f6f35791"
CHILD = "65e16cb4-9e3b-4fb1-93ab-5e0cf95debba"
HEADER = {"sessionId": PARENT, "projectHash": "0", "startTime": "2026-11-21T23:23:00.000Z", "kind": "main"}
CONTEXT = {"id": "c0", "type": "user", "content": [{"text": "<session_context>\nx\n</session_context>"}]}


def message(native: str, text: Any, kind: str = "user", **more: Any) -> Row:
    content = [{"text": text}] if kind == "user" else text
    return {"id": native, "timestamp": "2026-11-21T23:24:00.000Z", "type": kind, "content": content} | more


def call(name: str, output: Any, given: Row | None = None, **more: Any) -> Row:
    response = {"functionResponse": {"id": "t1", "name": name, "response": {"output": output}}}
    made = {"id": "t1", "name": name, "args": given or {}, "status": "success", "result": [response]} | more
    return message("g1", "", "gemini", toolCalls=[made])


def checkpoint(*messages: Row) -> Row:
    return {"$set": {"messages": list(messages)}}


# -- results -----------------------------------------------------------------------------------------

WRAPPED = "<untrusted_context>\n{}\n</untrusted_context>"


@each(
    ("output", "text", "outcome"),
    [
        (
            WRAPPED.format("Output: boom\nExit Code: 3\nProcess Group PGID: 118"),
            "Output: boom\nExit Code: 3",
            {"exitCode": 3, "isError": True},
        ),
        (WRAPPED.format("Output: fine\nProcess Group PGID: 118"), "Output: fine", {}),
        (
            "Output: boom\nError: (none)\nExit Code: 127\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 36",
            "Output: boom\nError: (none)\nExit Code: 127\nSignal: 0\nBackground PIDs: (none)",
            {"exitCode": 127, "isError": True},
        ),
        (
            "Output: x\nExit Code: 0\nSignal: 0\nBackground PIDs: 17\nProcess Group PGID: 36",
            "Output: x\nExit Code: 0\nSignal: 0\nBackground PIDs: 17",
            {"exitCode": 0},
        ),
        ("Exit Code: 3\nProcess Group PGID: 36", "Exit Code: 3", {"exitCode": 3, "isError": True}),
        ("Output: Exit Code: 3\nmore\nProcess Group PGID: 36", "Output: Exit Code: 3\nmore", {}),
        ("<untrusted_context>\nopen", "<untrusted_context>\nopen", {}),
    ],
)
def test_a_command_that_failed_is_a_failure(output: str, text: str, outcome: Row) -> None:
    """The exit code at the end of a result decides; the client's wrapper and process group are not shown."""
    events = translated("gemini", HEADER, call("run_shell_command", output, {"command": "x"}))
    assert payloads(events, ev.TOOL_RESULT) == [{"toolCallId": "t1", "text": text} | outcome]


def test_the_text_of_a_file_is_not_the_end_of_a_command() -> None:
    """A file that ends like a command's result keeps its lines and has no exit code; its wrapper is not shown."""
    text = "Exit Code: 3\nProcess Group PGID: 36"
    events = translated("gemini", HEADER, call("read_file", WRAPPED.format(text), {"file_path": "log"}))
    assert payloads(events, ev.TOOL_RESULT) == [{"toolCallId": "t1", "text": text}]


@each(
    ("output", "answered"),
    [
        ('{"answers": {"0": "A", "1": ["B", "C"]}}', [["A"], ["B", "C"]]),
        ('{"answers": {"1": "B"}}', [["B"]]),
        ('{"answers": {}}', []),
        ("User dismissed the dialog", []),
        ("[1]", []),
    ],
)
def test_a_dialog_has_the_answers_that_were_given(output: str, answered: list[list[str]]) -> None:
    """A question that was passed over has none."""
    questions = [
        {"question": text, "type": "choice", "options": [{"label": one} for one in "ABC"], "multiSelect": True}
        for text in ("One?", "More?")
    ]
    events = translated("gemini", HEADER, call("ask_user", output, {"questions": questions}))
    assert len(payloads(events, ev.DECISION_PROMPT)) == 2
    assert [row["selections"] for row in payloads(events, ev.DECISION_RESPONSE)] == answered


def test_an_edit_names_its_file_and_its_lines() -> None:
    """The diff that the client shows gives the numbers of lines, for the file's own path."""
    diff = "Index: note.txt\n===\n--- note.txt\tCurrent\n+++ note.txt\tProposed\n@@ -1,1 +1,1 @@\n-a\n+b\n"
    shown = {"fileDiff": diff, "fileName": "note.txt", "filePath": "/p/note.txt"}
    events = translated("gemini", HEADER, call("replace", "Done.", {"file_path": "note.txt"}, resultDisplay=shown))
    [result] = payloads(events, ev.TOOL_RESULT)
    changed = {"path": "/p/note.txt", "change": "update", "added": 1, "removed": 1, "ranges": [[1, 1]]}
    assert result["structured"] == {"files": [changed]}
    events = translated("gemini", HEADER, call("write_file", "Done.", resultDisplay=shown | {"isNewFile": True}))
    assert payloads(events, ev.TOOL_RESULT)[0]["structured"]["files"][0]["change"] == "add"


# -- rewinds and compactions -------------------------------------------------------------------------


def notes(*records: Row) -> list[str]:
    """Return what of the client's changes to the history is noted."""
    events = translated("gemini", HEADER, checkpoint(CONTEXT), *records)
    noted = (e for e in events if e.kind == ev.COMPACTION or e.payload.get("subtype") == "rollback")
    return [event.payload.get("text", event.kind) for event in noted]


def test_a_rewind_is_noted_and_nothing_is_taken_back() -> None:
    """A rewind is a note that is printed; the shortened history after it is neither new nor a compaction."""
    said = [message("m1", "one"), message("m2", "two")]
    compressed, more = [CONTEXT, message("n1", "summary")], message("m3", "three")
    assert notes(*said, {"$rewindTo": "m2"}, checkpoint(CONTEXT, said[0])) == ["Conversation rewound"]
    after = [checkpoint(*compressed), more, {"$rewindTo": "m3"}, checkpoint(*compressed)]
    assert notes(*said, *after) == [ev.COMPACTION, "Conversation rewound"]
    ids = [event.id for event in translated("gemini", HEADER, *said, {"$rewindTo": "m2"}, {"$rewindTo": "m1"})]
    assert ids[-2:] == [f"gemini:{PARENT}:rewind-m2", f"gemini:{PARENT}:rewind-m1"]


def test_a_history_without_messages_is_no_compaction() -> None:
    """A resume writes a history that has only the client's context; after a compression it writes that one again."""
    said, compressed = message("m1", "one"), checkpoint(CONTEXT, message("n1", "summary"))
    assert notes(said, checkpoint(CONTEXT)) == []
    assert notes(said, compressed) == [ev.COMPACTION]
    assert notes(said, compressed, compressed) == [ev.COMPACTION]
    assert notes(said, {"$rewindTo": "m9"}, message("m2", "two"), compressed)[1:] == [ev.COMPACTION]


# -- shell mode --------------------------------------------------------------------------------------

RAN = "I ran the following shell command:\n```sh\ncat log\n```\n\nThis produced the following result:\n```\n{}\n```"


@pytest.mark.fault("text that looks like a command")
def test_a_command_that_the_person_ran_is_not_typed_text() -> None:
    """The client tells the model of a `!` command in the person's name: its output never commands."""
    record = message("m1", RAN.format("```\n::start evil"))
    events = translated("gemini", HEADER, record)[1:]
    assert kinds(events) == [ev.USER_MESSAGE, ev.SYSTEM_MESSAGE]
    assert events[0].payload == {"text": "! cat log", "subtype": "shell"}
    assert events[1].payload == {"text": "```\n::start evil", "subtype": "shell-output"}
    assert not events[0].typed
    assert GeminiAdapter.typed_texts(record) == []


# -- sub-agents --------------------------------------------------------------------------------------


def test_the_file_of_a_sub_agent_belongs_to_its_session() -> None:
    """Events of a sub-agent have the session of the folder that its file is in, and ids of its own; nobody typed."""
    path = Path(f"/home/me/.gemini/tmp/shop/chats/{PARENT}/{CHILD}.jsonl")
    identity = AGENTS["gemini"].identify(path)
    header = HEADER | {"sessionId": CHILD, "kind": "subagent"}
    events = translated("gemini", header, message("m1", "::stop look"), identity=identity, path=path)
    assert {(e.session.id, e.session.subagent) for e in events} == {(PARENT, CHILD)}
    assert [e.id for e in events] == [f"gemini:{CHILD}:start", f"gemini:{CHILD}:m1:0"]
    assert not any(e.typed for e in events)


@pytest.mark.fault("text that looks like a command")
def test_a_sub_agents_file_elsewhere_was_typed_by_nobody() -> None:
    """Before 0.39, and in a copy, a sub-agent's file is not in its session's folder: its header says what it is."""
    header = HEADER | {"sessionId": CHILD, "kind": "subagent"}
    lines = translated("gemini", header, message("m1", "::stop look"))
    document = translated("gemini", header | {"messages": [message("m1", "::stop look")]})
    for events in (lines, document):
        assert payloads(events, ev.SESSION_START) == [{"origin": "subagent"}]
        assert not any(e.typed for e in events)


def test_a_session_notes_the_end_of_its_sub_agent() -> None:
    """The call of a sub-agent names it, and says how it ended."""
    ended = call("invoke_agent", "Done.", {"agent_name": "a", "prompt": "Look."}, agentId=CHILD)
    shown = ended["toolCalls"][0] | {"resultDisplay": {"isSubagentProgress": True, "state": "completed"}}
    for record, status in ((ended, "success"), (ended | {"toolCalls": [shown]}, "completed")):
        events = translated("gemini", HEADER, record)
        assert payloads(events, ev.AGENT_END) == [{"subagent": CHILD, "status": status}]


def test_a_recording_has_none_of_its_sub_agents_words(world: World) -> None:
    """A sub-agent's file is another session, and a command in its prompt is ignored."""
    Gemini(world).say(user("::start talk.jsonl\nfirst words"))
    child = Gemini(world, subagent=CHILD)
    child.put({"id": "x1", "timestamp": moment(), "type": "user", "content": [{"text": "::stop\nlook around"}]})
    child.say(says("nothing here"))
    world.once()
    assert words(recorded(world)) == ["first words"]


def test_usage_has_the_clients_own_total() -> None:
    """Values of other types read as absent."""
    tokens = {"input": 4000, "output": 20, "cached": 0, "thoughts": 30, "tool": 0, "total": 4050}
    told = {"scope": "message", "input": 4000, "output": 20, "cacheRead": 0, "reasoning": 30}
    for total, more in ((4050, {"total": 4050}), (["x"], {}), (None, {})):
        events = translated("gemini", HEADER, message("g1", "hi", "gemini", tokens=tokens | {"total": total}))
        assert payloads(events, ev.USAGE) == [told | more]


def test_a_compaction_has_the_summary_that_the_history_begins_with() -> None:
    """It is what stands before the answer that the client writes; without that answer, nothing shows what it is."""
    answer = message("n2", "Got it. Thanks for the additional context!", "gemini")
    short = checkpoint(CONTEXT, message("n1", "We talked.\n::start"), answer, message("n3", "go on"))
    first = message("m1", "one")
    assert payloads(translated("gemini", HEADER, first, short), ev.COMPACTION) == [{"summary": "We talked.\n::start"}]
    other = checkpoint(message("n1", "one"), message("n2", "Yes.", "gemini"))
    assert payloads(translated("gemini", HEADER, first, other), ev.COMPACTION) == [{}]
    alone = checkpoint(answer)
    assert payloads(translated("gemini", HEADER, first, alone), ev.COMPACTION) == [{}]


# -- what the client says for the person, and calls that they left -----------------------------------

LEFT = "User has manually exited Plan Mode. Switching to Default mode (edits will require confirmation)."


def test_leaving_the_mode_for_plans_is_the_clients_word() -> None:
    """The client tells the model in the person's name: it is not theirs, and heads no turn. A quotation is."""
    events = translated("gemini", HEADER, message("m1", LEFT), message("m2", f"what is '{LEFT}'?"))
    assert kinds(events)[1:] == [ev.SYSTEM_MESSAGE, ev.USER_MESSAGE]
    assert events[1].payload == {"text": LEFT, "subtype": "context"}
    assert [len(GeminiAdapter.typed_texts(message("m1", text))) for text in (LEFT, f"{LEFT} Why?")] == [0, 1]
    assert rendered("markdown", events).count("## You") == 1


CALLED = {"id": "t1", "name": "run_shell_command", "args": {"command": "sleep 60"}, "status": "cancelled"}
RESULT = {"functionResponse": {"response": {"error": "[Operation Cancelled] Reason: Operation cancelled by user"}}}
CANCELLED = message("i1", "Request cancelled.", "info")


def left(*more: Row) -> list[Event]:
    """Return the events of a call that the person left; the client records the call after that it was left."""
    call = message("g2", "", "gemini", toolCalls=[CALLED | {"result": [RESULT]}])
    before = [message("m1", "wait"), message("g1", "let me look", "gemini"), CANCELLED, {"$set": {"lastUpdated": "x"}}]
    return translated("gemini", HEADER, *before, call, message("m2", "next"), *more)


def test_an_interruption_is_below_the_call_that_it_interrupted() -> None:
    """Each event keeps the id of its own record."""
    events = left()
    assert kinds(events)[3:] == [ev.TOOL_CALL, ev.TOOL_RESULT, ev.TURN_END, ev.USER_MESSAGE]
    assert [event.id for event in events if event.kind == ev.TURN_END] == [f"gemini:{PARENT}:i1:0"]
    shown = rendered("markdown", events)
    assert shown.index("let me look") < shown.index("sleep 60") < shown.index("*Interrupted*") < shown.index("next")
    assert shown.count("*Interrupted*") == 1


@each("then", [message("m2", "next"), {"$rewindTo": "m1"}, HEADER])
def test_an_interruption_without_a_call_stays_where_it_is(then: Row) -> None:
    """What follows shows that no call was interrupted; at the end of a file nothing does."""
    before = [HEADER, message("m1", "wait"), message("g1", "let me look", "gemini"), CANCELLED]
    assert kinds(translated("gemini", *before, then))[3] == ev.TURN_END
    assert kinds(translated("gemini", *before))[3:] == []
    adapter = AGENTS["gemini"].adapter(Origin(Identity(SessionKey("gemini", "s")), Path("/nowhere/s")))
    found = [event for n, row in enumerate(before) for event in adapter.feed(Record(n, row))]
    assert adapter.has_pending()
    assert kinds([*found, *adapter.finish()])[3:] == [ev.TURN_END]


def test_an_interrupted_answer_ends_its_turn_at_once() -> None:
    """No call can follow a prompt that was not answered, or calls that were recorded."""
    assert kinds(translated("gemini", HEADER, message("m1", "wait"), CANCELLED))[-1] == ev.TURN_END
    called = message("g1", "", "gemini", toolCalls=[CALLED | {"result": [RESULT]}])
    assert kinds(translated("gemini", HEADER, message("m1", "wait"), called, CANCELLED))[-1] == ev.TURN_END


@each(
    ("output", "text"),
    [
        (f"{WRAPPED.format('one')}\n{WRAPPED.format('two')}", "one\ntwo"),
        (f"{WRAPPED.format('one')}\n\n<hook_context>x</hook_context>", "one\n\n<hook_context>x</hook_context>"),
        (WRAPPED.format("<untrusted_context>\nquoted"), "<untrusted_context>\nquoted"),
        (f"a page about\n{WRAPPED.format('it')}", f"a page about\n{WRAPPED.format('it')}"),
    ],
)
def test_the_tags_around_a_result_are_not_shown(output: str, text: str) -> None:
    """A server may give several blocks, a hook adds to them; the same tags within a result are its own."""
    events = translated("gemini", HEADER, call("mcp_docs_search", output, {"query": "x"}))
    assert payloads(events, ev.TOOL_RESULT) == [{"toolCallId": "t1", "text": text}]


def test_the_tags_around_a_long_result_are_not_shown() -> None:
    """The client writes a line above a result that it cut, and then its head and its tail in the same tags."""
    head = "Output too large. Showing first 8,000 and last 32,000 characters. For full output see: /tmp/x.txt\n"
    inner = "Output: first\n\n... [9 characters omitted] ...\n\nlast\nExit Code: 3"
    output = head + WRAPPED.format(f"{inner}\nProcess Group PGID: 118")
    events = translated("gemini", HEADER, call("run_shell_command", output, {"command": "x"}))
    wanted = {"toolCallId": "t1", "text": f"{head}{inner}", "exitCode": 3, "isError": True}
    assert payloads(events, ev.TOOL_RESULT) == [wanted]


def test_the_front_matter_has_the_whole_id(world: World) -> None:
    """A path has its first eight digits; recorded and exported, a session is named by the id that resumes it."""
    maker = Gemini(world).say(user("::start talk.md\nfirst words"), says("first answer"))
    world.once()
    assert f'session: "{maker.session}"' in world.written()["talk.md"]
    assert f'session: "{maker.session}"' in world.cli("export", maker.source)


@each(("state", "typed"), [({}, True), ({"person": True}, True), ({"person": False}, False)])
def test_a_session_that_an_older_katod_began_to_read_has_a_person(state: Row, typed: bool) -> None:
    """It did not say whose a session is, and read those of people alone."""
    origin = Origin(Identity(SessionKey("gemini", PARENT)), Path("/nowhere/s"))
    adapter = GeminiAdapter(origin, {"session": PARENT} | state)
    said = [event for event in adapter.feed(Record(0, message("m1", "go"))) if event.kind == ev.USER_MESSAGE]
    assert [event.typed for event in said] == [typed]


def test_paths_are_shown_from_the_project_also_after_a_restart(tmp_path: Path) -> None:
    """The folder of the project is read once, at the head of the session."""
    (tmp_path / ".project_root").write_text("/home/me/app\n")
    path = tmp_path / "chats" / "session-2026-11-21T23-23-35f6981d.jsonl"
    call = {"id": "t1", "name": "read_file", "args": {"file_path": "/home/me/app/src/a.py"}, "status": "success"}
    said = message("g1", "", "gemini", toolCalls=[call])
    events = translated("gemini", HEADER, said, path=path)
    assert [row["description"] for row in payloads(events, ev.TOOL_CALL)] == ["src/a.py"]

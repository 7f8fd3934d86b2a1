"""Codex: what a thread begins with, its settings, encrypted thinking, and usage."""

from pathlib import Path
from typing import Any

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.agents.codex.promptitems import PromptItems
from katod.formatspec import open_format
from katod.metadata import SessionMetadata
from katod.model import Identity, Options, Record, SessionKey
from tests.looping import each
from tests.support.records import Codex
from tests.support.translated import Row, payloads, translated

THREAD = "019f7ec0-ea80-7185-8fb2-90f9875760a2"
GIT = {"commit_hash": "abc1", "branch": "main", "repository_url": "https://me:secret@example.org/shop.git"}


def meta(**fields: Any) -> Row:
    return {"type": "session_meta", "payload": {"id": THREAD, "cwd": "/p", "originator": "codex-tui"} | fields}


def context(**fields: Any) -> Row:
    return {"type": "turn_context", "payload": {"cwd": "/p", "model": "gpt-5"} | fields}


def item(**payload: Any) -> Row:
    return {"type": "response_item", "payload": payload}


def changes(*records: Row) -> list[tuple[Any, ...]]:
    """Return what changed in these records, from what to what."""
    rows = payloads(translated("codex", meta(), *records), ev.CONFIG_CHANGE)
    return [(row["what"], row.get("before"), row["after"]) for row in rows]


@each(
    ("fields", "told"),
    [
        (
            {"git": GIT, "model_provider": "openai"},
            {
                "branch": "main",
                "commit": "abc1",
                "repository": "https://example.org/shop.git",
                "modelProvider": "openai",
            },
        ),
        ({"git": {"repository_url": ["x"], "branch": 7}, "model_provider": ["openai"]}, {}),
        ({"git": "main", "model_provider": None}, {}),
    ],
)
def test_a_thread_begins_with_its_repository_and_provider(fields: Row, told: Row) -> None:
    """Nothing of who logs in to the remote is kept; values of other types read as absent."""
    [start] = payloads(translated("codex", meta(**fields)), ev.SESSION_START)
    assert start == {"cwd": "/p", "origin": "codex-tui", "id": THREAD} | told


def test_no_token_in_the_url_of_a_repository_is_printed() -> None:
    """What is not before the host is redacted like any text."""
    token = "ghp_" + "aB3dE5fG7hJ9" * 3
    for url in (f"https://{token}@example.org/shop", f"https://example.org/{token}/shop", f"{token}@example.org:shop"):
        [start] = translated("codex", meta(git={"repository_url": url}))
        printed = open_format("jsonl", Options()).event(start, SessionMetadata(SessionKey("codex", THREAD)))
        assert '"repository":' in printed
        assert token not in printed


def test_the_settings_of_the_first_turn_are_changes() -> None:
    """A thread begins without them. Later turns repeat them: only what differs is a change."""
    first = context(approval_policy="never", sandbox_policy={"type": "read-only"}, effort="high")
    later = context(approval_policy="on-request", sandbox_policy={"type": "workspace-write"}, effort="high")
    assert changes(first, first, later) == [
        ("effort", None, "high"),
        ("permissionMode", None, "never"),
        ("sandbox", None, "read-only"),
        ("permissionMode", "never", "on-request"),
        ("sandbox", "read-only", "workspace-write"),
    ]


def test_the_sandbox_of_an_older_client_is_called_its_mode() -> None:
    """Policies were written with `mode` in 2025."""
    assert changes(context(sandbox_policy={"mode": "read-only"})) == [("sandbox", None, "read-only")]


@each("value", [["x"], {"granular": {}}, None, 7, ""])
def test_settings_of_another_shape_are_left_out(value: Any) -> None:
    """Values of other types read as absent."""
    policies = ({"type": value}, value)
    records = [context(approval_policy=value, effort=value, sandbox_policy=policy) for policy in policies]
    assert changes(*records) == []


@each(
    ("mode", "summary", "thoughts"),
    [
        ("legacy", [], [{"text": "", "encrypted": "gAAAA"}]),
        ("legacy", ["Hm."], [{"text": "Hm.", "encrypted": "gAAAA"}]),
        ("paginated", [], [{"text": "", "encrypted": "gAAAA"}]),
        ("paginated", ["Hm."], []),  # its item has the text
    ],
)
def test_encrypted_thinking_is_noted(mode: str, summary: list[str], thoughts: list[Row]) -> None:
    """Thinking that is only there encrypted is an event without text, whatever the form of the rollout."""
    blocks = [{"type": "summary_text", "text": text} for text in summary]
    record = item(type="reasoning", id="rs_1", summary=blocks, encrypted_content="gAAAA")
    assert payloads(translated("codex", meta(history_mode=mode), record), ev.ASSISTANT_THINKING) == thoughts
    empty = item(type="reasoning", id="rs_1", summary=[], encrypted_content="")
    assert payloads(translated("codex", meta(history_mode=mode), empty), ev.ASSISTANT_THINKING) == []


def test_usage_has_the_clients_own_total_and_the_response() -> None:
    """The id of the response is that of the request."""
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    for response, known in (("resp_1", {"requestId": "resp_1"}), (["x"], {})):
        record = {"type": "token_usage_record", "payload": {"response_id": response, "usage": usage}}
        *_, event = translated("codex", meta(), record)
        assert event.payload == {"scope": "message", "input": 10, "output": 5, "total": 15}
        assert event.source == {"providerEventType": "token_usage_record"} | known | {"offset": 100}
    info = {"last_token_usage": usage, "total_token_usage": usage, "model_context_window": 272_000}
    counted = translated("codex", meta(), {"type": "event_msg", "payload": {"type": "token_count", "info": info}})
    assert payloads(counted, ev.USAGE) == [
        {"scope": "message", "input": 10, "output": 5, "total": 15, "contextLimit": 272_000}
    ]


def test_usage_is_counted_once() -> None:
    """The client repeats its last count while nothing is added to the totals; equal messages have other totals."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    counts = [{"last_token_usage": usage, "total_token_usage": {"input_tokens": total}} for total in (10, 10, 20, 20)]
    records = [{"type": "event_msg", "payload": {"type": "token_count", "info": info}} for info in (None, *counts)]
    assert (
        payloads(translated("codex", meta(), *records), ev.USAGE)
        == [{"scope": "message", "input": 10, "output": 5}] * 2
    )


def test_a_spawned_thread_has_its_model() -> None:
    """The start of a sub-agent says on which model it runs, if the client does."""
    row = {"type": "collab_agent_spawn_end", "new_thread_id": "t2", "prompt": "Look.", "model": "gpt-5-mini"}
    for model, told in (("gpt-5-mini", {"model": "gpt-5-mini"}), (["x"], {})):
        record = {"type": "event_msg", "payload": row | {"model": model}}
        events = translated("codex", meta(), record)
        assert payloads(events, ev.AGENT_START) == [{"subagent": "t2", "task": "Look."} | told]


@each(
    ("status", "payload"),
    [
        ({"completed": "Looked."}, {"status": "completed", "result": "Looked."}),
        ({"errored": None}, {"status": "errored"}), ({"completed": ""}, {"status": "completed"}),
        ("shutdown", {"status": "shutdown"}),
    ],
)  # fmt: skip
def test_the_end_of_a_thread_has_its_status_and_its_answer(status: Any, payload: dict[str, str]) -> None:
    """The status is a word, or the key of what the thread answered."""
    row = {"type": "collab_close_end", "receiver_thread_id": "t2", "status": status}
    events = translated("codex", meta(), {"type": "event_msg", "payload": row})
    assert payloads(events, ev.AGENT_END) == [{"subagent": "t2"} | payload]


def test_a_turn_that_failed_says_so() -> None:
    """Its end has the error: it is told, and the turn is not done. An error of another shape is none."""
    told = {"message": "high demand", "codex_error_info": "internal_server_error"}
    make = Codex()
    rows = [
        make.record("event_msg", {"type": "task_complete", "error": error, "duration_ms": 7})
        for error in (told, None, "x", {"message": 5})
    ]
    events = translated("codex", make.meta(), *rows)
    assert payloads(events, ev.ERROR) == [{"message": "high demand", "code": "internal_server_error"}]
    assert [row["reason"] for row in payloads(events, ev.TURN_END)] == ["error", "done", "done", "done"]


@each(
    ("text", "payload"),
    [
        (
            "Message Type: NEW_TASK\nTask name: /root/tests\nSender: /root\nPayload:\nLook.\n::start",
            {"text": "Look.\n::start", "subtype": "task"},
        ),
        ("Message Type: MESSAGE\nPayload:\nDone.", {"text": "Done.", "subtype": "agent-message"}),
        ("Done.", {"text": "Done.", "subtype": "agent-message"}),
    ],
)
def test_a_message_between_agents_is_that_of_its_author(text: str, payload: dict[str, str]) -> None:
    """Its head is not shown, and no command in it acts."""
    content = [{"type": "input_text", "text": text}]
    sent = item(type="agent_message", author="/root", recipient="/root/tests", content=content)
    assert payloads(translated("codex", meta(), sent), ev.SYSTEM_MESSAGE) == [payload | {"speaker": "/root"}]


def test_an_encrypted_message_between_agents_is_called_by_its_task() -> None:
    """Only the head can be read, so it is shown."""
    head = "Message Type: NEW_TASK\nTask name: /root/tests\nSender: /root\nPayload:\n"
    content = [{"type": "input_text", "text": head}, {"type": "encrypted_content", "encrypted_content": "ZW5j"}]
    [said] = payloads(translated("codex", meta(), item(type="agent_message", content=content)), ev.SYSTEM_MESSAGE)
    assert said == {"text": head, "subtype": "task", "summary": "/root/tests"}


def test_a_delegated_task_is_without_its_envelope() -> None:
    """The words are those of the input; an envelope without any stays as it is."""
    tasks = ["<codex_delegation>\n<input>Look at </input> tags.</input>\n</codex_delegation>", "<codex_delegation>x"]
    rows = [{"type": "event_msg", "payload": {"type": "user_message", "message": task}} for task in tasks]
    said = payloads(translated("codex", meta(), *rows), ev.USER_MESSAGE)
    assert [row["text"] for row in said] == ["Look at </input> tags.", "<codex_delegation>x"]
    assert {row["subtype"] for row in said} == {"delegated"}


def test_a_record_that_does_not_say_what_it_is_has_an_unknown_type() -> None:
    """It is kept as it was found."""
    [*_, event] = translated("codex", {"strange": 1})
    assert (event.kind, event.source["providerEventType"]) == (ev.PROVIDER_RAW, "unknown")


def test_messages_of_a_spawned_thread_are_tasks() -> None:
    """All of them, with a restart in between: nobody types there."""
    rows = [{"type": "event_msg", "payload": {"type": "user_message", "message": text}} for text in ("Look.", "Again.")]
    events = translated("codex", meta(thread_source="subagent"), *rows)
    assert [row["subtype"] for row in payloads(events, ev.USER_MESSAGE)] == ["task", "task"]
    assert not any(event.typed for event in events)


def test_a_summary_is_that_of_the_model() -> None:
    """What the client writes above it for the next model is left out."""
    above = "Another language model started to solve this problem and produced a summary. Here is the summary:"
    compacted = {"type": "compacted", "payload": {"message": f"{above}\nThe cart is fast now.\n\nTests: pass"}}
    [payload] = payloads(translated("codex", meta(), compacted), ev.COMPACTION)
    assert payload["summary"] == "The cart is fast now.\n\nTests: pass"


ANSWERS = (
    "agent_message", "agent_reasoning", "reasoning", "function_call", "custom_tool_call", "local_shell_call",
    "web_search_call", "task_complete", "turn_complete", "turn_aborted",
)  # fmt: skip
ANSWERING_ITEMS = ("AgentMessage", "Reasoning", "CommandExecution")


@each(
    ("payload", "is_due"),
    [
        *(({"type": kind}, True) for kind in ANSWERS),
        *(({"type": "item_completed", "item": {"type": kind}}, True) for kind in ANSWERING_ITEMS),
        ({"type": "message", "role": "assistant"}, True),
        ({"type": "message", "role": "user"}, False),
        ({"type": "item_completed", "item": {"type": "Plan"}}, False),
        *(({"type": kind}, False) for kind in ("token_count", "task_started", "function_call_output", "", None)),
    ],
)
def test_a_prompt_that_no_event_says_is_shown_before_what_the_model_does(payload: Row, is_due: bool) -> None:
    """Or before the end of its turn; nothing else shows that no event will come."""
    held = item(type="message", role="user", content=[{"type": "input_text", "text": "go"}])
    items = PromptItems(None)
    items.hold(Record(0, held), "go", "t1")
    found = items.due({"payload": payload})
    assert (found is not None, items.is_held) == (is_due, not is_due)
    assert found is None or found[1] == "go"


def test_a_prompt_or_pictures_that_are_held_back_are_pending() -> None:
    """What was held at the end of a file is shown when it is known to be complete."""
    adapter = AGENTS["codex"].adapter(Origin(Identity(SessionKey("codex", "s")), Path("/nowhere/s")))
    seen = []
    prompt = item(type="message", role="user", content=[{"type": "input_text", "text": "go"}])
    for n, row in enumerate([meta(), prompt, item(type="reasoning", summary=[]), prompt]):
        adapter.feed(Record(n * 100, row))
        seen.append(adapter.has_pending())
    assert seen == [False, True, False, True]
    assert payloads(adapter.finish(), ev.USER_MESSAGE) == [{"text": "go"}]


@each(
    "named",
    [
        context(turn_id="t1"),
        {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "t1"}},
        {"type": "event_msg", "payload": {"type": "turn_started", "turn_id": "t1"}},
    ],
)
def test_a_turn_goes_on_until_another_one_is_named(named: Row) -> None:
    """Records that name none belong to the last one; one that names another does so alone."""
    said = item(type="message", role="assistant", content=[{"type": "output_text", "text": "hi"}])
    late = {"type": "response_item", "payload": said["payload"] | {"turn_id": "t0"}}
    events = translated("codex", meta(), said, named, said, late, said)
    assert [event.turn for event in events if event.kind == ev.ASSISTANT_MESSAGE] == ["", "t1", "t0", "t1"]

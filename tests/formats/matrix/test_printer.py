"""Events for a Matrix room: what is written of which evidence, and how the lines refer to each other."""

import base64
import hashlib
import json
from functools import cache
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.agents import AGENTS
from katod.errors import SourceError
from katod.events import Event, SessionRef
from katod.formats.matrix.lines import REFERENCE, transaction
from katod.formats.matrix.names import PREFIX, ROWS, STATES, UNTHREADED, WRITTEN
from katod.formats.matrix.printer import MatrixPrinter
from katod.formats.matrix.values import canonical
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey
from katod.record.export import Stretch, render_all, replay
from tests.examples import examples
from tests.formats.schemas import fields
from tests.golden.cases import cases
from tests.looping import each
from tests.oracle.corpus import READERS, corpus_sources
from tests.support.anyevents import conversations
from tests.support.records import Claude
from tests.support.translated import translated

LARGEST = 60_000
AT = "2026-02-10T22:36:18.000Z"
MODEL = "claude-opus-4-6"
MS = 1770762978000
SAVING = Options(attachments="save", thinking=True, tools="full")
TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "string[]": list, "object[]": list}
# Keys without `katod_` that the protocol does not have: what is said of a text that is uploaded, and inputs as text.
MORE = {"m.relates_to", "size_bytes", "sha256", "input_json"}


# -- building and reading ------------------------------------------------------------------------------


class Talk:
    """Events of one session, each a second after the one before, and the lines that are written of them."""

    def __init__(self, agent="claude", subagent="", start=True):
        self.agent, self.subagent, self.events = agent, subagent, []
        if start:
            self.add(ev.SESSION_START, cwd="/home/me/shop", branch="main", cliVersion="2.1.39")

    def add(self, kind, /, by="", source=None, model="", blobs=(), time=True, turn="", **payload):
        n = len(self.events)
        ref = SessionRef(self.agent, "s", by or self.subagent)
        at = f"2026-02-10T22:36:{18 + n:02}.000Z" if time else ""
        source = {"providerEventType": kind, "providerEventId": f"n{n}", "offset": n} | (source or {})
        self.events.append(
            Event(f"{self.agent}:s:{n}:0", kind, ref, payload, source, at, turn=turn, model=model, blobs=blobs)
        )
        return self

    def user(self, text="Hello", **more):
        return self.add(ev.USER_MESSAGE, text=text, **more)

    def says(self, text="Hi", message="m1", model="claude-opus-4-6", **more):
        return self.add(ev.ASSISTANT_MESSAGE, text=text, source={"messageId": message}, model=model, **more)

    def calls(self, name="Bash", call="c1", family="execute", message="m1", given=None, **more):
        payload = {"toolCallId": call, "name": name, "family": family, "input": given or {}} | more
        return self.add(ev.TOOL_CALL, source={"messageId": message}, model="claude-opus-4-6", **payload)

    def result(self, text="ok", call="c1", **more):
        return self.add(ev.TOOL_RESULT, toolCallId=call, text=text, **more)

    def runs(self, command, text, **more):
        return self.calls(given={"command": command}).result(text, **more)

    def text(self, options=SAVING, state=None, marks=()):
        """Return what is written, with a restart before each event."""
        metadata, out = SessionMetadata(SessionKey(self.agent, "s", self.subagent)), ""
        for number, event in enumerate(self.events):
            shown = MatrixPrinter(options, json.loads(json.dumps(state)) if state is not None else None)
            if number in marks:
                shown.mark(Mark("resumed"))
            metadata.observe(event)
            out += shown.event(event, metadata)
            metadata.close(event)
            state = shown.state()
        shown = MatrixPrinter(options, state)
        return out + shown.pause() + shown.end()

    def rows(self, name="", **more):
        """Return the lines, checked; of one name, only their contents."""
        rows = checked(self.text(**more))
        return [row["content"] for row in rows if row["type"] == f"{PREFIX}.{name}"] if name else rows

    def names(self, **more):
        return [row["type"].removeprefix(f"{PREFIX}.") for row in self.rows(**more)]

    def one(self, name, **more):
        [content] = self.rows(name, **more)
        return content


def replies_to(content):
    return content["m.relates_to"]["m.in_reply_to"]["event_id"]


def said(content, *names):
    """Return the fields of the protocol in a content without those that all have, or those of these names."""
    hidden = ("session_id", "m.relates_to", "katod_source")
    return {key: content[key] for key in names} if names else {k: v for k, v in content.items() if k not in hidden}


def checked(text):
    """Return the lines of an output after checking what holds for all of them."""
    rows = [json.loads(row) for row in text.split("\n") if row]
    assert text == "" or text.endswith("\n")
    assert not rows or rows[0]["type"] == f"{PREFIX}.session.start"
    before = set()
    for row in rows:
        check(row, before)
        assert row["txn_id"] not in before
        before.add(row["txn_id"])
    return rows


def check(row, before):
    """Check one line, given the transactions of those before it."""
    name, content = row["type"].removeprefix(f"{PREFIX}."), row["content"]
    assert name in WRITTEN
    assert row.get("state_key") == ("" if name in STATES else None)
    assert set(row) <= {"txn_id", "type", "state_key", "content", "large"}
    assert len(canonical(content)) <= LARGEST - 1_000
    relates = content.get("m.relates_to")
    assert (relates is None) == (name in UNTHREADED)
    if relates:
        assert relates["rel_type"] == "m.thread"
        named = [relates["event_id"]] + ([replies_to(content)] if "m.in_reply_to" in relates else [])
        assert all(known.startswith(REFERENCE) and known.removeprefix(REFERENCE) in before for known in named)
    check_value(content, 0)
    check_fields(content, fields()[name])
    for large in row.get("large", ()):
        check_large(large, content)


def check_value(value, depth):
    assert depth <= 50
    assert value is not None or depth > 1  # in what a tool was given
    assert not isinstance(value, float)
    if isinstance(value, int):
        assert abs(value) < 2**53
    elif isinstance(value, str):
        assert "\0" not in value
        value.encode()
    elif isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            check_value(inner, depth + 1)


def check_fields(content, known):
    for key, value in content.items():
        wanted = known.get(key)
        if wanted is None:
            assert key.startswith("katod_") or key in MORE
        elif isinstance(wanted, list):
            assert value in wanted
        else:
            assert isinstance(value, TYPES[wanted])


def check_large(large, content):
    holder = content
    for key in large["at"][:-1]:
        holder = holder[key]
    assert holder["sha256"] == large["sha256"]
    assert holder["size_bytes"] == large["size_bytes"]
    assert "mxc_uri" not in holder
    data = large["text"].encode() if "text" in large else base64.b64decode(large["base64"])
    if "text" in large:
        assert large["text"].startswith(holder[large["at"][-1]])
    assert (hashlib.sha256(data).hexdigest(), len(data)) == (large["sha256"], large["size_bytes"])


# -- the protocol ----------------------------------------------------------------------------------------


def test_the_table_has_every_event_of_the_protocol_once():
    """Each with what katod has for it, or the reason why it is not written."""
    assert [row.name for row in ROWS] == list(fields())
    assert len(ROWS) == len({row.name for row in ROWS}) == 42
    assert all(row.why for row in ROWS)


def test_every_written_event_has_a_test_of_its_evidence():
    """A row of the table is a promise."""
    named = {name for test, names in EVIDENCE.items() for name in names if callable(test)}
    assert named == WRITTEN


EVIDENCE = {}


def evidence(*names):
    """Note which events a test shows."""

    def note(test):
        EVIDENCE[test] = names
        return test

    return note


@evidence("session.start")
def test_a_session_starts_with_what_its_agent_records():
    """The start is the first line and the root of the thread; its transaction does not depend on the first event."""
    row = Talk().rows()[0]
    assert row["txn_id"] == transaction("claude:s#session.start")
    assert said(row["content"]) == {
        "working_directory": "/home/me/shop", "timestamp": MS,
        "environment": {"client": "Claude Code", "client_version": "2.1.39"},
        "katod_session": {"agent": "claude", "branch": "main"},
    }  # fmt: skip


def test_a_recording_that_begins_later_starts_with_what_is_known():
    """The same root, the model if an answer named it, and no time: the event is not that of the start."""
    talk = Talk().says().user()
    metadata = SessionMetadata(SessionKey("claude", "s"))
    for event in talk.events:
        metadata.observe(event)
    rows = checked(MatrixPrinter(Options()).event(talk.events[-1], metadata))
    assert rows[0]["txn_id"] == talk.rows()[0]["txn_id"]
    assert said(rows[0]["content"], "working_directory", "model") == {
        "working_directory": "~/shop", "model": "claude-opus-4-6",
    }  # fmt: skip
    assert "timestamp" not in rows[0]["content"]
    assert "turn" not in rows[1]["content"]


def test_a_fork_and_a_sub_agent_name_their_parent():
    """A sub-agent that is a session of its own has the id of the sub-agent, and does not change the state of the room."""
    talk = Talk(subagent="a1").user()
    start = talk.one("session.start")
    assert (start["session_id"], start["katod_session"]["parent"]) == ("a1", "s")
    assert talk.names() == ["session.start", "prompt"]
    fork = Talk(start=False).add(ev.SESSION_START, parent="p")
    assert fork.one("session.start")["katod_session"]["parent"] == "p"


@evidence("session.end")
def test_a_session_ends_only_where_the_agent_says_so():
    """With its totals, as the whole session was seen."""
    talk = (
        Talk().user().add(ev.USAGE, scope="session", input=9, output=3, costUsd=0.5).add(ev.SESSION_END, reason="quit")
    )
    assert said(talk.one("session.end")) == {
        "reason": "quit", "duration_ms": 3000, "total_input_tokens": 9, "total_output_tokens": 3, "turns": 1,
        "totalCost": "0.500000", "currency": "USD",
    }  # fmt: skip
    assert "session.end" not in Talk().user().says().names()


@evidence("session.exported")
def test_only_the_export_of_a_session_says_that_it_was_exported():
    """A recording goes on, and is the same as its export in all other lines."""
    talk = Talk().user()
    exported = talk.text(options=Options(exported=True))
    assert exported.startswith(talk.text(options=Options()))
    last = checked(exported)[-1]
    assert last["type"] == f"{PREFIX}.session.exported"
    assert said(last["content"]) == {"format": "matrix"}
    assert MatrixPrinter(Options(exported=True)).end() == ""


@evidence("session.active")
def test_the_state_of_the_room_follows_prompts_and_turns():
    """It is written where it changes, and says that it is derived."""
    talk = Talk().user().user().add(ev.TURN_END, reason="done").add(ev.TURN_START)
    rows = talk.rows("session.active")
    assert [row["status"] for row in rows] == ["running", "idle", "running"]
    assert all(row["katod_derived"] and row["started_at"] == MS for row in rows)


@each("agent", ["claude", "pi"])
def test_the_state_of_the_room_is_that_of_the_session(agent):
    """Also where no turn ends by a record of its own; the usage of the last answer is not lost by that."""
    said, used = Talk(agent).user().says(stopReason="end_turn"), {"scope": "message", "output": 5}
    said = said if agent == "claude" else Talk(agent).user().says()
    talk = said.add(ev.USAGE, source={"messageId": "m1"}, **used).user("More")
    states = [status for status, _ in groupby(row["status"] for row in talk.rows("session.active"))]
    assert states == ["running", "idle", "running"]
    assert talk.one("response")["output_tokens"] == 5
    blocked = Talk(agent).user().calls().add(ev.DECISION_PROMPT, decisionId="c1:0", decisionKey="k", prompt="Which?")
    assert {row["status"] for row in blocked.rows("session.active")} == {"running"}, "it waits, but is not over"


def test_context_is_no_prompt():
    """It is not sent at all, and what comes after it answers the prompt before."""
    talk = Talk().user().user("Rules of this project", subtype="context").says()
    assert [row["text"] for row in talk.rows("prompt")] == ["Hello"]
    assert replies_to(talk.one("response")) == REFERENCE + transaction("claude:s:1:0")


@evidence("prompt", "input.image", "input.document")
def test_a_prompt_has_its_attachments():
    """Each image and document is an event that answers the prompt, with its content to be uploaded."""
    data = base64.b64encode(b"picture").decode()
    digest = hashlib.sha256(b"picture").hexdigest()
    image = {"type": "image", "mediaType": "image/png", "bytes": 7, "sha256": digest}
    paper = {"type": "document", "mediaType": "application/pdf", "name": "plan.pdf", "bytes": 5}
    talk = Talk().user("Look", attachments=[image, paper], turn="p1", blobs=((digest, "image/png", data),))
    prompt = talk.one("prompt")
    assert said(prompt) == {
        "prompt_id": "p1", "turn": 1, "role": "user", "text": "Look",
        "images": [{"media_type": "image/png", "size_bytes": 7, "sha256": digest}],
        "documents": [{"media_type": "application/pdf", "filename": "plan.pdf", "size_bytes": 5}],
    }  # fmt: skip
    [row] = [row for row in talk.rows() if row["type"].endswith("input.image")]
    assert [large["base64"] for large in row["large"]] == [data]
    assert talk.one("input.document")["filename"] == "plan.pdf"
    assert replies_to(row["content"]) == REFERENCE + transaction("claude:s:1:0")
    assert "base64" not in talk.text(options=Options(attachments="name"))


def test_what_was_typed_within_one_turn_are_prompts_of_their_own():
    """Each has another id; where the agent names no turn, the id is that of the record."""
    talk = Talk().user(turn="p1").user(turn="p1").user()
    assert [(row["prompt_id"], row["turn"]) for row in talk.rows("prompt")] == [("p1", 1), ("n2", 2), ("n3", 3)]


def test_commands_of_the_client_are_no_prompts():
    """What comes after one answers no prompt."""
    talk = Talk().user().user("/review", subtype="slash-command").says()
    assert [row["text"] for row in talk.rows("prompt")] == ["Hello"]
    assert "m.in_reply_to" not in talk.one("response")["m.relates_to"]
    assert "prompt_id" not in talk.one("response")


def test_what_a_parent_asks_of_a_sub_agent_in_its_file_is_no_prompt():
    """What the sub-agent says is marked, and answers nothing of the person's."""
    talk = Talk().user().user("Look", by="a1").says(by="a1").calls().add(ev.TURN_END, reason="done", by="a1")
    assert len(talk.rows("prompt")) == 1
    answer = talk.one("response")
    assert (answer["session_id"], answer["katod_subagent"]) == ("s", "a1")
    assert "m.in_reply_to" not in answer["m.relates_to"]
    assert [row.get("model") for row in talk.rows("session.active")] == [None, MODEL]


@evidence("response")
def test_a_response_has_the_usage_that_comes_right_after_it():
    """It answers its prompt."""
    talk = (
        Talk()
        .user()
        .says(stopReason="end_turn")
        .add(ev.USAGE, source={"messageId": "m1"}, scope="message", input=1, output=2, cacheRead=3, cacheWrite=4)
    )
    assert said(talk.one("response")) == {
        "prompt_id": "n1", "turn": 1, "text": "Hi", "stop_reason": "end_turn", "input_tokens": 1, "output_tokens": 2,
        "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4,
    }  # fmt: skip
    assert replies_to(talk.one("response")) == REFERENCE + transaction("claude:s:1:0")


@each("usage", [{"scope": "turn"}, {"scope": "message", "source": {"messageId": "m2"}}])
def test_usage_of_something_else_is_not_that_of_the_response(usage):
    """Nor is usage that comes after something else."""
    assert "output_tokens" not in Talk().user().says().add(ev.USAGE, output=2, **usage).one("response")
    late = Talk().user().says().user().add(ev.USAGE, scope="message", output=2, source={"messageId": "m1"})
    assert "output_tokens" not in late.one("response")


def test_usage_may_come_before_the_text_of_its_message():
    """Claude Code completes it with the thinking. Where messages have no names, it would be that of another one."""
    talk = Talk().add(ev.ASSISTANT_THINKING, text="Hm", source={"messageId": "m1"})
    talk.add(ev.USAGE, source={"messageId": "m1"}, scope="message", output=2).says().says()
    assert [row.get("output_tokens") for row in talk.rows("response")] == [2, None]
    other = Talk("codex").calls().add(ev.USAGE, scope="message", output=2).result().says()
    assert "output_tokens" not in other.one("response")


def test_an_answer_waits_with_its_calls():
    """Unless results come before the usage: then the answers of this turn do not wait for it any more."""
    usage = {"scope": "message", "output": 2, "source": {"messageId": "m1"}}
    assert Talk().says().calls().add(ev.USAGE, **usage).one("response")["output_tokens"] == 2

    def late(talk):
        talk.says().calls("Bash", "c1").result().add(ev.USAGE, **usage).says(message="m2").calls(
            "Bash", "c2", message="m2"
        )
        return talk

    def waiting(talk):
        shown, metadata = MatrixPrinter(Options()), SessionMetadata(SessionKey("claude", "s"))
        return "".join(shown.event(event, metadata) for event in talk.events).count("claude.tool.call")

    assert waiting(Talk().user().says().calls()) == 0
    assert waiting(late(Talk().user())) == 2
    assert waiting(late(Talk().user()).user().says(message="m3").calls(message="m3")) == 2


def test_a_response_is_held_back_only_where_usage_is_recorded():
    """An agent without usage has its answers written at once, and so has a text that is too large for the state."""

    def state(talk):
        shown = MatrixPrinter(Options())
        for event in talk.events:
            shown.event(event, SessionMetadata(SessionKey(talk.agent, "s")))
        return shown.state()

    assert "held" in state(Talk().says())
    assert "held" not in state(Talk("cursor").says())
    assert "held" not in state(Talk().says("x" * 100_000))


@each(("agent", "given", "counts"), [
    ("claude", {"input": 9, "output": 5, "cacheRead": 4, "reasoning": 2}, (9, 5)),
    ("codex", {"input": 9, "output": 5, "cacheRead": 4, "reasoning": 2}, (5, 5)),
    ("opencode", {"input": 9, "output": 5, "cacheRead": 4, "reasoning": 2}, (9, 7)),
])  # fmt: skip
def test_tokens_are_counted_as_claude_counts_them(agent, given, counts):
    """Input without what came from the cache, output with the thinking, whatever the agent's own counts contain."""
    talk = Talk(agent).says().add(ev.USAGE, source={"messageId": "m1"}, scope="message", **given)
    assert tuple(said(talk.one("response"), "input_tokens", "output_tokens").values()) == counts


@evidence("response.interrupted")
def test_an_aborted_turn_has_its_last_text():
    """It answers the last response; without one, the prompt."""
    talk = Talk().user().says("Everything begins").add(ev.TURN_END, reason="aborted")
    content = talk.one("response.interrupted")
    assert said(content, "prompt_id", "partial_text", "timestamp") == {
        "prompt_id": "n1", "partial_text": "Everything begins", "timestamp": MS + 3000,
    }  # fmt: skip
    assert replies_to(content) == REFERENCE + transaction("claude:s:2:0")
    silent = Talk().user().add(ev.TURN_END, reason="aborted").one("response.interrupted")
    assert "partial_text" not in silent


@evidence("thinking")
def test_thinking_may_have_no_text():
    """Where only an encrypted form is kept, that is said."""
    talk = Talk().user().add(ev.ASSISTANT_THINKING, text="Hm").add(ev.ASSISTANT_THINKING, text="", encrypted="gAAA")
    [first, second] = map(said, talk.rows("thinking"))
    assert first == {"prompt_id": "n1", "thinking_text": "Hm"}
    assert second == {"prompt_id": "n1", "katod_encrypted": True}


@evidence("tool.call", "tool.result")
def test_a_call_answers_its_response_and_a_result_its_call():
    """How long it took is derived from the times, unless it is recorded."""
    talk = Talk().user().says().calls(given={"command": "ls"}).result("a.py", exitCode=0)
    call, result = talk.one("tool.call"), talk.one("tool.result")
    assert said(call) == {
        "prompt_id": "n1", "tool_use_id": "c1", "tool_name": "Bash", "tool_source": "builtin", "input": {"command": "ls"},
    }  # fmt: skip
    assert replies_to(call) == REFERENCE + transaction("claude:s:2:0")
    assert said(result) == {
        "tool_use_id": "c1", "tool_name": "Bash", "tool_source": "builtin", "output": "a.py", "exit_code": 0,
        "is_error": False, "duration_ms": 1000, "katod_derived_fields": ["duration_ms"],
    }  # fmt: skip
    assert replies_to(result) == REFERENCE + transaction("claude:s:3:0")
    measured = Talk().calls().result(durationMs=7).one("tool.result")
    assert (measured["duration_ms"], "katod_derived_fields" in measured) == (7, False)


def test_a_call_of_another_message_answers_the_prompt():
    """A result without its call says what it can."""
    talk = Talk().user().says(message="m1").calls(message="m2")
    assert replies_to(talk.one("tool.call")) == REFERENCE + transaction("claude:s:1:0")
    assert said(Talk().result("late").one("tool.result")) == {"tool_use_id": "c1", "output": "late", "is_error": False}


@each(("given", "sent"), [
    ({"x": 1.5}, {"input_json": '{"x":1.5}'}),
    ({"x": 2**60}, {"input_json": '{"x":1152921504606846976}'}),
    (["a"], {"input_json": '["a"]'}),
    ("*** Begin Patch", {"input": {"text": "*** Begin Patch"}}),
    ({"x": [None, True, "a\0b"]}, {"input": {"x": [None, True, "ab"]}}),
])  # fmt: skip
def test_an_input_is_never_rounded(given, sent):
    """What Matrix does not take as it is, is sent as JSON."""
    content = Talk().calls("Tool", family="other", given=given).one("tool.call")
    assert {key: content[key] for key in ("input", "input_json") if key in content} == sent


@evidence("approval.response", "tool.error")
def test_a_refused_call_has_a_decision_and_an_error():
    """Instead of a result; what the person said is the note."""
    text = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse the other"
    )
    talk = Talk().calls().result(text, isError=True, denied=True)
    assert said(talk.one("approval.response")) == {
        "tool_use_id": "c1", "decision": "denied", "note": "use the other", "timestamp": MS + 2000,
    }  # fmt: skip
    error = talk.one("tool.error")
    assert said(error, "error_type", "error_message") == {"error_type": "permission_denied", "error_message": text}
    assert "tool.result" not in talk.names()


def test_a_call_that_timed_out_is_an_error():
    """As Claude Code notes beside the result; other failures are results."""
    make = Claude()
    extra = {"stdout": "", "timedOutAfterMs": 120_000}
    talk = Talk(start=False)
    talk.events = translated("claude", make.runs("c1", "sleep 999"), make.result("c1", "…", toolUseResult=extra))
    assert talk.one("tool.error")["error_type"] == "timeout"
    assert Talk().calls().result("Exit code 1", isError=True, exitCode=1).one("tool.result")["is_error"] is True


def test_a_denial_that_the_client_notes_is_one():
    """By a person; what a rule denied, or the client could not decide, failed, and its kind is kept."""
    make = Claude()
    for kind, denied in (("user-rejected", True), ("permission-rule", False), ("automode-unavailable", False)):
        result = make.result("c1", "No.", error=True, toolDenialKind=kind)
        events = translated("claude", make.runs("c1", "rm x"), result)
        assert (events[-1].payload.get("denied") or False) is denied
        assert events[-1].payload.get("code") == (None if denied else kind)


@evidence("approval.request")
def test_approvals_are_written_where_the_agent_records_them():
    """The answer refers to the request, and is said once even if the result says it again."""
    about = {"toolCallId": "c1", "requestId": "r1"}
    talk = Talk("copilot").calls().add(ev.PROVIDER_INFO, text="", subtype="permission-requested", data=about)
    talk.add(ev.PROVIDER_INFO, text="", subtype="permission-completed", data=about | {"kind": "approved"}).result()
    assert said(talk.one("approval.request")) == {"tool_use_id": "c1", "tool_name": "Bash", "tool_source": "builtin"}
    answer = talk.one("approval.response")
    assert (answer["decision"], replies_to(answer)) == ("approved", REFERENCE + transaction("copilot:s:2:0"))
    denied = Talk("copilot").calls().add(ev.PROVIDER_INFO, text="", subtype="permission-requested", data=about)
    denied.add(ev.PROVIDER_INFO, text="", subtype="permission-completed", data=about | {"kind": "denied-by-rules"})
    assert denied.result("no", denied=True).one("approval.response")["decision"] == "denied"


@evidence("mcp.tool.call", "mcp.tool.result", "mcp.server.connected")
def test_calls_of_mcp_servers_have_events_of_their_own():
    """The first one shows that the server is connected."""
    talk = Talk()
    for call in ("c1", "c2"):
        talk.calls("mcp__github__list", call, "mcp", given={"n": 1}, server="github").result("[]", call)
    assert talk.names().count("mcp.server.connected") == 1
    assert said(talk.one("mcp.server.connected")) == {"server_name": "github", "katod_derived": True}
    call, result = talk.rows("mcp.tool.call")[0], talk.rows("mcp.tool.result")[0]
    assert said(call, "mcp_server", "tool_name", "input") == {
        "mcp_server": "github",
        "tool_name": "list",
        "input": {"n": 1},
    }
    assert said(result, "mcp_server", "tool_name", "output") == {
        "mcp_server": "github", "tool_name": "list", "output": {"text": "[]"},
    }  # fmt: skip


def test_servers_that_the_client_notes_are_connected():
    """Once, although their tools are named a little differently."""
    make = Claude()
    names = {"type": "mcp_instructions_delta", "addedNames": ["claude.ai Linear", 7], "addedBlocks": ["…"]}
    talk = Talk(start=False)
    talk.events = translated(
        "claude", make.record("attachment", attachment=names), make.calls("c1", "mcp__claude_ai_Linear__x")
    )
    assert said(talk.one("mcp.server.connected")) == {"server_name": "claude.ai Linear"}


@evidence("mcp.prompt.used")
def test_a_prompt_of_a_server_is_a_command_with_its_name():
    """The arguments are as they were typed."""
    talk = Talk().user("/mcp__github__pr__review 17", subtype="slash-command")
    assert said(talk.one("mcp.prompt.used")) == {
        "mcp_server": "github", "prompt_name": "pr__review", "arguments": {"text": "17"},
    }  # fmt: skip


@evidence("mcp.resource.read")
def test_a_resource_is_read_when_its_tool_succeeded():
    """A failed call reads nothing."""
    given = {"server": "github", "uri": "repo://a"}
    talk = Talk().calls("ReadMcpResourceTool", family="read", given=given)
    assert "mcp.resource.read" not in talk.names()
    assert said(talk.result().one("mcp.resource.read")) == {"mcp_server": "github", "resource_uri": "repo://a"}
    failed = Talk().calls("ReadMcpResourceTool", family="read", given=given).result(isError=True)
    assert "mcp.resource.read" not in failed.names()


@evidence("file.change", "memory.write")
def test_a_change_is_what_the_agent_keeps_beside_the_edit():
    """Paths are relative to the project; a memory file is also memory."""
    file = {
        "path": "/home/me/shop/CLAUDE.md",
        "change": "add",
        "added": 2,
        "removed": 0,
        "ranges": [[1, 2]],
        "after": "ab",
    }
    talk = Talk().calls("Write", family="edit").result(structured={"files": [file]})
    change = talk.one("file.change")
    assert said(change) == {
        "tool_use_id": "c1", "change_type": "created", "path": "CLAUDE.md", "lines_added": 2, "lines_removed": 0,
        "after_hash": "sha256:ab", "katod_ranges": [[1, 2]],
    }  # fmt: skip
    assert replies_to(change) == REFERENCE + transaction("claude:s:1:0")
    assert said(talk.one("memory.write")) == {"file_path": "CLAUDE.md", "scope": "project", "after_hash": "sha256:ab"}
    failed = Talk().calls("Write", family="edit").result(structured={"files": [file]}, isError=True)
    assert "file.change" not in failed.names()


@evidence("memory.read")
def test_memory_is_read_by_tools_and_by_the_client():
    """The client's own note has the hash of what it gave to the model."""
    talk = Talk().calls("Read", family="read", given={"file_path": "/home/me/.claude/CLAUDE.md"}).result()
    assert said(talk.one("memory.read")) == {"file_path": "/home/me/.claude/CLAUDE.md", "scope": "user"}
    make = Claude()
    note = {"type": "nested_memory", "path": "/x/CLAUDE.md", "content": {"type": "Project", "content": "Be brief."}}
    talk.events = translated("claude", make.record("attachment", attachment=note))
    digest = hashlib.sha256(b"Be brief.").hexdigest()
    assert said(talk.one("memory.read")) == {
        "file_path": "/x/CLAUDE.md", "scope": "project", "size_bytes": 9, "content_hash": f"sha256:{digest}",
    }  # fmt: skip


@evidence("git.commit")
def test_a_commit_is_what_git_printed():
    """With its counts; otherwise what the agent recorded."""
    text = "[main ab12cd3] Add login\n 2 files changed, 5 insertions(+), 1 deletion(-)\n"
    assert said(Talk().runs("git commit -m x", text).one("git.commit")) == {
        "commit_hash": "ab12cd3", "branch": "main", "message": "Add login", "insertions": 5, "deletions": 1,
    }  # fmt: skip
    recorded = {"git": {"commit": {"sha": "ab12cd3", "kind": "amend"}}}
    quiet = Talk().runs("git commit -qm x", "", structured=recorded)
    assert said(quiet.one("git.commit")) == {"commit_hash": "ab12cd3", "katod_kind": "amend"}
    assert Talk().runs("git commit -m x", text, structured=recorded).names().count("git.commit") == 1


@evidence("git.branch")
def test_a_branch_is_switched_where_the_recorded_one_changes():
    """What the agent itself says of a branch is used, too, if its word is known."""
    talk = Talk().add(ev.CONFIG_CHANGE, what="branch", before="main", after="login")
    assert said(talk.one("git.branch")) == {"action": "switched", "branch_name": "login", "from_branch": "main"}
    made = Talk().runs("git branch x", "", structured={"git": {"branch": {"ref": "x", "action": "created"}}})
    assert said(made.one("git.branch")) == {"action": "created", "branch_name": "x"}


@evidence("git.diff.viewed")
def test_a_diff_was_viewed_if_all_of_it_was_printed():
    """It is derived from the command and its output."""
    diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    assert said(Talk().runs("git diff --staged", diff).one("git.diff.viewed")) == {
        "diff_type": "staged", "files_in_diff": ["a.py"], "lines_added": 1, "lines_removed": 1, "katod_derived": True,
    }  # fmt: skip


@evidence("context.summarized")
def test_a_compaction_has_the_summary_that_comes_after_it():
    """And the number of turns in it, which katod counted."""
    talk = Talk().user().add(ev.COMPACTION, trigger="auto", tokensBefore=9, tokensAfter=3)
    talk.add(ev.CONFIG_CHANGE, what="title", after="x").add(
        ev.SYSTEM_MESSAGE, text="So far…", subtype="compact-summary"
    )
    assert said(talk.one("context.summarized")) == {
        "tokens_before": 9, "tokens_after": 3, "katod_trigger": "auto", "turns_summarized": 1, "summary_text": "So far…",
        "katod_derived_fields": ["turns_summarized"],
    }  # fmt: skip
    assert "summary_text" not in Talk().add(ev.COMPACTION).user().one("context.summarized")


@evidence("error", "context.overflow")
def test_errors_have_the_types_that_are_known():
    """A prompt that is too long is an error, and an overflow."""
    talk = Talk().add(ev.ERROR, message="Overloaded", httpStatus=529, retry={"attempt": 1, "max": 10, "afterMs": 535.6})
    assert said(talk.one("error")) == {
        "error_message": "Overloaded", "error_type": "api_error", "http_status": 529, "retryable": True,
        "retry_after_ms": 536,
    }  # fmt: skip
    full = Talk().add(ev.ERROR, message="prompt is too long: 200001 tokens > 200000 maximum", code="invalid_request")
    assert full.one("error")["error_type"] == "invalid_request"
    assert said(full.one("context.overflow")) == {"token_count": 200001, "token_limit": 200000}


@each(("given", "kind"), [
    ({"httpStatus": 429}, "rate_limit"), ({"httpStatus": 401}, "authentication_error"),
    ({"httpStatus": 400}, "invalid_request"), ({"code": "rate_limit"}, "rate_limit"),
    ({"message": "Connection error."}, "network_failure"), ({"message": "Request timed out"}, "timeout"), ({}, None),
])  # fmt: skip
def test_an_error_of_unknown_type_has_none(given, kind):
    """The status decides, then the code, then the message."""
    assert Talk().add(ev.ERROR, **{"message": "?"} | given).one("error").get("error_type") == kind


@evidence("safety.blocked")
def test_a_refusal_blocks_a_prompt_once():
    """Even if the client notes both the refusal and the model that answers instead."""
    make, talk = Claude(), Talk(start=False)
    refusal = {"subtype": "api_refusal", "content": "Refused.", "apiRefusalCategory": "policy"}
    fallback = {"subtype": "model_refusal_fallback", "content": "Switched."}
    talk.events = translated(
        "claude", make.user("Do"), make.record("system", **refusal), make.record("system", **fallback)
    )
    content = talk.one("safety.blocked")
    assert said(content, "block_reason", "category") == {"block_reason": "policy_violation", "category": "policy"}
    assert replies_to(content)
    assert "safety.blocked" in Talk().user().says(stopReason="refusal").names()


@evidence("config.change", "permission.change")
def test_settings_change_as_recorded_and_models_as_they_answer():
    """A model that the agent announces is not said again when it answers; titles are no settings."""
    talk = Talk().says().says(model="claude-haiku-4-5")
    assert said(talk.one("config.change")) == {
        "changes": {"model": {"before": "claude-opus-4-6", "after": "claude-haiku-4-5"}}, "katod_derived": True,
    }  # fmt: skip
    told = (
        Talk().says().add(ev.CONFIG_CHANGE, what="model", before="opus", after="haiku").says(model="claude-haiku-4-5")
    )
    assert said(told.one("config.change")) == {"changes": {"model": {"before": "opus", "after": "haiku"}}}
    other = (
        Talk().add(ev.CONFIG_CHANGE, what="title", after="x").add(ev.CONFIG_CHANGE, what="permissionMode", after="plan")
    )
    assert said(other.one("permission.change")) == {"changes": {"mode": {"after": "plan"}}}
    assert "config.change" not in other.names()


@evidence("usage.checkpoint")
def test_a_turn_ends_with_a_checkpoint_of_what_was_used():
    """Sums over messages; what the agent says of the session replaces them. Only after something was used."""
    talk = Talk().user()
    for _ in range(2):
        talk.says().add(ev.USAGE, source={"messageId": "m1"}, scope="message", input=1, output=2, cacheRead=3)
    talk.add(ev.TURN_END, reason="done").add(ev.TURN_END, reason="done")
    assert said(talk.one("usage.checkpoint")) == {
        "checkpoint_index": 1, "cumulative_input_tokens": 2, "cumulative_output_tokens": 4,
        "cumulative_cache_read_tokens": 6, "timestamp": MS + 6000,
    }  # fmt: skip
    talk.add(ev.USAGE, scope="session", input=7, output=8, costUsd=0.0123456).user()
    last = talk.rows("usage.checkpoint")[-1]
    assert said(last, "checkpoint_index", "cumulative_input_tokens", "cumulativeCost", "currency") == {
        "checkpoint_index": 2, "cumulative_input_tokens": 7, "cumulativeCost": "0.0123456", "currency": "USD",
    }  # fmt: skip


def test_nothing_is_counted_after_a_gap():
    """What was not recorded may have had turns and tokens of its own."""
    talk = Talk().user().user().says().add(ev.USAGE, source={"messageId": "m1"}, scope="message", output=2)
    talk.add(ev.TURN_END, reason="done")
    assert ["turn" in row for row in talk.rows("prompt", marks=(2,))] == [True, False]
    assert talk.one("usage.checkpoint", marks=(2,))["katod_partial"] is True


@evidence("agent.spawn", "agent.result")
def test_a_sub_agent_starts_with_its_call_and_ends_with_its_result():
    """The id is known when it ends."""
    given = {"prompt": "Look at the tests.", "model": "haiku"}
    talk = Talk().calls("Task", family="agent", given=given).result("One test.")
    talk.add(ev.AGENT_END, subagent="a1", status="completed", source={"providerEventId": "n2", "offset": 2})
    spawn, result = talk.one("agent.spawn"), talk.one("agent.result")
    assert said(spawn) == {
        "parent_session_id": "s", "task": "Look at the tests.", "model": "haiku", "katod_tool_use_id": "c1",
    }  # fmt: skip
    assert said(result) == {
        "parent_session_id": "s", "child_session_id": "a1", "result": "One test.", "status": "success",
        "duration_ms": 1000, "katod_derived_fields": ["duration_ms"], "katod_tool_use_id": "c1",
    }  # fmt: skip
    assert replies_to(result) == REFERENCE + transaction("claude:s:1:0")
    assert not {"tool.call", "tool.result"} & set(talk.names())


def test_a_sub_agent_in_the_background_ends_when_its_answer_comes():
    """That it was launched is the result of the call; its end answers the call, too."""
    talk = Talk().calls("Agent", family="agent").result("Launched.", status="launched")
    talk.add(ev.AGENT_START, subagent="a1", source={"providerEventId": "n2", "offset": 2}).user()
    talk.add(ev.AGENT_END, subagent="a1", status="failed", result="No.")
    assert [name for name in talk.names() if "agent" in name] == ["agent.spawn", "agent.result"]
    assert talk.one("tool.result")["output"] == "Launched."
    result = talk.one("agent.result")
    assert (result["status"], replies_to(result)) == ("failure", REFERENCE + transaction("claude:s:1:0"))


def test_a_sub_agent_that_is_recorded_within_its_call_is_said_once():
    """As in Copilot: its end comes before the result of the call, which has the words."""
    talk = Talk("copilot").calls("task", "t1", "agent").add(ev.AGENT_START, subagent="t1", task="x")
    talk.add(ev.AGENT_END, subagent="t1", status="completed").result("Done.", "t1")
    assert [name for name in talk.names() if "agent" in name] == ["agent.spawn", "agent.result"]
    assert said(talk.one("agent.result"), "child_session_id", "status", "result") == {
        "child_session_id": "t1", "status": "success", "result": "Done.",
    }  # fmt: skip


def test_a_sub_agent_without_a_call_has_the_agents_own_records():
    """As in reviews that the client starts by itself."""
    talk = (
        Talk("codex").add(ev.AGENT_START, subagent="a1", task="Review").add(ev.AGENT_END, subagent="a1", status="odd")
    )
    assert said(talk.one("agent.spawn")) == {"parent_session_id": "s", "child_session_id": "a1", "task": "Review"}
    result = talk.one("agent.result")
    assert (result["katod_status"], replies_to(result)) == ("odd", REFERENCE + transaction("codex:s:1:0"))


# -- what a recording shows --------------------------------------------------------------------------------


NONE, SHORT = Options(tools="none"), Options()  # the second one is what a recording shows by default


def telling():
    """Return a session that tells of each thing of which an option decides whether it is shown; secret words have an S."""
    file = {"path": "a.py", "change": "add", "added": 1, "after": "Sha"}
    diff = "diff --git a/S.py b/S.py\n--- a/S.py\n+++ b/S.py\n@@ -1,1 +1,1 @@\n-Sx\n+Sy\n"
    talk = Talk("copilot").user("typed").add(ev.ASSISTANT_THINKING, text="Sthought")
    talk.says("said").calls("Write", family="edit", given={"file_path": "a.py", "content": "Sgiven"})
    talk.result("Sgot", structured={"files": [file]}, exitCode=0, status="ok")
    talk.calls("mcp__hub__list", "c2", "mcp", given={"query": "short", "Skey": {"a": "Sdeep"}}, server="hub")
    talk.result("Sgot", "c2").runs("git diff", diff).runs("git commit -m x", "[main ab12cd3] subject\nSbelow")
    talk.calls("Bash", "c3", given={"command": "first line\nSsecond line"})
    asked = {"toolCallId": "c3", "intention": "Swish"}
    talk.add(ev.PROVIDER_INFO, text="", subtype="permission-requested", data=asked)
    talk.add(ev.PROVIDER_INFO, text="", subtype="permission-completed", data=asked | {"kind": "approved"})
    talk.result("Swrong", "c3", isError=True, exitCode=3).calls("Bash", "c4").result("Slate", "c4", status="timeout")
    talk.calls("Task", "c5", "agent", given={"description": "look", "prompt": "Stask", "model": "Smodel"})
    talk.says("Sinner", by="a1").calls("Bash", "c6", by="a1").result("Sreport", "c5")
    talk.add(ev.AGENT_END, subagent="a2", status="completed", result="report")
    talk.calls("Read", "c7", "read", given={"file_path": "/x/CLAUDE.md"}).result("Sgot", "c7")
    talk.calls("Edit", "c8", "edit", given={"file_path": "CLAUDE.md", "old_string": "S", "new_string": "S\nS"})
    talk.result("ok", "c8").add(ev.COMPACTION, trigger="auto", tokensBefore=9)
    return talk.add(ev.SYSTEM_MESSAGE, text="Ssummary", subtype="compact-summary").user(
        "/mcp__hub__say hi", subtype="slash-command"
    )


ABOUT_TOOLS = {row.name for row in ROWS if row.needs in ("tools", "full")}


def test_without_thinking_there_is_none():
    """Whatever is shown of tools; with the option, it is there."""
    for tools in ("none", "summary", "full"):
        shown = telling().text(options=Options(tools=tools))
        assert ("claude.thinking" in shown, "Sthought" in shown) == (False, False)
        assert "Sthought" in telling().text(options=Options(tools=tools, thinking=True))


def test_without_tools_nothing_says_that_there_were_any():
    """No call, result, approval, file, commit or sub-agent; what was said and typed is there."""
    rows = telling().rows(options=NONE)
    assert [row["type"].removeprefix(f"{PREFIX}.") for row in rows] == [
        "session.start", "prompt", "session.active", "response", "session.active", "context.summarized",
        "mcp.prompt.used",
    ]  # fmt: skip
    assert "S" not in str([row["content"].get("text", "") for row in rows])
    assert ABOUT_TOOLS & set(telling().names(options=NONE)) == set()


def test_a_summary_says_what_the_line_of_a_transcript_says():
    """Neither what a tool was given beside that, nor what it returned, nor what a sub-agent was asked and did."""
    talk = telling()
    text = talk.text(options=SHORT)
    assert [word for word in text.split('"') if word.startswith("S")] == []
    assert "Sdeep" not in text
    assert "Ssecond" not in text
    calls = {row["tool_use_id"]: row for row in talk.rows("tool.call", options=SHORT)}
    assert said(calls["c3"]) == {
        "prompt_id": "n1", "tool_use_id": "c3", "tool_name": "Bash", "tool_source": "builtin",
        "katod_summary": "first line … +1 line",
    }  # fmt: skip
    assert calls["c8"]["katod_summary"] == "CLAUDE.md (+1 −0)"  # noqa: RUF001 - a minus
    assert talk.one("mcp.tool.call", options=SHORT)["katod_summary"] == "short"
    assert talk.one("agent.spawn", options=SHORT)["katod_summary"] == "look"
    failed = next(row for row in talk.rows("tool.result", options=SHORT) if row["is_error"])
    assert said(failed) == {
        "tool_use_id": "c3", "tool_name": "Bash", "tool_source": "builtin", "is_error": True, "exit_code": 3,
        "duration_ms": 3000, "katod_derived_fields": ["duration_ms"],
    }  # fmt: skip
    assert said(talk.one("git.commit", options=SHORT)) == {
        "commit_hash": "ab12cd3",
        "branch": "main",
        "message": "subject",
    }
    assert "git.diff.viewed" not in talk.names(options=SHORT)
    assert set(talk.names(options=SHORT)) == set(talk.names(options=SAVING)) - {"git.diff.viewed", "thinking"}


def test_the_answer_of_a_sub_agent_is_shown_as_in_a_transcript():
    """With all of the tools, or with an option of its own; its start and end in any case but none."""

    def results(**options):
        return [row.get("result") for row in telling().rows("agent.result", options=Options(**options))]

    assert results() == [None, None]
    assert results(subagent_reports=True) == [None, "report"]
    assert results(tools="full") == ["Sreport", "report"]
    assert results(tools="none", subagent_reports=True) == []


def test_a_list_of_things_to_do_is_summarised_by_what_changed():
    """As in a transcript."""
    talk = Talk()
    for status in ("pending", "completed"):
        given = {"todos": [{"content": "Test", "status": status}, {"content": "Ship", "status": "pending"}]}
        talk.calls("TodoWrite", family="think", given=given)
    assert [row["katod_summary"] for row in talk.rows("tool.call", options=SHORT)] == ["2 items: Test · Ship", "☑ Test"]


def test_the_switches_of_a_range_decide_in_it():
    """A result whose call was not shown answers nothing; a restart in between changes nothing."""
    talk = (
        Talk("cursor")
        .calls()
        .add(ev.ASSISTANT_THINKING, text="Hm")
        .result("got")
        .calls("Bash", "c2")
        .result("hidden", "c2")
    )
    switched = {2: (("thinking", True), ("tools", True)), 4: (("tools", False),)}
    metadata, text, state = SessionMetadata(SessionKey("cursor", "s")), "", None
    for number, event in enumerate(talk.events):
        shown = MatrixPrinter(NONE, json.loads(json.dumps(state)))
        if number in switched:
            shown.mark(Mark("resumed", switches=switched[number]))
        text, state = text + shown.event(event, metadata), shown.state()
    rows = checked(text)
    names = [row["type"].removeprefix(f"{PREFIX}.") for row in rows]
    assert [name for name in names if name not in STATES] == ["session.start", "thinking", "tool.result"]
    assert "m.in_reply_to" not in rows[-1]["content"]["m.relates_to"]


def test_a_request_that_was_cancelled_was_not_denied():
    """Nobody recorded a decision."""
    about = {"toolCallId": "c1"}
    talk = Talk("copilot").calls().add(ev.PROVIDER_INFO, text="", subtype="permission-requested", data=about)
    talk.add(ev.PROVIDER_INFO, text="", subtype="permission-completed", data=about | {"kind": "cancelled"})
    assert "approval.response" not in talk.names()


# -- for any conversation ----------------------------------------------------------------------------------


def test_the_prefix_is_an_option_of_the_format():
    """One that would make types too long for a server is refused."""
    shown = MatrixPrinter(Options(), prefix="org.example.ai.codex")
    talk = Talk()
    row = json.loads(shown.event(talk.events[0], SessionMetadata(SessionKey("claude", "s"))))
    assert row["type"] == "org.example.ai.codex.session.start"
    with pytest.raises(ValueError, match="255 bytes"):
        MatrixPrinter(Options(), prefix="x" * 240)


@pytest.mark.slow
@examples(3, 1_000)
@given(events=conversations())
def test_any_conversation_gives_events_that_a_server_takes(events):
    """Each line fits, has the protocol's types, and refers to earlier ones; a restart anywhere changes nothing."""
    for options in (SAVING, SHORT, NONE):
        goes_through(events, options)


def goes_through(events, options):
    """Check what is written of events, at once and with a restart before each."""
    talk = Talk(start=False)
    talk.events = events
    whole, metadata = MatrixPrinter(options), SessionMetadata(SessionKey("claude", "s"))
    text = ""
    for event in events:
        metadata.observe(event)
        text += whole.event(event, metadata)
        metadata.close(event)
    text += whole.pause()
    checked(text)
    assert talk.text(options=options) == text


LONG = st.sampled_from(["x", "é", "\n", "\x01", "🙂"]).map(lambda char: char * 70_000)


@examples(3, 300)
@given(text=LONG, name=LONG | st.just("Bash"), given=st.dictionaries(st.just("a"), LONG | st.lists(LONG, max_size=2)))
def test_whatever_is_long_fits_into_its_event(text, name, given):
    """The whole text is beside it, to be uploaded."""
    talk = Talk().user(text).add(ev.ASSISTANT_THINKING, text=text).says(text).calls(name, given=given).result(text)
    talk.add(ev.COMPACTION, summary=text).add(ev.ERROR, message=text, code=text)
    talk.calls("Task", "c2", "agent", given={"prompt": text}).result(text, "c2")
    rows = {row["type"].removeprefix(f"{PREFIX}."): row for row in talk.rows()}
    for kind in ("prompt", "thinking", "response", "tool.result", "context.summarized", "error", "agent.spawn"):
        assert [large["text"] for large in rows[kind]["large"]] == [text]


@cache
def _written(case, options=SAVING):
    return "".join(render_all(case.events(), "matrix", options))


@pytest.mark.parametrize("agent", sorted(READERS))
def test_every_fixture_gives_events_that_a_server_takes(agent):
    """With the types and values of the protocol."""
    for case in cases():
        if case.agent == agent:
            checked(_written(case))


DETAILS = {
    "input",
    "input_json",
    "output",
    "error_message",
    "task",
    "description",
    "katod_images",
    "thinking_text",
    "summary_text",
}


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted(READERS))
def test_every_fixture_is_shown_as_its_recording_shows_it(agent):
    """What is left refers only to what is left, too."""
    for case in cases():
        if case.agent == agent:
            for options in (NONE, SHORT):
                rows = {row["txn_id"]: row for row in checked(_written(case, options))}
                about = {row["type"].removeprefix(f"{PREFIX}.") for row in rows.values()}
                assert about & (ABOUT_TOOLS if options is NONE else {"thinking", "git.diff.viewed"}) == set()
                assert all(DETAILS & set(row["content"]) <= {"error_message"} for row in rows.values())
                assert rows.keys() <= {row["txn_id"] for row in checked(_written(case))}


@pytest.mark.slow
@pytest.mark.parametrize("agent", sorted({source.agent for source in corpus_sources()} or READERS))
def test_real_sessions_give_events_that_a_server_takes(agent):
    """As their exports are written, with their pictures."""
    for source in corpus_sources():
        if source.agent == agent and (text := exported(source)):
            checked(text)


def exported(source):
    """Return the events of a session file, empty for a file that is none."""
    identity = AGENTS[source.agent].named(source.path.absolute())
    try:
        return "".join(
            render_all(replay(identity.key, [Stretch(str(source.path), identity)], EventLog()), "matrix", SAVING)
        )
    except SourceError:
        return ""


# -- what is known is said ---------------------------------------------------------------------------------


def test_the_state_of_the_room_names_the_model_once_it_is_known():
    """The first answer says which it is; another one says so, too."""
    talk = Talk().user().says("a").says("b", model="other")
    states = [(row["status"], row.get("model")) for row in talk.rows("session.active")]
    assert states == [("running", None), ("running", MODEL), ("running", "other")]


def test_a_sub_agent_in_the_file_of_its_parent_has_the_tokens_of_its_answers():
    """Their sum, whether its call or its end says the result; one in a file of its own has its own checkpoints."""
    used = {"scope": "message", "input": 10, "output": 2, "source": {"messageId": "x"}, "by": "a1"}
    talk = Talk("copilot").user().calls("task", family="agent").add(ev.AGENT_START, subagent="a1", task="look")
    talk.add(ev.USAGE, **used).add(ev.USAGE, **used).add(ev.AGENT_END, subagent="a1", status="completed")
    assert said(talk.result("found").one("agent.result"), "input_tokens", "output_tokens") == {
        "input_tokens": 20, "output_tokens": 4,
    }  # fmt: skip
    alone = Talk("copilot").user().add(ev.AGENT_START, subagent="a1").add(ev.USAGE, **used)
    assert alone.add(ev.AGENT_END, subagent="a1").one("agent.result")["output_tokens"] == 2
    apart = Talk().user().add(ev.AGENT_START, subagent="a1").add(ev.AGENT_END, subagent="a1").one("agent.result")
    assert "output_tokens" not in apart


@each("size, data", [
    ((3, 5), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\3\0\0\0\5\x08\6\0\0\0"),
    ((3, 5), b"GIF89a\3\0\5\0\0\0\0"),
    ((3, 5), b"\xff\xd8\xff\xe0\0\4ab\xff\xc0\0\x0b\x08\0\5\0\3\1\1\x11\0"),
    ((3, 5), b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\2\0\0\4\0\0"),
    ((3, 5), b"RIFF\0\0\0\0WEBPVP8L\5\0\0\0\x2f" + (2 | 4 << 14).to_bytes(4, "little") + b"\0" * 5),
    ((3, 5), b"RIFF\0\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\1\x2a\3\0\5\0"),
    (None, b"\x89PNG\r\n\x1a\n"), (None, b"\xff\xd8\xff\xc0"), (None, b"GIF89a"), (None, b"RIFF"), (None, b"text"),
])  # fmt: skip
def test_an_image_says_how_large_it_is(size, data):
    """By its first bytes, if the event carries them; what they do not say is left out."""
    digest = hashlib.sha256(data).hexdigest()
    row = {"type": "image", "mediaType": "image/png", "bytes": len(data), "sha256": digest}
    blobs = ((digest, "image/png", base64.b64encode(data).decode()),)
    shown = Talk().user("see", attachments=[row], blobs=blobs).one("input.image")
    assert (shown.get("width"), shown.get("height")) == (size or (None, None))
    assert "width" not in Talk().user("see", attachments=[row]).one("input.image")


def test_a_server_is_connected_with_the_tools_that_the_client_names():
    """Claude Code lists those that it loads later; a server that is known is not connected again."""
    names = ["mcp__shop__add", "mcp__shop__drop", "mcp__web__get", "Task", "mcp__", "mcp__x", 7]
    record = {"type": "attachment", "uuid": "u1", "attachment": {"type": "deferred_tools_delta", "addedNames": names}}
    [event] = translated("claude", record)
    talk = Talk().user()
    talk.add(event.kind, **event.payload).add(
        ev.PROVIDER_INFO, text="web", subtype="mcp-servers", data={"servers": ["web"]}
    )
    found = [(row["server_name"], row["tools_available"]) for row in talk.rows("mcp.server.connected")]
    assert found == [("shop", ["add", "drop"]), ("web", ["get"])]


@each("message, status, kind", [
    ("deepseek: http 401: ...", 401, "authentication_error"), ("500: Internal server error", 500, "api_error"),
    ('529 {"type":"error"}', 529, "api_error"), ("API Error: 429 too many", 429, "rate_limit"),
    ('[API Error: {"error":{"code":400,"message":"x"}}]', 400, "invalid_request"), ("status code 503", 503, "api_error"),
    ("port 404 is taken", None, None), ("took 500 ms", None, None), ("4290 tokens", None, None),
])  # fmt: skip
def test_the_status_of_an_error_may_be_in_its_message(message, status, kind):
    """Where it can be nothing else; that it was taken from there is said."""
    found = Talk().user().add(ev.ERROR, message=message).one("error")
    assert (found.get("http_status"), found.get("error_type")) == (status, kind)
    assert found.get("katod_derived_fields") == (["http_status"] if status else None)


def test_a_recorded_status_counts():
    """OpenCode keeps it beside the message."""
    found = Talk().user().add(ev.ERROR, message="500: no", httpStatus=429).one("error")
    assert (found["http_status"], "katod_derived_fields" in found) == (429, False)


def test_a_permission_says_what_it_is_for_and_a_refusal_why():
    """In the words of the agent, and in those of the person."""
    data = {"requestId": "r", "toolCallId": "c1"}
    asked = {"text": "", "subtype": "permission-requested", "data": data | {"intention": "Clean up"}}
    decided = {
        "text": "",
        "subtype": "permission-completed",
        "data": data | {"kind": "denied-interactively-by-user", "note": "no"},
    }
    talk = Talk("copilot").user().calls().add(ev.PROVIDER_INFO, **asked).add(ev.PROVIDER_INFO, **decided)
    assert talk.one("approval.request")["description"] == "Clean up"
    assert (talk.one("approval.response")["decision"], talk.one("approval.response")["note"]) == ("denied", "no")


@each("cwd, shown", [
    ("/home/me/dev/shop", "~/dev/shop"), ("/Users/me/shop", "~/shop"), ("/root/shop/", "~/shop/"), ("/home/me", "~"),
    ("C:\\Users\\me\\dev\\shop", "~/dev/shop"), ("/srv/me/shop", "shop"), ("/", "/"), ("D:\\work\\shop", "shop"),
])  # fmt: skip
def test_a_room_is_not_told_whose_directory_it_is(cwd, shown):
    """Only with all of the tools, whose input has it in any case."""
    talk = Talk(start=False).add(ev.SESSION_START, cwd=cwd).user()
    assert talk.one("session.start", options=SHORT)["working_directory"] == shown
    assert talk.one("session.start")["working_directory"] == cwd


@each("before, after, change", [
    ("/home/me/shop", "/home/me/shop/web", {"before": "~/shop", "after": "web"}),
    ("/home/me/shop", "/tmp/me", {"before": "~/shop", "after": "me"}),
    ("/home/me/shop/web", "/home/me/shop", {"before": "web", "after": "~/shop"}),
])  # fmt: skip
def test_another_directory_is_relative_to_the_first(before, after, change):
    """And nothing of it says whose it is, either."""
    talk = Talk().user().add(ev.CONFIG_CHANGE, what="cwd", before=before, after=after)
    assert talk.one("config.change", options=SHORT)["changes"] == {"working_directory": change}
    assert talk.one("config.change")["changes"] == {"working_directory": {"before": before, "after": after}}


def test_no_path_of_a_change_says_whose_it_is():
    """In a summary, those outside of the project are below `~`."""
    files = [{"path": "/home/me/.claude/CLAUDE.md", "change": "update"}]
    talk = Talk().user().calls("Edit", family="edit").result(structured={"files": files})
    assert talk.one("file.change", options=SHORT)["path"] == "~/.claude/CLAUDE.md"
    assert talk.one("memory.write", options=SHORT)["file_path"] == "~/.claude/CLAUDE.md"


def test_usage_in_a_record_of_its_own_is_that_of_the_answer_before_it():
    """As zot records it: neither names the answer."""
    talk = Talk("zot").user().says(message="").add(ev.USAGE, scope="message", input=3, output=2)
    assert talk.one("response")["output_tokens"] == 2

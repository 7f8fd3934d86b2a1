"""ATIF: a conversation as a trajectory of steps."""

import copy
import json
import subprocess
import sys
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event, SessionRef
from katod.formats.atif import document as atif
from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, render_all, replay
from tests.examples import examples
from tests.formats.schemas import schema
from tests.looping import each
from tests.oracle.corpus import READERS, corpus_sources, fixture_sources
from tests.support.anyevents import conversations
from tests.support.records import Claude, line
from tests.support.rendering import rendered

SPOKEN = (ev.USER_MESSAGE, ev.SYSTEM_MESSAGE, ev.ASSISTANT_MESSAGE, ev.TOOL_RESULT)
AT = "2026-02-10T22:36:18.000Z"


# -- building and reading ------------------------------------------------------------------------------


class Talk:
    """Events of one conversation, each of a record of its own; `on` names the message that the next ones are of."""

    def __init__(self, agent="claude", subagent=""):
        self.agent, self.subagent, self.events, self.named = agent, subagent, [], ""

    def add(self, kind, /, by=None, source=None, **payload):
        source = {"offset": len(self.events)} | ({"messageId": self.named} if self.named else {}) | (source or {})
        ref = SessionRef(self.agent, "s", self.subagent if by is None else by)
        self.events.append(Event(f"{self.agent}:s:{len(self.events)}", kind, ref, payload, source, AT, model="m-1"))
        return self

    def on(self, name):
        self.named = name
        return self

    def user(self, text="go", **more):
        return self.add(ev.USER_MESSAGE, text=text, **more)

    def says(self, text, **more):
        return self.add(ev.ASSISTANT_MESSAGE, text=text, **more)

    def thinks(self, text):
        return self.add(ev.ASSISTANT_THINKING, text=text)

    def calls(self, call, name="Bash", family="execute", given=None, **more):
        given = {"command": "ls"} if given is None else given
        return self.add(ev.TOOL_CALL, toolCallId=call, name=name, family=family, input=given, **more)

    def result(self, call, text="ok", **more):
        return self.add(ev.TOOL_RESULT, toolCallId=call, text=text, **more)

    def used(self, scope="message", **counts):
        return self.add(ev.USAGE, scope=scope, **counts)

    def document(self, name="atif", **options):
        return json.loads(rendered(name, self.events, Options(**options)))

    def steps(self):
        return [shown(step) for step in self.document()["steps"]]

    def metrics(self):
        return [step.get("metrics") for step in self.document()["steps"]]


def shown(step):
    """Return what was said in a step, without times and models."""
    return {name: value for name, value in step.items() if name not in ("step_id", "timestamp", "model_name")}


def agent(message="", **more):
    return {"source": "agent", "message": message} | more


def person(message="go"):
    return {"source": "user", "message": message}


def call_of(call, arguments=None):
    return {"tool_call_id": call, "function_name": "Bash", "arguments": arguments or {"command": "ls"}}


def results(*rows):
    return {"results": [{"source_call_id": call, "content": text} for call, text in rows]}


@cache
def validator(version="1.7"):
    """Return what checks a document; 1.7 is 1.8 without the parts that are sound."""
    if version == "1.8":
        return schema("atif-1.8")
    definitions = copy.deepcopy(schema("atif-1.8").schema)
    del definitions["$defs"]["AudioSource"]
    part = definitions["$defs"]["ContentPart"]["properties"]
    part["type"]["enum"].remove("audio")
    part["source"]["anyOf"].remove({"$ref": "#/$defs/AudioSource"})
    assert "udio" not in json.dumps(definitions)
    return Draft202012Validator(definitions)


def check(document, version="1.7"):
    """Check a document by its schema, and by the rules that a schema cannot say."""
    validator(version).validate(document)
    assert document["schema_version"] == f"ATIF-v{version}"
    embedded = document.get("subagent_trajectories", [])
    names = [trajectory["trajectory_id"] for trajectory in embedded]
    assert len(set(names)) == len(names)
    for trajectory in (document, *embedded):
        assert [step["step_id"] for step in trajectory["steps"]] == [n + 1 for n, _ in enumerate(trajectory["steps"])]
        assert trajectory["final_metrics"]["total_steps"] == len(trajectory["steps"])
        for step in trajectory["steps"]:
            _check_step(step, names)


def _check_step(step, names):
    calls = [call["tool_call_id"] for call in step.get("tool_calls", [])]
    assert len(set(calls)) == len(calls)
    own = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"} & step.keys()
    assert step["source"] == "agent" or not own
    assert None not in step.values()
    for result in step.get("observation", {"results": []})["results"]:
        assert result.get("source_call_id", "none") in [*calls, "none"]
        assert {"content", "subagent_trajectory_ref"} & result.keys()
        for ref in result.get("subagent_trajectory_ref", []):
            assert ref.get("trajectory_id") in names or ref["trajectory_path"]


# -- answers -------------------------------------------------------------------------------------------


def test_an_answer_is_one_step_with_the_results_of_its_calls():
    """Thinking, text, calls and results of one message are one step, even if they alternate."""
    talk = Talk().user().on("m1").thinks("Hm.").says("Let me look.").calls("a").on("").result("a", "one")
    talk.on("m1").calls("b").on("").result("b", "two").on("m2").says("Done.")
    known = {"reasoning_content": "Hm.", "tool_calls": [call_of("a"), call_of("b")]}
    first = agent("Let me look.", **known, observation=results(("a", "one"), ("b", "two")))
    assert talk.steps() == [person(), first, agent("Done.")]


def test_answers_without_names_are_those_of_one_record():
    """Where messages have no ids, the parts of an answer are of one record."""
    talk = Talk("pi").user()
    talk.says("Let me look.", source={"offset": 9}).calls("a", source={"offset": 9}).result("a").says("Done.")
    first = agent("Let me look.", tool_calls=[call_of("a")], observation=results(("a", "ok")))
    assert talk.steps() == [person(), first, agent("Done.")]


@each("usage_first", [True, False])
def test_an_answer_of_items_ends_with_its_usage_or_where_results_follow(usage_first):
    """Codex names each item; its usage comes before or after the results."""
    talk = Talk("codex").user().on("i1").says("Let me look.").on("i2").calls("a").on("i3").calls("b").on("")
    talk = talk.used(output=1) if usage_first else talk
    talk.result("a").result("b")
    talk = talk if usage_first else talk.used(output=1)
    talk.says("Done.").used(output=2)
    known = {"tool_calls": [call_of("a"), call_of("b")], "observation": results(("a", "ok"), ("b", "ok"))}
    one, two = ({"metrics": {"completion_tokens": count}, "llm_call_count": 1} for count in (1, 2))
    assert talk.steps() == [person(), agent("Let me look.", **known, **one), agent("Done.", **two)]


def test_without_usage_an_answer_of_items_ends_with_its_results():
    """Older sessions of Codex have none."""
    talk = Talk("codex").calls("a").result("a").calls("b").result("b").says("Done.")
    assert [len(step.get("tool_calls", [])) for step in talk.steps()] == [1, 1, 0]


def test_an_answer_whose_results_come_between_its_calls_ends_with_its_usage():
    """OpenCode writes each call with its result, and the usage last."""
    talk = Talk("opencode").user().calls("a").result("a").calls("b").result("b").used(output=1).calls("c")
    assert [len(step.get("tool_calls", [])) for step in talk.steps()] == [0, 2, 1]


def test_what_is_said_meanwhile_comes_after_the_answer():
    """A message that is queued while a tool runs does not separate the result from its call."""
    talk = Talk().user().on("m1").calls("a").on("").add(ev.SYSTEM_MESSAGE, text="note").user("and?").result("a", "one")
    talk.on("m2").says("Done.")
    first = agent(tool_calls=[call_of("a")], observation=results(("a", "one")))
    note = {"source": "system", "message": "note"}
    assert talk.steps() == [person(), first, note, person("and?"), agent("Done.")]


def test_a_result_after_the_next_answer_is_a_step_of_its_own():
    """It names its call without referring to it: a reference is to a call of the same step."""
    talk = Talk().on("m1").calls("a").on("m2").says("Meanwhile.").on("").result("a", "late", isError=True)
    own = {"extra": {"katod": {"isError": True, "toolCallId": "a"}}}
    late = {"source": "system", "message": "", "observation": {"results": [{"content": "late"} | own]}}
    assert talk.steps() == [agent(tool_calls=[call_of("a")]), agent("Meanwhile."), late]


def test_calls_without_ids_of_their_own_have_those_of_their_events():
    """Each call is kept, also if another one of the answer has its id."""
    talk = Talk().on("m1").calls("").calls("a").calls("a").on("").result("a")
    [step] = talk.document()["steps"]
    assert [call["tool_call_id"] for call in step["tool_calls"]] == ["claude:s:0", "a", "claude:s:2"]
    assert step["observation"] == results(("a", "ok"))


@each("given, arguments", [("*** Begin", {"input": "*** Begin"}), ([1], {"input": [1]}), ({"a": None}, {"a": None})])
def test_arguments_are_an_object(given, arguments):
    """Any other input is one argument; what is inside stays as it is."""
    [step] = Talk().calls("a", given=given).document()["steps"]
    assert step["tool_calls"][0]["arguments"] == arguments


def test_what_is_held_is_bounded(monkeypatch):
    """If too much waits for a result, it is printed, and the result comes later."""
    monkeypatch.setattr(atif, "MOST_HELD", 1_500)
    talk = Talk().on("m1").calls("a").calls("b").on("").result("a", "x" * 1_000).result("b", "y")
    first, late = talk.steps()
    assert first["observation"] == results(("a", "x" * 1_000))
    assert late["source"] == "system"


def test_thinking_is_told_with_its_subject():
    """What only the provider can read is told as such."""
    talk = Talk().on("m1").add(ev.ASSISTANT_THINKING, text="I look.", subject="Looking")
    talk.add(ev.ASSISTANT_THINKING, text="", encrypted=True)
    assert talk.steps() == [
        agent("", reasoning_content="Looking\n\nI look.", extra={"katod": {"encryptedThinking": True}})
    ]


def test_models_and_effort_are_those_of_the_step():
    """The effort is the latest that the agent recorded; the document names the first model."""
    talk = Talk().add(ev.SESSION_START, effort="low").on("m1").says("a").on("m2")
    talk.add(ev.CONFIG_CHANGE, what="effort", after="high").says("b")
    talk.events[-1] = talk.events[-1]._replace(model="m-2")
    document = talk.document()
    assert [(step["model_name"], step["reasoning_effort"]) for step in document["steps"]] == [
        ("m-1", "low"),
        ("m-2", "high"),
    ]
    assert document["agent"]["model_name"] == "m-1"


@each("time, source, known", [(AT, "", True), (AT, "recorded", True), (AT, "derived", False), ("soon", "", False)])
def test_only_recorded_times_are_told(time, source, known):
    """A time that was taken from a neighbour is not, nor is one that is none."""
    talk = Talk().user()
    talk.events = [event._replace(time=time, time_source=source) for event in talk.events]
    assert ("timestamp" in talk.document()["steps"][0]) == known


# -- usage ---------------------------------------------------------------------------------------------


COUNTS = {"input": 100, "output": 10, "cacheRead": 30, "cacheWrite": 5, "reasoning": 4}


@each("name, prompt, completion", [("claude", 135, 10), ("codex", 100, 10), ("gemini", 100, 14), ("opencode", 135, 14)])
def test_prompts_include_what_was_cached_and_completions_the_reasoning(name, prompt, completion):
    """Whether an agent's own counts include them differs."""
    [metrics] = Talk(name).on("m1").says("a").used(**COUNTS, costUsd=0.5, total=149).metrics()
    extra = {"reasoning_tokens": 4, "cache_creation_input_tokens": 5, "katod": {"total": 149}}
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": 30, "cost_usd": 0.5}
    assert metrics == counts | {"extra": extra}


def test_what_is_not_recorded_is_not_told():
    """An agent that counts only its output has no prompt tokens, and one without counts no metrics."""
    assert Talk().on("m1").says("a").used(output=7).metrics() == [{"completion_tokens": 7}]
    assert Talk().says("a").metrics() == [None]


def test_totals_are_the_sums_of_the_steps():
    """Costs are summed without the traces of binary arithmetic."""
    talk = Talk().on("m1").says("a").used(output=1, costUsd=0.1).on("m2").says("b").used(output=2, input=3, costUsd=0.2)
    assert talk.document()["final_metrics"] == {
        "total_prompt_tokens": 3, "total_completion_tokens": 3, "total_cost_usd": 0.3, "total_steps": 2,
    }  # fmt: skip


def test_what_the_agent_counts_for_the_session_is_the_total():
    """Usage of a turn or of the session is no step's; the latest of the session counts."""
    talk = Talk().on("m1").says("a").used(output=1)
    talk.used("turn", output=5).used("session", output=7).used("session", output=9)
    assert talk.metrics() == [{"completion_tokens": 1}]
    assert talk.document()["final_metrics"]["total_completion_tokens"] == 9


def test_an_answer_that_said_nothing_is_a_step_if_it_was_counted():
    """It is one call of the model."""
    talk = Talk().on("m1").says("a").used(output=1).on("m2").used(output=2)
    assert talk.steps()[1] == agent(metrics={"completion_tokens": 2}, llm_call_count=1)


def test_usage_before_its_answer_belongs_to_it():
    """A stream of zot tells the usage first."""
    assert Talk("zot").user().used(output=1).says("a").metrics() == [None, {"completion_tokens": 1}]


# -- questions, commands and the client ------------------------------------------------------------------


def test_questions_are_asked_once():
    """A question is an argument of its call, and the answer is the result."""
    talk = Talk().on("m1").calls("a", name="AskUserQuestion")
    talk.add(ev.DECISION_PROMPT, decisionId="a:0", decisionKey="Store", prompt="Which?", options=[]).on("")
    talk.result("a", "SQLite").add(ev.DECISION_RESPONSE, decisionId="a:0", selections=["SQLite"])
    [step] = talk.steps()
    assert (step["message"], step["observation"]) == ("", results(("a", "SQLite")))


def test_a_question_that_no_call_asks_is_said():
    """So is its answer, by the person."""
    talk = Talk("codex").add(ev.DECISION_PROMPT, decisionId="x:plan", decisionKey="plan", prompt="The plan", options=[])
    talk.add(ev.DECISION_RESPONSE, decisionId="x:plan", selections=["Yes"], freeText="but quickly")
    assert talk.steps() == [agent("The plan"), person("Yes\nbut quickly")]


def test_what_the_person_typed_is_told_with_katods_commands():
    """The model has read them, too."""
    talk = Talk().add(ev.USER_COMMAND, command="start", options=[], line="::start login").user("Add a page.")
    assert [step["message"] for step in talk.steps()] == ["::start login", "Add a page."]


def test_attachments_are_named_and_not_embedded():
    """With their media types and hashes."""
    file = {"type": "image", "mediaType": "image/png", "bytes": 4, "sha256": "ab"}
    [step] = Talk().user("look", attachments=[file]).steps()
    assert step == person("look") | {"extra": {"katod": {"attachments": [file]}}}


def test_errors_and_compactions_are_steps_of_the_system():
    """What the client says of itself is left out, and counted."""
    talk = (
        Talk().add(ev.ERROR, message="overloaded", httpStatus=529).add(ev.COMPACTION, trigger="auto", summary="So far")
    )
    talk.add(ev.PROVIDER_RAW, rawType="x", raw={}).add(ev.TURN_START).add(ev.TURN_START)
    assert talk.steps() == [
        {"source": "system", "message": "overloaded", "extra": {"katod": {"kind": "error", "httpStatus": 529}}},
        {
            "source": "system",
            "message": "So far",
            "extra": {"katod": {"kind": "context.compaction", "trigger": "auto"}},
        },
    ]
    assert talk.document()["extra"] == {"katod": {"leftOut": {"provider.raw": 1, "turn.start": 2}}}


def test_a_turn_that_was_cut_short_is_told_at_its_answer():
    """Any other end of a turn is not."""
    talk = Talk().on("m1").says("a").on("").add(ev.TURN_END, reason="aborted").on("m2").says("b")
    assert talk.add(ev.TURN_END, reason="done").steps() == [
        agent("a", extra={"katod": {"turnEnd": "aborted"}}),
        agent("b"),
    ]


# -- sub-agents ------------------------------------------------------------------------------------------


def test_a_sub_agent_in_the_session_is_a_trajectory_in_the_document():
    """The result of the call that started it refers to it."""
    talk = Talk("copilot").user().on("m1").calls("a", name="task", family="agent").on("")
    talk.add(ev.AGENT_START, subagent="x", task="helper").user("Help.", by="x").says("Helped.", by="x")
    talk.add(ev.AGENT_END, subagent="x", status="completed").result("a", "Helped.").on("m2").says("Done.")
    document = talk.document()
    check(document)
    ref = {"trajectory_id": "copilot:s/x", "session_id": "s"}
    told = {"extra": {"katod": {"task": "helper", "status": "completed"}}}
    [result] = document["steps"][1]["observation"]["results"]
    assert result == {"source_call_id": "a", "content": "Helped.", "subagent_trajectory_ref": [ref | told]}
    [trajectory] = document["subagent_trajectories"]
    assert trajectory["trajectory_id"] == "copilot:s/x"
    assert "extra" not in document  # nothing is left out
    assert [shown(step) for step in trajectory["steps"]] == [person("Help."), agent("Helped.")]


@each("name, path, session", [("claude", "claude:s/x", "s"), ("opencode", "opencode:x", "x")])
def test_a_sub_agent_with_a_file_of_its_own_is_referred_to_by_its_name(name, path, session):
    """The name is what katod calls it, and the id of its own trajectory."""
    talk = (
        Talk(name).on("m1").calls("a", family="agent").on("").result("a").add(ev.AGENT_END, subagent="x", status="ok")
    )
    document = talk.document()
    check(document)
    told = {"trajectory_path": path, "session_id": session, "extra": {"katod": {"status": "ok"}}}
    assert document["steps"][0]["observation"]["results"][0]["subagent_trajectory_ref"] == [told]
    own = Talk(name, subagent="x") if session == "s" else Talk(name)
    own.user()
    if session == "x":
        own.events = [event._replace(session=SessionRef(name, "x")) for event in own.events]
    assert own.document()["trajectory_id"] == path


def test_what_a_background_sub_agent_answers_later_is_a_step():
    """Its call has a result already."""
    talk = Talk().on("m1").calls("a", family="agent").on("").result("a", "launched")
    talk.add(ev.AGENT_START, subagent="x").on("m2").says("Meanwhile.").on("")
    talk.add(ev.AGENT_END, subagent="x", status="completed", result="Found it.")
    late = talk.document()["steps"][-1]
    [result] = late["observation"]["results"]
    assert (late["source"], result["content"]) == ("system", "Found it.")
    assert result["subagent_trajectory_ref"][0]["trajectory_path"] == "claude:s/x"


def test_what_a_sub_agent_answers_is_told_once():
    """It is the result of a call that has no other; a call that only launched it has another."""
    talk = (
        Talk().on("m1").calls("a", family="agent").on("").add(ev.AGENT_END, subagent="a", status="ok", result="Found.")
    )
    [step] = talk.document()["steps"]
    [result] = step["observation"]["results"]
    assert (result["content"], result["subagent_trajectory_ref"][0]["extra"]) == ("Found.", {"katod": {"status": "ok"}})
    launched = Talk().on("m1").calls("a", family="agent").on("").result("a", "launched")
    launched.add(ev.AGENT_START, subagent="x").add(ev.AGENT_END, subagent="x", status="ok", result="Found.")
    assert [step["source"] for step in launched.steps()] == ["agent", "system"]
    assert rendered("atif", talk.result("a", "So: Found.").events).count("Found.") == 1


def test_too_many_sub_agents_are_left_out(monkeypatch):
    """The document says how many."""
    monkeypatch.setattr(atif, "_MOST_EMBEDDED", 2)
    talk = Talk("copilot").user()
    for number in range(5):
        talk.says("a", by=f"x{number}").says("b", by=f"x{number}")
    document = talk.document()
    check(document)
    assert len(document["subagent_trajectories"]) == 2
    assert document["extra"] == {"katod": {"subagentsLeftOut": 3}}


# -- the document ----------------------------------------------------------------------------------------


def test_the_head_says_where_and_how_the_session_began():
    """The version of the recorder is told only if the options do."""
    told = {"cwd": "/home/me/app", "branch": "main", "repository": "git@x:y.git", "sandbox": "read-only"}
    talk = Talk().add(ev.SESSION_START, cliVersion="2.1.39", title="words", **told).user()
    document = talk.document()
    assert document["agent"] == {"name": "claude-code", "version": "2.1.39", "extra": {"katod": told}}
    assert (document["session_id"], document["trajectory_id"]) == ("s", "claude:s")
    assert "extra" not in document
    assert talk.document(recorder="katod 1.0.0")["extra"] == {"katod": {"recorder": "katod 1.0.0"}}


@each(
    "name, known", [("claude", "claude-code"), ("codex", "codex"), ("gemini", "gemini-cli"), ("copilot", "copilot-cli")]
)
def test_agents_have_the_names_that_readers_know(name, known):
    """A version is required: it is unknown if it is not recorded."""
    assert Talk(name).user().document()["agent"] == {"name": known, "version": "unknown"}


def test_the_versions_differ_in_their_name_only():
    """Nothing that 1.8 added is written."""
    talk = Talk().user().on("m1").calls("a").on("").result("a").on("m2").says("Done.")
    old, new = rendered("atif", talk.events), rendered("atif-1.8", talk.events)
    assert new.replace("ATIF-v1.8", "ATIF-v1.7") == old
    check(json.loads(old), "1.7")
    check(json.loads(new), "1.8")


def test_the_schema_of_1_7_refuses_what_1_8_added():
    """So a document that has it would be noticed."""
    document = Talk().user().document()
    part = {"type": "audio", "source": {"media_type": "audio/wav", "path": "a.wav"}}
    document["steps"][0]["message"] = [part]
    assert validator("1.8").is_valid(document)
    assert not validator("1.7").is_valid(document)


def test_a_session_without_a_conversation_has_no_steps():
    """Nothing is invented for it."""
    assert Talk().add(ev.SESSION_START, cwd="/home/me").document()["steps"] == []


# -- any conversation ------------------------------------------------------------------------------------


NAMES = st.sampled_from(["", "a", "b", "c"])
ANY_AGENT = st.sampled_from(sorted(AGENTS))


@pytest.mark.slow
@examples(3, 600)
@given(conversations(), ANY_AGENT)
def test_any_conversation_is_a_valid_trajectory(events, name):
    """Whatever the events are, and in whatever order; and the events stay as they were."""
    events = [event._replace(session=event.session._replace(agent=name)) for event in events]
    before = copy.deepcopy(events)
    check(json.loads(rendered("atif", events)))
    assert events == before


@examples(3, 1_000)
@given(
    st.lists(st.tuples(st.integers(0, 9), NAMES, NAMES, st.sampled_from(["", "", "x"])), max_size=14),
    ANY_AGENT,
)
def test_nothing_that_was_said_is_lost_or_told_twice(parts, name):
    """Each message and each result is in exactly one step."""
    talk = Talk(name).user("begin")
    kinds = (ev.USER_MESSAGE, ev.SYSTEM_MESSAGE, ev.ASSISTANT_MESSAGE, ev.TOOL_CALL, ev.TOOL_RESULT, ev.USAGE, ev.ERROR)
    for number, (which, message, call, speaker) in enumerate(parts):
        payload = {"text": f"<{number}>", "toolCallId": call, "name": "t", "scope": "message", "output": 1}
        talk.on(message).add(kinds[which % len(kinds)], by=speaker, **payload)
    text = rendered("atif", talk.events)
    spoken = [event.payload["text"] for event in talk.events if event.kind in SPOKEN]
    assert [words for words in spoken if text.count(words) != 1] == []
    assert sum(len(step.get("tool_calls", [])) for step in all_steps(json.loads(text))) == sum(
        event.kind == ev.TOOL_CALL for event in talk.events
    )


def all_steps(document):
    return [step for one in (document, *document.get("subagent_trajectories", [])) for step in one["steps"]]


MEASURE = """
import resource, sys
from pathlib import Path
from katod.agents import AGENTS
from katod.log import EventLog
from katod.model import Options
from katod.record.export import Stretch, render_all, replay
identity = AGENTS["claude"].named(Path(sys.argv[1]))
events = replay(identity.key, [Stretch(sys.argv[1], identity)], EventLog())
size = sum(len(piece) for piece in render_all(events, "atif", Options()))
print(size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


# -- real sessions ---------------------------------------------------------------------------------------


def exported(source, name="atif"):
    """Return the export of a real session, empty if it has no events."""
    identity = AGENTS[source.agent].named(source.path)
    return "".join(render_all(replay(identity.key, [Stretch(str(source.path), identity)], EventLog()), name, Options()))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(READERS))
def test_real_sessions_are_valid_trajectories(name):
    """Each fixture, and each session of the corpus if there is one; results are at their calls."""
    sources = [source for source in (*fixture_sources(), *corpus_sources()) if source.agent == name]
    documents = [json.loads(text) for source in sources if (text := exported(source))]
    for document in documents:
        check(document)
    steps = [step for document in documents for step in all_steps(document)]
    rows = [row for step in steps if "observation" in step for row in step["observation"]["results"]]
    late = [row for row in rows if "source_call_id" not in row]
    assert len(steps) > 10
    assert len(late) <= 2 + len(rows) // 50  # the end of a sub-agent in the background, for example


@pytest.mark.slow
def test_another_program_reads_real_sessions():
    """The models of the package `atif` accept each that has steps; it is tried if it is installed."""
    model = pytest.importorskip("atif").Trajectory
    documents = [json.loads(text) for source in (*fixture_sources(), *corpus_sources()) if (text := exported(source))]
    for document in documents:
        model.model_validate(document)


@pytest.mark.slow
def test_memory_does_not_grow_with_what_sub_agents_say(tmp_path):
    """Their steps wait outside of memory, like those of the session."""
    peaks = []
    for size in (3_000_000, 60_000_000):
        path, make, written = tmp_path / f"{size}.jsonl", Claude(), 0
        more = {"isSidechain": True, "agentId": "x"}
        with path.open("wb") as file:
            file.write(line(make.user("go")))
            while written < size:
                call = f"t{written}"
                said = (make.calls(call, "Bash", command="ls"), make.result(call, "a line of it\n" * 2_000))
                written += sum(file.write(line(record | more)) for record in said)
        out = subprocess.run(
            [sys.executable, "-c", MEASURE, str(path)], capture_output=True, check=True, text=True
        ).stdout
        length, peak = map(int, out.split())
        assert length > size // 4
        peaks.append(peak)
    assert peaks[1] < peaks[0] * 1.5

"""The metadata of a conversation so far."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod import events as ev
from katod.events import Event, SessionRef
from katod.metadata import SessionMetadata
from katod.model import SessionKey

KEY = SessionKey("claude", "s")


def event(kind=ev.USER_MESSAGE, number=1, subagent="", parent="", **more):
    payload = more.pop("payload", {"text": "hi"})
    more.setdefault("typed", kind == ev.USER_MESSAGE)
    return Event(f"claude:s:{number}", kind, SessionRef("claude", "s", subagent, parent), payload, {}, **more)


def call(number, name="Read"):
    return event(ev.TOOL_CALL, number, payload={"toolCallId": f"t{number}", "name": name})


def result(number):
    return event(ev.TOOL_RESULT, number, payload={"toolCallId": f"t{number}", "text": ""})


def start(**payload):
    return event(ev.SESSION_START, payload=payload)


def after(*events, metadata=None):
    metadata = metadata or SessionMetadata(KEY)
    for one in events:
        metadata.observe(one)
        metadata.close(one)
    return metadata


# -- times and the last event ------------------------------------------------------------------------


def test_first_time_is_when_it_started_and_the_last_one_is_now():
    """The first event with a time sets the start, and the latest one the current time; others change neither."""
    metadata = after(event(), event(time="2026-01-01T10:00:00Z"), event(time="2026-01-01T11:00:00Z"), event())
    assert (metadata.started, metadata.time) == ("2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z")


def test_last_event_is_remembered():
    """The id of the latest event is known, even if it is a sub-agent's."""
    assert after(event(number=1), event(number=2, subagent="a")).last == "claude:s:2"


# -- project, version, model -------------------------------------------------------------------------


def test_first_place_stays():
    """Project, branch and version are those of the first session start that has them."""
    metadata = after(start(branch="main"), start(cwd="/one", branch="other", cliVersion="2"), start(cwd="/two"))
    assert (metadata.cwd, metadata.start.branch, metadata.start.version) == ("/one", "main", "2")


def test_parent_and_origin_come_from_the_start():
    """The first session start sets the parent session and the origin."""
    metadata = after(event(ev.SESSION_START, parent="p", payload={"origin": "subagent"}), event(parent="q"))
    assert (metadata.start.parent, metadata.start.origin) == ("p", "subagent")


def test_model_is_the_one_that_spoke_last():
    """The model is that of the latest event with a model."""
    assert after(event(model="one"), event(), event(model="two"), event()).model == "two"


def test_sub_agents_change_nothing_of_their_parent():
    """A sub-agent's model, project and calls are not those of the main thread."""
    metadata = after(
        event(model="opus"),
        event(subagent="a", model="haiku"),
        event(ev.SESSION_START, subagent="a", payload={"cwd": "/elsewhere"}),
        event(ev.TOOL_CALL, subagent="a", payload={"toolCallId": "x", "name": "Bash"}),
    )
    assert (metadata.model, metadata.cwd, metadata.calls) == ("opus", "", {})


def test_sub_agents_own_facts_come_from_its_own_events():
    """In the session of a sub-agent, the sub-agent's events set the metadata."""
    metadata = SessionMetadata(SessionKey("claude", "s", "a"))
    assert after(event(subagent="a", model="haiku"), metadata=metadata).model == "haiku"


# -- calls -------------------------------------------------------------------------------------------


def test_call_is_open_until_its_result_was_seen_by_all():
    """A call's name is known while its result is rendered, and removed afterwards."""
    metadata = after(call(1, "Read"), call(2, "Bash"))
    metadata.observe(result(1))
    assert metadata.calls == {"t1": "Read", "t2": "Bash"}
    metadata.close(result(1))
    assert metadata.calls == {"t2": "Bash"}


def test_result_without_a_call_is_no_error():
    """A result without a known call changes nothing."""
    assert after(result(7)).calls == {}


def test_calls_that_are_never_answered_do_not_pile_up():
    """Of too many open calls, the oldest are removed."""
    metadata = after(*(call(n) for n in range(1000)))
    assert len(metadata.calls) == 256
    assert "t999" in metadata.calls
    assert "t0" not in metadata.calls


# -- the title ---------------------------------------------------------------------------------------


def test_words_that_nobody_typed_here_are_a_draft():
    """What a fork copied from its original names it only as long as nothing was typed in it."""
    metadata = SessionMetadata(KEY)
    metadata.set_title("copied", event(typed=False))
    assert (metadata.title, metadata.best_title) == ("", "copied")
    metadata.set_title("typed", event())
    assert metadata.best_title == "typed"
    assert SessionMetadata(KEY, metadata.state()).best_title == "typed"


def test_title_stays():
    """It is that of the first words that say something, and later ones do not change it."""
    metadata = SessionMetadata(KEY)
    for words in ("", "  \n ", "yes", "first", "second"):
        metadata.set_title(words, event())
    assert metadata.title == "first"


def test_a_list_calls_a_session_by_its_name():
    """Else by its title, a draft of one, or its project and the day on which it began; a name outlives a restart."""
    metadata = after(event(ev.SESSION_START, payload={"cwd": "/home/me/shop"}))
    assert metadata.list_title == f"shop {metadata.started[:10]}".strip()
    metadata.set_title("copied", event(typed=False))
    assert metadata.list_title == "copied"
    metadata.set_title("typed", event())
    assert metadata.list_title == "typed"
    metadata.set_named("Login")
    assert (metadata.list_title, metadata.best_title) == ("Login", "typed")
    assert SessionMetadata(KEY, metadata.state()).list_title == "Login"


@pytest.mark.parametrize(
    ("subtype", "words", "draft"),
    [
        ("slash-command", "/plan-phase 14", "/plan-phase 14"),
        ("slash-command", "/clear", ""),
        ("shell", "ls -l", ""),
        ("context", "the weather", ""),
    ],
)
def test_what_was_typed_for_the_client_is_no_title(subtype, words, draft):
    """A slash command with arguments names a session only as long as no other words do, whoever said them."""
    metadata = SessionMetadata(KEY)
    metadata.set_title(words, event(payload={"text": words, "subtype": subtype}))
    assert (metadata.title, metadata.best_title) == ("", draft)
    metadata.set_title("copied words", event(typed=False))
    assert (metadata.title, metadata.best_title) == ("", "copied words")
    metadata.set_title("/other words", event(payload={"text": "/other words", "subtype": "slash-command"}))
    metadata.set_title("typed words", event())
    assert (metadata.title, metadata.best_title) == ("typed words", "typed words")


def test_a_slash_command_that_tells_what_it_is_about_is_a_title():
    """With a few words of its own; what is typed afterwards does not change it."""
    metadata = SessionMetadata(KEY)
    words = "/brainstorm how to draw the logo"
    metadata.set_title(words, event(payload={"text": words, "subtype": "slash-command"}))
    metadata.set_title("typed words", event())
    assert metadata.title == words


def test_a_plan_that_a_conversation_begins_with_names_it():
    """By its heading; one that comes later, or has none, does not."""
    metadata = SessionMetadata(KEY)
    metadata.set_plan("\n")
    assert metadata.title == ""
    metadata.set_plan("# Login\n\n1. Add a page")
    metadata.set_title("commit and update the changelog", event())
    metadata.set_plan("# Another")
    assert metadata.title == "Login"


def test_fresh_facts_have_no_state():
    """Unknown values are left out of the state."""
    assert SessionMetadata(KEY).state() == {}


EVENTS = st.lists(
    st.one_of(
        st.builds(call, st.integers(0, 4)),
        st.builds(result, st.integers(0, 4)),
        st.builds(
            event,
            number=st.integers(0, 9),
            model=st.sampled_from(["", "m1", "m2"]),
            subagent=st.sampled_from(["", "a"]),
        ),
        st.builds(event, time=st.sampled_from(["", "2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"])),
        st.builds(start, cwd=st.sampled_from(["", "/p", "/q"]), branch=st.sampled_from(["", "main"])),
    ),
    max_size=12,
)


@given(EVENTS, st.data())
def test_facts_go_on_from_their_state(events, draw):
    """Metadata stored as JSON and restored at any point are the same as without the restart."""
    cut = draw.draw(st.integers(0, len(events)))
    state = json.loads(json.dumps(after(*events[:cut]).state()))
    assert after(*events[cut:], metadata=SessionMetadata(KEY, state)).state() == after(*events).state()

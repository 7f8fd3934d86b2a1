"""What all agents share: the spec of an agent, the builder of its events, and the table of its handlers."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Adapter, Ancestors, Branches, EventBuilder, Origin, fingerprint, handles
from katod.agents.fields import attachment
from katod.agents.spec import Nature
from katod.errors import AgentFailed
from katod.events import Event, SessionRef
from katod.model import Identity, Record, SessionKey
from tests.looping import each

UUID = "3f0a4c52-9d1e-4b7a-8c66-0123456789ab"
OTHER = "77777777-9d1e-4b7a-8c66-0123456789ab"
REF = SessionRef("pi", "s1")
PIXEL = "aGVsbG8="


# -- Ancestors ------------------------------------------------------------------------------------


def test_the_oldest_of_too_many_records_without_an_event_is_forgotten():
    """What is below one of the others names its nearest ancestor with an event."""
    known = Ancestors()
    for number in range(20):
        known.take(f"r{number}", f"r{number - 1}" if number else "top", [])
    assert list(known.state()) == [f"r{number}" for number in range(4, 20)]
    assert known.source("r19") == {"parentId": "r19", "ancestorId": "top"}
    assert known.source("r3") == {"parentId": "r3"}
    assert known.source(None) == known.source("") == {}
    told = Event("1", ev.USER_MESSAGE, REF, {"text": "hi"}, {"providerEventId": "told"})
    known.take("told", "r19", [told])
    known.take(None, "r19", [])
    known.take("", "r19", [])
    known.take("first", None, [])
    assert list(known.state().items())[-1] == ("first", "")
    assert "told" not in known.state()


# -- AgentSpec ------------------------------------------------------------------------------------


@each(
    ("agent", "path", "key"),
    [
        ("claude", f"projects/-a/{UUID}.jsonl", (UUID, "")),
        ("claude", f"projects/-a/{UUID}/subagents/agent-x.jsonl", (UUID, "x")),
        ("claude", "projects/-a/agent-x.jsonl", ("agent-x", "x")),
        ("codex", f"sessions/2026/02/10/rollout-2026-02-10T22-36-00-{UUID}.jsonl", (UUID, "")),
        ("codex", f"archived_sessions/rollout-2026-02-10T22-36-00-{UUID}.jsonl.zst", (UUID, "")),
        ("gemini", "tmp/app/chats/session-2026-02-10T22-36-3f0a4c52.jsonl", ("3f0a4c52", "")),
        ("gemini", f"tmp/{'0' * 64}/chats/session-2026-02-10T22-36-3f0a4c52.json", ("3f0a4c52", "")),
        ("gemini", f"tmp/app/chats/{UUID}/look.jsonl", ("3f0a4c52", "look")),
        ("opencode", "opencode.db#ses_1", ("ses_1", "")),
        ("opencode", "a#b/opencode-dev.db#ses_1", ("ses_1", "")),
        ("opencode", "storage/session/p1/ses_1.json", ("ses_1", "")),
        ("cursor", f"projects/a/agent-transcripts/{UUID}/{UUID}.jsonl", (UUID, "")),
        ("cursor", f"projects/a/agent-transcripts/{UUID}.jsonl", (UUID, "")),
        ("cursor", f"projects/a/agent-transcripts/{UUID}/subagents/{OTHER}.jsonl", (UUID, OTHER)),
        ("zot", "sessions/0123456789abcdef/20260210-223600-3f0a4c52.jsonl", ("20260210-223600-3f0a4c52", "")),
        ("copilot", f"session-state/{UUID}/events.jsonl", (UUID, "")),
        ("copilot", f"session-state/{UUID}.jsonl", (UUID, "")),
        ("pi", f"sessions/--home-me-my.app--/2026-02-10T22-36-00-000Z_{UUID}.jsonl", (UUID, "")),
    ],
)
def test_a_session_file_tells_its_session(agent: str, path: str, key: tuple[str, str]) -> None:
    """Agent, session and sub-agent are identified by the path alone."""
    found = AGENTS[agent].identify(Path("/home/me") / path)
    assert found is not None
    assert found.key == (agent, *key)


@each(
    ("agent", "path"),
    [
        ("claude", "projects/-a/notes.md"),
        ("codex", "history.jsonl"),
        ("gemini", "tmp/app/logs.json"),
        ("gemini", "tmp/app/chats/session-2026-02-10T22-36-3f0a4c52.jsonl.unreadable-17"),
        ("gemini", "tmp/app/chats/session-2026-02-10T22-36-3f0a4c52.jsonl.tmp-17"),
        ("gemini", "tmp/app/checkpoint-x.json"),
        ("opencode", "opencode.db"),
        ("opencode", "opencode.db#msg_1"),
        ("opencode", "storage/session_diff/ses_1.json"),
        ("opencode", "storage/message/ses_1/msg_1.json"),
        ("cursor", "projects/a/terminals/1.jsonl"),
        ("zot", "sessions/20260210.jsonl"),
        ("pi", "sessions/--a--/x.txt"),
    ],
)
def test_any_other_file_is_none(agent: str, path: str) -> None:
    """Other files that an agent keeps next to its sessions, and files of other programs, are ignored."""
    assert AGENTS[agent].identify(Path("/home/me") / path) is None


@each("agent", sorted(AGENTS))
def test_a_file_that_was_named_has_an_identity(agent: str) -> None:
    """A file named explicitly is identified wherever it is, by its file name."""
    spec = AGENTS[agent]
    assert spec.named(Path(f"/tmp/whatever{spec.suffixes[0]}")).key.agent == agent


def test_the_registry_knows_agents_by_their_names() -> None:
    """An agent's name is its key in the registry, the configuration, event ids and the ledger."""
    assert [spec.name for spec in AGENTS.values()] == list(AGENTS)


@each(
    ("agent", "known", "typed", "meant"),
    [
        ("claude", UUID, UUID[:6], True),
        ("claude", UUID, UUID, True),
        ("claude", UUID[:8], UUID, False),
        ("gemini", UUID[:8], UUID[:6], True),
        ("gemini", UUID[:8], UUID, True),
        ("gemini", UUID[:8], OTHER, False),
    ],
)
def test_an_id_is_matched_by_its_beginning(agent: str, known: str, typed: str, meant: bool) -> None:
    """A session matches any prefix of its id, and its full id even if the path contains only a prefix."""
    assert AGENTS[agent].matches_id(known, typed) is meant


@each(
    ("agent", "session", "short"),
    [("claude", UUID, UUID), ("opencode", "ses_4ab", "4ab"), ("zot", "20260210-223600-3f0a4c52", "3f0a4c52")],
)
def test_a_short_id_tells_sessions_apart(agent: str, session: str, short: str) -> None:
    """The short id omits the prefix that all ids of an agent share, and the timestamp."""
    assert AGENTS[agent].short_id(session) == short


def test_only_a_container_holds_sessions() -> None:
    """Only an agent that keeps databases has containers and contained sessions."""
    spec = AGENTS["opencode"]
    assert spec.is_contained("/a/opencode.db#ses_1")
    assert spec.is_container("/a/opencode.db")
    assert not spec.is_contained("/a/ses_1.json")
    assert not AGENTS["claude"].is_contained("/a/opencode.db#ses_1")


@each("nature", Nature)
def test_native_ids_imply_times(nature: Nature) -> None:
    """A format with native ids also has times: after a rewrite, resync relies on one of the two."""
    assert nature.has_times or not nature.has_native_ids


# -- EventBuilder ---------------------------------------------------------------------------------


def record(value: dict[str, object] | None = None, offset: int = 7) -> Record:
    """Return a record of type `x`, or with the given value."""
    return Record(offset, {"type": "x"} if value is None else value)


def test_an_event_is_named_by_its_place_where_nothing_else_is_known() -> None:
    """The id consists of session, offset and part; the dedup key omits the session where records are copied."""
    event = EventBuilder(REF).event(ev.USER_MESSAGE, {"text": "hi"}, record(), 2, typed=True)
    assert (event.id, event.dedup_key) == ("pi:s1:@7:2", "pi:s1:@7:2")
    assert event.source == {"providerEventType": "x", "offset": 7}
    assert event.typed
    copied = EventBuilder(REF, dedup_prefix="pi:").event(ev.USER_MESSAGE, {"text": "hi"}, record())
    assert (copied.id, copied.dedup_key) == ("pi:s1:@7:0", "pi:@7:0")


def test_an_event_of_the_builder_is_what_the_constructor_makes() -> None:
    """The builder bypasses the constructor, and the result must be equal."""
    event = EventBuilder(REF).event(ev.TURN_END, {"reason": "done"}, record(), time="t", model="m")
    assert isinstance(event, Event)
    assert event == Event(**event._asdict())
    assert [type(value) for value in event] == [str, str, SessionRef, dict, dict, *[str] * 5, bool, tuple, str, str]


def test_a_session_that_is_renamed_names_its_events_anew() -> None:
    """Events after a rename have the new id: for some sessions the full id is only known from the content."""
    new = EventBuilder(REF)
    new.rename("s2")
    event = new.event(ev.COMPACTION, {}, record())
    assert (event.id, event.session.id) == ("pi:s2:@7:0", "s2")


def test_a_setting_is_told_when_it_changes() -> None:
    """The first value is not reported as a change unless requested; a value that is not text is ignored."""
    new = EventBuilder(REF)
    told = [new.change("model", value, record()) for value in ("a", "a", None, 5, "", "b")]
    assert [len(events) for events in told] == [0, 0, 0, 0, 0, 1]
    assert told[-1][0].payload == {"what": "model", "before": "a", "after": "b"}
    [first] = new.change("title", "t", record(), first=True)
    assert first.payload == {"what": "title", "after": "t"}
    [emptied] = new.change("title", "", record(), emptied=True)
    assert emptied.payload == {"what": "title", "before": "t", "after": ""}


def test_the_data_of_an_attachment_goes_with_the_event_that_has_it() -> None:
    """Attachment data is added once, and only to the event that shows it."""
    new = EventBuilder(REF)
    row = new.attachment("image", "image/png", PIXEL)
    assert row == attachment("image", "image/png", PIXEL)
    plain = new.event(ev.USER_MESSAGE, {"text": "hi"}, record())
    assert plain.blobs == ()
    assert new.event(ev.USER_MESSAGE, {"text": "", "attachments": [row]}, record()).blobs == (
        (row["sha256"], "image/png", PIXEL),
    )
    assert new.event(ev.USER_MESSAGE, {"text": "", "attachments": [row]}, record()).blobs == ()
    again = new.attachment("image", "image/png", PIXEL)
    assert new.attach(plain, [again]).blobs == ((row["sha256"], "image/png", PIXEL),)


def test_an_event_without_an_id_is_known_by_its_words() -> None:
    """Events of the same content have the same fingerprint: rewriting the file changes offsets, and so ids."""
    new = EventBuilder(REF)
    first, second = (new.event(ev.USER_MESSAGE, {"text": "hi"}, record(offset=at)) for at in (1, 2))
    assert first.id != second.id
    assert fingerprint(first) == fingerprint(second)


# -- Adapter and its table ------------------------------------------------------------------------


class Notes(Adapter):
    """An adapter with two kinds of records."""

    ignored = frozenset({"ping"})

    def __init__(self) -> None:
        self.new = EventBuilder(REF)

    @handles("note", "remark")
    def _note(self, record: Record) -> list[Event]:
        return [self.new.event(ev.SYSTEM_MESSAGE, {"text": record.value["text"]}, record)]


class Others(Notes):
    """An adapter derived from another one."""

    @handles("note")
    def _other(self, _record: Record) -> list[Event]:
        return []


def test_marked_methods_are_the_table_of_their_class() -> None:
    """Each marked method is in the handler table of its class under its kinds, and in those derived from it."""
    assert Adapter.handlers == {}
    assert Notes.handlers == {"note": Notes._note, "remark": Notes._note}
    assert Others.handlers == {"note": Others._other, "remark": Notes._note}


def test_a_record_goes_to_its_handler() -> None:
    """A record is dispatched to its handler by its type."""
    events = [event for kind in ("note", "remark") for event in Notes().feed(record({"type": kind, "text": kind}))]
    assert [event.payload["text"] for event in events] == ["note", "remark"]


def test_bookkeeping_is_ignored_and_all_else_is_kept() -> None:
    """Decoding is lossless: every record that is not known to be bookkeeping becomes an event."""
    notes = Notes()
    assert notes.feed(record({"type": "ping"})) == []
    for value, kind in (({"type": "new"}, "new"), ({"type": 5}, "unknown"), ({"type": []}, "unknown"), ({}, "unknown")):
        [event] = notes.feed(record(value))
        assert (event.kind, event.payload) == (ev.PROVIDER_RAW, {"rawType": kind, "raw": value})


def test_what_could_not_be_decoded_is_kept() -> None:
    """A line that could not be decoded is kept as its text, with the reason."""
    [event] = Notes().feed(Record(7, None, 1, "{torn", "not valid JSON"))
    assert event.payload == {"rawType": "not valid JSON", "raw": "{torn"}
    assert event.id == "pi:s1:@7+1:0"


@each("agent", sorted(AGENTS))
def test_every_adapter_of_the_registry_starts_at_version_1(agent: str) -> None:
    """Every adapter has version 1, as nothing is released yet."""
    assert AGENTS[agent].adapter.version == 1


def test_every_agent_says_what_was_typed_and_what_is_its_own():
    """Neither has an answer that is right for all."""
    for spec in AGENTS.values():
        assert spec.adapter.typed_texts({}) == []
        assert spec.adapter.recognises(Path("x"), {}) in (True, False)
    with pytest.raises(NotImplementedError):
        Adapter.typed_texts({})
    with pytest.raises(NotImplementedError):
        Adapter.recognises(Path("x"), {})


@pytest.mark.breaks
def test_what_an_adapter_raises_is_a_failure_of_its_agent() -> None:
    """In each method that is called from outside, so that all else goes on."""

    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError("words of the session")

    names = ("state", "has_pending", "finish", "feed_usage")
    broken = type("Broken", (AGENTS["pi"].adapter,), dict.fromkeys(names, fail) | {"typed_texts": staticmethod(fail)})
    adapter = broken(Origin(Identity(SessionKey("x", "s")), Path("/x/s")))
    for call in (adapter.state, adapter.has_pending, adapter.finish, partial(adapter.feed_usage, None)):
        with pytest.raises(AgentFailed):
            call()
    with pytest.raises(AgentFailed):
        broken.typed_texts({})


# -- branches --------------------------------------------------------------------------------------


def test_a_second_prompt_at_one_place_goes_back():
    """So does a third one; what follows the latest one does not."""
    tree = Branches()
    found = [tree.goes_back(*prompt) for prompt in (("a", "0"), ("b", "1"), ("c", "0"), ("d", "2"), ("e", "0"))]
    assert found == [False, False, True, False, True]


def test_a_prompt_that_is_written_again_does_not_go_back():
    """It has the same id."""
    tree = Branches()
    assert not any(tree.goes_back("a", "0") for _ in range(2))


@pytest.mark.parametrize("parent", [None, "", 7, [], {}])
def test_a_prompt_that_follows_nothing_begins(parent):
    """However many there are in a file."""
    tree = Branches()
    assert not any(tree.goes_back(name, parent) for name in "ab")


def test_it_goes_on_from_its_state_which_stays_small():
    """Of very many prompts, it forgets the oldest."""
    tree = Branches()
    for number in range(500):
        tree = Branches(tree.state())
        assert not tree.goes_back(f"prompt {number}", f"parent {number}")
    assert tree.goes_back("another", "parent 499")
    assert not tree.goes_back("another", "parent 0")
    assert len(str(tree.state())) < 2000

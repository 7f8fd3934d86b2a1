"""Tokens are read from session files, of which only the lines that may have some are decoded."""

from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.errors import AgentFailed, SourceChanged
from katod.model import START
from katod.tail.decode import decode
from katod.usage.reading import SourceHead, UsageReader, read_head
from katod.usage.source import SourceUsage
from tests.oracle.corpus import corpus_sources, fixture_sources
from tests.support.records import (
    SESSION,
    Claude,
    Codex,
    CodexLegacy,
    Gemini,
    GeminiDocument,
    Kimi,
    OpenCode,
    OpenCode2,
    Pi,
    Qwen,
    calls,
    line,
    result,
    says,
    user,
)


def read(maker, start=START, usage=None, zone="UTC"):
    """Return the usage in the file of a session, its head, and where reading may resume."""
    path = maker.path
    identity = AGENTS[maker.agent].identify(path)
    usage = SourceUsage() if usage is None else usage
    head, cursor = UsageReader(zone, hash).read(str(path), identity, path.stat().st_mtime_ns, usage, start)
    return usage, head, cursor


def tokens(usage):
    return [(answer.tokens.input, answer.tokens.output) for answer in usage.counted_once()]


def test_an_answer_of_several_records_is_one(world):
    """The last record has the final figures, and a copy of a message has the same key, without the id of a request."""
    make, wide = world.claude(), "msg_0123456789abcdef"
    first = make.says("a", message={"id": wide, "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}})
    last = make.says("b", message={"id": wide, "usage": {"input_tokens": 3, "output_tokens": 9}}, requestId="req_1")
    make.append(make.user("hi"), first, last, make.user("more"), make.says("c"))
    usage, head, _ = read(make)
    assert tokens(usage) == [(3, 9), (10, 5)]
    assert head == SourceHead("/home/me/app", SESSION)
    other = world.claude("77777777-9d1e-4b7a-8c66-0123456789ab")
    other.append(first | {"timestamp": "2026-02-11T00:00:00.000Z", "sessionId": other.session})
    assert set(read(other)[0].answers) <= set(usage.answers)


def test_messages_with_short_ids_may_be_others(world):
    """A proxy, or a test, may number them in each session: those of another hour are not copies."""
    make = world.claude()
    make.append(make.says("a", message={"id": "msg_1"}))
    other = world.claude("77777777-9d1e-4b7a-8c66-0123456789ab")
    other.append(make.says("a", message={"id": "msg_1"}, timestamp="2026-02-11T00:00:00.000Z"))
    assert not set(read(other)[0].answers) & set(read(make)[0].answers)


def test_days_are_those_of_the_time_zone(world):
    """An answer without a time is of the day on which its file changed."""
    make = world.claude()
    make.append(make.says("a", timestamp="2026-02-10T23:30:00.000Z"))
    (there,), (here,) = (read(make, zone=zone)[0].answers.values() for zone in ("UTC", "Europe/Berlin"))
    assert here.day == there.day + 1


def test_what_was_appended_is_read_alone(world):
    """An answer that was not complete then has its final figures, and is still one."""
    make = world.claude()
    usage = {"input_tokens": 3, "output_tokens": 1}
    make.append(make.user("hi"), make.says("a", message={"id": "msg_x", "stop_reason": None, "usage": usage}))
    kept, _, cursor = read(make)
    make.append(make.says("b", message={"id": "msg_x", "usage": usage | {"output_tokens": 7}}), make.says("c"))
    again, _, end = read(make, cursor, kept)
    assert tokens(again) == tokens(read(make)[0]) == [(3, 7), (10, 5)]
    assert end.offset == make.path.stat().st_size > cursor.offset


def test_an_unterminated_line_counts_and_is_read_again(world):
    """It may be written on; a part of a record is none."""
    make = world.claude()
    make.append(make.says("a"))
    whole, more = make.path.read_bytes(), line(make.says("b"))
    make.path.write_bytes(whole + more[:-1])
    usage, _, cursor = read(make)
    assert (len(usage.answers), cursor.offset) == (2, len(whole))
    make.path.write_bytes(whole + more[:-9])
    assert len(read(make)[0].answers) == 1


def test_lines_are_read_however_long_they_are(world, monkeypatch):
    """A line that is longer than what is read at once is read alone, and the next ones after it."""
    make = world.claude()
    make.append(make.user("hi " * 500), make.says("a"), make.says("b " * 500), make.user("more"), make.says("c"))
    whole, head, cursor = read(make)
    assert len(whole.answers) == 3
    for size in (100, 1000, 2000):
        monkeypatch.setattr("katod.usage.reading._CHUNK", size)
        found, same, end = read(make)
        assert (found.answers, same, end.offset) == (whole.answers, head, cursor.offset)


def test_a_file_that_was_rewritten_is_not_read_on(world):
    """What is before the cursor is not what was read."""
    make = world.claude()
    make.append(make.says("a"))
    _, _, cursor = read(make)
    make.path.write_bytes(make.path.read_bytes().replace(b"msg_", b"gsm_"))
    with pytest.raises(SourceChanged):
        read(make, cursor)


@pytest.mark.parametrize("make", [Codex, CodexLegacy], ids=["paginated", "legacy"])
def test_totals_that_a_client_repeats_count_once(world, make):
    """Codex writes its totals again when nothing was used since, and a fork copies them under other places and times."""
    thread = make(world)
    count = {"input_tokens": 30, "cached_input_tokens": 10, "output_tokens": 4}
    info = {"total_token_usage": count, "last_token_usage": count}
    counted = [thread.record("event_msg", {"type": "token_count", "info": info}) for _ in range(2)]
    thread.append(*thread.opening(), thread.record("turn_context", {"model": "gpt-5"}), *counted)
    usage, head, _ = read(thread)
    assert [(answer.model, answer.tokens.input, answer.tokens.cache_read) for answer in usage.answers.values()] == [
        ("gpt-5", 20, 10)
    ]
    fork = make(world, "01a1f8a0-eea5-7302-86e3-f8e0f705330b")
    fork.append(
        fork.meta(forked_from_id=thread.session), fork.record("event_msg", {"type": "token_count", "info": info})
    )
    copied, head, _ = read(fork)
    assert set(copied.answers) == set(usage.answers)
    assert (head.parent, head.is_spawned) == (thread.session, False)


def test_a_session_says_where_it_works_in_its_beginning(world):
    """For the name of its project, nothing else of it is read."""
    make = world.claude()
    make.append(make.user("hi"), *(make.says("a" * 1000) for _ in range(200)))
    assert read_head(str(make.path), AGENTS["claude"].identify(make.path)) == SourceHead("/home/me/app", SESSION)


def test_a_session_in_a_database_says_where_it_works(world):
    """All of it is read for that."""
    session = OpenCode(world).say(user("hi"), says("yes"))
    path = f"{session.path}#{session.id}"
    head = read_head(path, AGENTS["opencode"].identify(Path(path)))
    assert (head.project, head.session) == ("/home/me/app", session.id)


@pytest.mark.parametrize(
    "make", [Claude, CodexLegacy, Gemini, GeminiDocument, Kimi, Pi, Qwen], ids=lambda make: make.__name__
)
def test_the_lines_that_are_left_out_have_no_usage(world, make, monkeypatch):
    """It is the same as if every record was translated."""
    session = make(world).say(
        user("hi"), says("yes"), calls("c", "ls"), result("c", '"usage":{"input_tokens":9}'), says("b")
    )
    some, head, _ = read(session)
    every_record(monkeypatch)
    whole, same, _ = read(session)
    assert (some.answers, some.mark, head) == (whole.answers, whole.mark, same)


def test_the_first_record_names_the_project(world):
    """Qwen Code names a directory in each record: that of the first one counts, also if it has no usage."""
    make = Qwen(world)
    make.append(make.record("user", "real_user", cwd="/home/me/first"), make.says({"text": "a"}))
    assert read(make)[1] == SourceHead("/home/me/first", SESSION)


def test_two_parts_of_one_answer_of_qwen_are_two(world):
    """They have one id; a record that is written again is one."""
    make = Qwen(world)
    one = make.says({"text": "a"})
    make.append(one, one, one | {"message": {"role": "model", "parts": [{"text": "b"}]}})
    assert tokens(read(make)[0]) == [(10, 5), (10, 5)]


def test_a_checkpoint_of_gemini_counts_only_before_any_message(world):
    """It has the messages of the session that this one goes on from; later, it repeats them or has summaries."""
    for opening, number in (([], 2), ([user("hi")], 1)):
        make = Gemini(world, f"{number:08}-9d1e-4b7a-8c66-0123456789ab")
        said, copied = make.records(says("yes"))[0], make.records(says("before"))[0]
        first = [record for item in opening for record in make.records(item)]
        make.put(*first, {"$set": {"messages": [copied, {"type": "user", "id": "u", "content": "hm"}]}}, said)
        assert len(read(make)[0].answers) == number


@pytest.mark.parametrize("make", [OpenCode, OpenCode2], ids=lambda make: make.__name__)
def test_the_usage_of_a_database_is_read_without_its_parts(world, make, monkeypatch):
    """It is the same as if all of the session was translated."""
    session = make(world).say(user("hi"), says("yes"), calls("c", "ls"), result("c", "a"), says("b"))
    place = Path(f"{session.path}#{session.id}")

    def usage():
        found = SourceUsage()
        head, _ = UsageReader("UTC", hash).read(str(place), AGENTS["opencode"].identify(place), 0, found)
        return found.answers, head

    some = usage()
    assert some[0]
    every_record(monkeypatch)
    assert usage() == some


@pytest.mark.slow
@pytest.mark.parametrize("everything", [fixture_sources, corpus_sources], ids=["fixtures", "corpus"])
def test_no_line_of_a_real_session_is_missed(everything, monkeypatch):
    """It is the same as if every record was translated."""
    sources = [source for source in everything() if AGENTS[source.agent].answers.usage_signs]
    some = [usage_of(source) for source in sources]
    every_record(monkeypatch)
    for source, found in zip(sources, some, strict=True):
        assert found == usage_of(source), source.name


def test_a_record_that_is_written_again_keeps_its_key(world):
    """Its copy may name another day, under which its key would be another one: it is still one answer."""
    make = world.claude()
    first = make.says("a", message={"id": "msg_1"})
    make.append(first, first | {"timestamp": "2026-02-11T00:00:00.000Z"})
    assert tokens(read(make)[0]) == [(10, 5)]


def used(source, feed):
    """Return ids and payloads of the events about usage of a source, as a method of its adapter makes them."""
    spec, identity = AGENTS[source.agent], AGENTS[source.agent].named(source.path)
    adapter = spec.adapter(Origin(identity, source.path))
    with spec.open(str(source.path)) as file:
        batch = file.read(START, file.size + 1)
        rest = file.rest(batch.cursor.offset)
    records = [one for line in (*batch.lines, *([rest] if rest else [])) for one in decode(line) if one.value]
    events = [event for record in records for event in fed(getattr(adapter, feed), record)]
    return list({event.id: event.payload for event in (*events, *adapter.finish()) if event.kind == ev.USAGE}.items())


def fed(feed, record):
    with suppress(AgentFailed):  # it affects only one record
        return feed(record)
    return []


@pytest.mark.slow
@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_translated_for_usage_alone_has_the_same_usage(agent):
    """In each fixture whose records are lines, each answer has the same name and final figures as in full.

    Figures of an answer that are not final may come before: the largest ones of a name count.
    """
    sources = [source for source in fixture_sources() if source.agent == agent and not is_document(source)]
    for source in sources:
        assert used(source, "feed_usage") == used(source, "feed"), source.name


def is_document(source):
    with AGENTS[source.agent].open(str(source.path)) as file:
        return file.is_document


def every_record(monkeypatch):
    """Have every record translated."""
    monkeypatch.setattr("katod.usage.reading._UsageSource._some", lambda self, _lines, _start: self._whole())


def usage_of(source):
    usage, identity = SourceUsage(), AGENTS[source.agent].named(source.path)
    head, _ = UsageReader("UTC", hash).read(str(source.path), identity, 0, usage)
    return usage.answers, usage.mark, usage.sum, head[0] if usage.answers else ""


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "America/Los_Angeles"])
@pytest.mark.parametrize(("changed", "year"), [(-(10**20), 1), (0, 1970), (10**21, 9999)])
def test_a_file_may_say_that_it_changed_in_any_year(world, zone, changed, year):
    """An answer without a time is of that day, within the calendar."""
    make = world.claude()
    make.append(make.says("a", timestamp=""))
    usage = SourceUsage()
    UsageReader(zone, hash).read(str(make.path), AGENTS["claude"].identify(make.path), changed, usage)
    assert [abs(date.fromordinal(answer.day).year - year) <= 1 for answer in usage.answers.values()] == [True]

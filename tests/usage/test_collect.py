"""Only what is new in a session file is read; nothing of a session is kept but numbers and hashes."""

from contextlib import closing

import pytest

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.model import START, SessionKey, Stat
from katod.store.usagecache import UsageCache, forget_usage
from katod.usage import collect
from katod.usage.collect import UsageCollector
from tests.support.records import OTHER, SESSION, Claude, Codex, Pi, says


@pytest.fixture
def reads(monkeypatch):
    """Return the offsets from which sources are read from now on."""
    found, read = [], collect.UsageReader.read

    def watched(self, path, identity, changed_ns, usage, start=START):
        found.append(start.offset)
        return read(self, path, identity, changed_ns, usage, start)

    monkeypatch.setattr(collect.UsageReader, "read", watched)
    return found


def found(*makers):
    sessions = {}
    for maker in makers:
        identity, status = AGENTS[maker.agent].identify(maker.path), maker.path.stat()
        stat = Stat(status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)
        sessions.setdefault(identity.key, FoundSession(identity.key)).files.append((str(maker.path), identity, stat))
    return list(sessions.values())


def run(world, *makers, forgotten=(), everything=True):
    """Collect the usage of these sessions as one run of the command; return the tokens, and the names of projects."""
    with closing(UsageCache.open(world.state, 1, "UTC")) as cache:
        collector = UsageCollector("UTC", cache, lambda _keys: forgotten)
        sources = collector.collect(found(*makers), everything=everything)
        sums = [sum(cell.tokens.total for cell in source.cells) for source in sources]
        return sums, [collector.project(source.project) for source in sources], collector.problems


def test_a_source_is_read_once(world, reads):
    """And its project is named from its beginning."""
    make = world.claude()
    make.append(make.user("hi"), make.says("a"))
    assert run(world, make) == run(world, make) == ([15], ["/home/me/app"], {})
    assert reads == [0]


def test_a_source_that_was_read_before_its_first_answer_has_a_project(world, reads):
    """Only what has a usage is read, and says it: until then, nothing does."""
    make = world.claude()
    make.append(make.user("hi"))
    assert run(world, make) == ([0], [""], {})
    make.append(make.says("a"))
    assert run(world, make) == ([15], ["/home/me/app"], {})
    assert reads[0] == 0 < reads[1]


def test_of_a_source_that_has_grown_only_the_rest_is_read(world, reads):
    """If its agent allows that; otherwise all of it is read again."""
    make, thread = world.claude(), Codex(world)
    make.append(make.user("hi"), make.says("a"))
    thread.append(*thread.opening())
    run(world, make, thread)
    size = make.path.stat().st_size
    make.append(make.says("b"))
    thread.append(thread.user("hi"))
    assert run(world, make, thread)[0] == [30, 0]
    assert reads == [0, 0, size, 0]


def test_a_source_that_was_rewritten_is_read_from_its_beginning(world, reads):
    """Nothing of what it was before counts."""
    make = world.claude()
    make.append(make.user("hi"), make.says("a"), make.says("b"))
    assert run(world, make)[0] == [30]
    make.path.write_bytes(b"")
    make.append(make.user("hello"), *(make.says("c", message={"id": f"msg_9{n}"}) for n in range(3)))
    assert run(world, make)[0] == [45]
    assert reads[0] == reads[-1] == 0


def test_a_source_that_is_gone_is_dropped(world, reads):
    """Unless only some sessions were looked at."""
    one, other = world.claude(), Pi(world)
    one.append(one.says("a"))
    other.put(other.entry("session"))
    run(world, one, other)
    run(world, one, everything=False)
    run(world, one, other)
    assert len(reads) == 2
    run(world, one)
    run(world, one, other)
    assert len(reads) == 3


def test_nothing_is_kept_of_a_forgotten_session(world, reads):
    """Its tokens are counted, and read from its file each time."""
    make = world.claude()
    make.append(make.says("a"))
    for _ in range(2):
        assert run(world, make, forgotten={SessionKey("claude", make.session)})[0] == [15]
    assert reads == [0, 0]


def test_what_was_kept_of_a_session_is_dropped_when_it_is_forgotten(world, reads):
    """Another run may have stored it meanwhile."""
    make = world.claude()
    make.append(make.says("a"))
    for forgotten in ((), {SessionKey("claude", make.session)}, ()):
        assert run(world, make, forgotten=forgotten)[0] == [15]
    assert reads == [0, 0]


def test_nothing_is_kept_of_a_session_that_is_forgotten_meanwhile(world, reads):
    """What was forgotten is asked for once more while the file is locked."""
    make, other = world.claude(), Pi(world)
    make.append(make.says("a"))
    other.put(other.entry("session"), *other.records(says("b")))
    answers = iter([(), {SessionKey("claude", make.session)}])
    with closing(UsageCache.open(world.state, 1, "UTC")) as cache:
        collector = UsageCollector("UTC", cache, lambda _keys: next(answers))
        assert len(collector.collect(found(make, other), everything=True)) == 2
        assert list(cache.sources()) == [cache.hashes.of(str(other.path))]


def test_a_source_that_cannot_be_read_is_a_problem_of_its_own(world):
    """The others are counted."""
    make, gone = world.claude(), Claude(world, "77777777-9d1e-4b7a-8c66-0123456789ab")
    make.append(make.says("a"))
    gone.append(gone.says("a"))
    sessions = found(gone, make)
    gone.path.unlink()
    collector = UsageCollector("UTC", None, lambda _keys: ())
    assert [source.session for source in collector.collect(sessions, everything=True)] == [
        collector.hashes.session("claude", make.session)
    ]
    assert list(collector.problems) == [str(gone.path)]


@pytest.mark.parametrize("error", [ValueError, TypeError, OverflowError])
def test_numbers_that_cannot_be_counted_cost_their_source_alone(world, monkeypatch, error):
    """The others are counted, and stored."""
    make, other = world.claude(), Pi(world)
    make.append(make.says("a"))
    other.put(other.entry("session"), *other.records(says("b")))
    pack = collect.pack_usage

    def failing(usage, cells):
        if any(answer.model == "glm-5" for answer in usage.answers.values()):
            raise error("7")
        return pack(usage, cells)

    monkeypatch.setattr(collect, "pack_usage", failing)
    assert run(world, make, other) == (
        [15], ["/home/me/app"], {str(other.path): "has numbers that cannot be counted"}
    )  # fmt: skip


def test_a_source_that_changed_beyond_64_bits_is_counted_and_not_stored(world, reads):
    """A file system may have any time; the other sources are stored."""
    make, other = world.claude(), Pi(world)
    make.append(make.says("a"))
    other.put(other.entry("session"), *other.records(says("b")))
    for _ in range(2):
        sessions = found(make, other)
        path, identity, stat = sessions[0].files[0]
        sessions[0].files[0] = path, identity, stat._replace(mtime_ns=2**70)
        with closing(UsageCache.open(world.state, 1, "UTC")) as cache:
            sources = UsageCollector("UTC", cache, lambda _keys: ()).collect(sessions, everything=True)
        assert sorted(sum(cell.tokens.total for cell in source.cells) for source in sources) == [15, 15]
    assert len(reads) == 3


def test_the_answers_of_a_source_are_known_when_some_are_copies(world, reads):
    """They are taken from what was kept; if that is lost, the source is read once more."""
    make = world.claude()
    make.append(make.says("a"))
    run(world, make)
    with closing(UsageCache.open(world.state, 1, "UTC")) as cache:
        (source,) = UsageCollector("UTC", cache, lambda _keys: ()).collect(found(make), everything=True)
        assert len(source.detail().answers) == 1
        assert reads == [0]
        cache._db.execute("DELETE FROM answers")
        assert len(source.detail().answers) == 1
        assert reads == [0, 0]


def test_a_project_that_cannot_be_told_has_no_name(world):
    """Its sessions are gone, or begin with another directory now."""
    make = world.claude()
    make.append(make.says("a"))
    collector = UsageCollector("UTC", None, lambda _keys: ())
    (source,) = collector.collect(found(make), everything=True)
    make.path.unlink()
    assert (collector.project(source.project), collector.project(b"")) == ("", "")


def test_what_another_process_read_is_not_read_again(world, reads):
    """It is kept as if it had been read here; what could not be read there is read here."""
    makes = [world.claude(SESSION), world.claude(OTHER)]
    for make in makes:
        make.append(make.user("hi"), make.says("a"))
    expected = run(world, *makes)
    forget_usage(world.state, {one.key for one in found(*makes)})
    with closing(UsageCache.open(world.state, 1, "UTC")) as cache:
        collector = UsageCollector("UTC", cache, lambda _keys: ())
        first, second = found(*makes)
        assert collector.is_new(first)
        ahead = collector.read_ahead(first)
        del reads[:]
        collector.take(first, ahead)
        assert (reads, collector.is_new(first)) == ([], False)
        collector.take(second, [])
        assert reads == [0]
        collector.keep(everything=True)
        sums = [sum(cell.tokens.total for cell in source.cells) for source in collector.counted()]
    del reads[:]
    assert (sums, run(world, *makes)) == (expected[0], expected)
    assert reads == []


def test_what_cannot_be_read_ahead_is_left(world):
    """The first process meets it, and says what is wrong."""
    make = world.claude()
    make.append(make.user("hi"), make.says("a"))
    [session] = found(make)
    make.path.unlink()
    with closing(UsageCache.open(world.state, 1, "UTC")) as cache:
        collector = UsageCollector("UTC", cache, lambda _keys: ())
        assert collector.read_ahead(session) == []
        collector.take(session, [])
    assert list(collector.problems) == [str(make.path)]

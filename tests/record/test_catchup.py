"""Catch-up: outputs with a stream of their own follow their session until they have reached its position."""

import json

import pytest

from katod.errors import LedgerError, OutputError, SourceError
from katod.events import Event, SessionRef
from katod.model import Range, SessionKey
from katod.record import catchup, delivery
from katod.record.catchup import CatchUp, CatchUpDedup, CatchUpStream, PositionDedup
from katod.record.delivery import Delivery
from katod.record.output import Output
from katod.record.resync import resync
from katod.store.ledger import id_hash
from katod.store.rows import SeenRow
from tests.support.parts import admits, memory_ledger, put
from tests.support.records import SESSION, Claude, CodexLegacy

KEY = SessionKey("claude", SESSION)


# -- what a follower has seen ------------------------------------------------------------------------


class Known:
    """A catalog of numbered sources."""

    def __init__(self, **gone):
        self.sources = {number: Somewhere(number, gone.get(f"s{number}", False)) for number in (1, 2)}


class Somewhere:
    def __init__(self, number, gone):
        self.id, self.gone = number, gone


def event(name):
    return Event(name, "x", SessionRef(*KEY), {}, {})


@pytest.fixture
def ledger():
    """Return a ledger with a session that has seen `a` to `d`: `c` in the second source, all others in the first."""
    found = memory_ledger()
    found.add_seen(SeenRow(1, id_hash(name), seq, 2 if name == "c" else 1) for seq, name in enumerate("abcd"))
    return found


def admitted(seen, source, names):
    return "".join(name for name in names if admits(seen, event(name), source))


def test_a_follower_passes_each_event_once(ledger):
    """Sequence numbers rise within a source, so the highest one suffices, also in the next process."""
    first = Known().sources[1]
    seen = CatchUpDedup(1, ledger, Known(), {})
    assert admitted(seen, first, "abab") == "ab"
    again = CatchUpDedup(1, ledger, Known(), json.loads(json.dumps(seen.state())))
    assert admitted(again, first, "abd") == "d"
    assert "passed" not in again.state()


def test_a_follower_leaves_what_the_session_has_not_seen(ledger):
    """Of a document, it does not admit events that its session has not seen: it never gets ahead of it."""
    seen = CatchUpDedup(1, ledger, Known(), {})
    seen.read_document(is_document=True)
    assert admitted(seen, Known().sources[1], "xa") == "a"
    assert [name for name in "xab" if seen.is_unread(event(name))] == ["x"]


def test_a_follower_passes_what_the_session_holds_back(ledger):
    """What is not in the ledger up to the session's cursor waits there for a later record; the follower's own waits, too."""
    seen = CatchUpDedup(1, ledger, Known(), {})
    assert admitted(seen, Known().sources[1], "abxbc") == "abx"


@pytest.mark.whole
@pytest.mark.parametrize(("gone", "expected"), [(False, ""), (True, "c")])
def test_a_copy_is_read_where_it_was_first_seen(ledger, gone, expected):
    """An event that is in two sources is read from where it was first seen, unless that source no longer exists."""
    catalog = Known(s2=gone)
    assert admitted(CatchUpDedup(1, ledger, catalog, {}), catalog.sources[1], "c") == expected
    assert admitted(CatchUpDedup(1, ledger, Known(), {}), Known().sources[2], "c") == "c"


def test_a_rewritten_source_is_known_by_all_that_was_passed(ledger):
    """After a rewrite, events may come in any order, so the follower keeps all that it has seen."""
    first = Known().sources[1]
    seen = CatchUpDedup(1, ledger, Known(), {})
    assert admitted(seen, first, "a") == "a"
    seen.restart(first)
    assert admitted(seen, first, "d") == "d"
    again = CatchUpDedup(1, ledger, Known(), json.loads(json.dumps(seen.state())))
    assert admitted(again, first, "dbad") == "b"


def test_positions_are_all_admitted(ledger):
    """Without native ids every event is admitted, as no position is read twice."""
    assert admitted(PositionDedup(1, ledger, Known(), {}), Known().sources[1], "aax") == "aax"


# -- catching up -------------------------------------------------------------------------------------


def name_nothing(*_given):
    """Leave outputs without a name."""


class Behind:
    """A session that was read to its end, and an output of all of it that is still empty."""

    joins = True

    def __init__(self, parts, *rows, maker=None, ranges=None):
        self.parts = parts
        make = maker or parts.world.claude()
        self.file = make.append(*rows)
        self.source = parts.source()
        self.session = parts.load(self.source)
        self.events = parts.read(self.session, self.source)
        self.told = []
        self.delivery = Delivery(parts.ledger, parts.log, lambda news: self.told.append((news.kind, news.path)))
        self.delivery.use(parts.world.out)
        self.catch_up = CatchUp(
            parts.ledger, parts.catalog, parts.log, self.delivery, lambda _: self.joins, name_nothing
        )
        self.output = parts.output(self.session)
        for one in ranges or [Range("")]:
            self.output.begin(one, "")
        self.output.fall_behind({})
        self.output.save(parts.ledger)
        self.catch_up.add(self.output)

    @property
    def row(self):
        return self.output.row

    def follow(self, budget=1 << 20, most=100):
        """Advance the output until nothing is left to do; return the number of steps."""
        for steps in range(1, most):
            if not self.catch_up.isolated_step(self.output, budget):
                return steps
            self.delivery.settle()
        raise AssertionError("it never ends")

    def words(self):
        text = self.row.path.read_text() if self.row.path.exists() else ""
        return [found for found in text.splitlines() if found.startswith("word ")]


def said(make, count, first=0):
    return [make.says(f"word {number}") for number in range(first, count)]


@pytest.fixture
def behind(parts):
    return Behind(parts, *said(Claude(), 10))


ALL = [f"word {number}" for number in range(10)]


def test_an_output_catches_up_in_slices(behind):
    """Each slice is one transaction and one append, so that a long session does not block others."""
    assert behind.follow(budget=1500) > 3
    assert behind.words() == ALL


def test_an_output_resumes_where_it_was_in_the_next_process(behind):
    """An output resumes in the next process from what is in the ledger."""
    for _ in range(2):
        behind.catch_up.step(behind.output, 1500)
        behind.delivery.settle()
    [row] = behind.parts.ledger.outputs()
    assert row.behind["offsets"]
    assert row.behind["states"][str(behind.source.id)]["started"]
    behind.catch_up = CatchUp(
        behind.parts.ledger, behind.parts.catalog, behind.parts.log, behind.delivery, lambda _: True, name_nothing
    )
    behind.output = Output(row)
    behind.catch_up.add(behind.output)
    behind.follow(budget=1500)
    assert behind.words() == ALL


def test_an_output_whose_ranges_have_ended_follows_no_longer(parts):
    """An export ends with the events that existed when it was requested, and is then complete.

    The ledger has that at once: what happens to the session from now on is not noted of the output's own position.
    """
    found = Behind(parts, *said(Claude(), 10), ranges=[Range("", end="-", marked=False, end_mark="")])
    last = next(event.id for event in found.events if event.payload.get("text") == "word 4")
    put(found.output, ranges=(found.row.ranges[0]._replace(end=last),))
    found.output.save(found.parts.ledger)
    found.follow()
    assert found.words() == ALL[:5]
    assert (found.catch_up.outputs(), found.row.behind) == ([], None)
    assert found.told == [("written", found.row.path)]
    assert found.parts.ledger.outputs()[0].behind is None


@pytest.mark.whole
@pytest.mark.parametrize(("start", "word"), [("gone", "keep"), ("", "")])
def test_a_copy_whose_beginning_is_gone_is_said_not_to_be_written(parts, start, word):
    """Instead of an empty file, or of news that it is written; one that begins is written."""
    found = Behind(parts, *said(Claude(), 3), ranges=[Range(start, end="-", marked=False, end_mark="")])
    put(found.output, ranges=(found.row.ranges[0]._replace(end=found.events[-1].id),))
    found.output.hold("")
    found.output.save(found.parts.ledger)
    found.follow()
    assert (found.catch_up.outputs(), found.output.waits) == ([], not word)
    assert [(row.word, row.reason) for row in parts.ledger.refusals()] == ([(word, catchup._LOST)] if word else [])
    assert found.told == []


def test_an_output_joins_its_session_when_it_is_where_the_session_is(behind):
    """An output goes live once it has reached its session's position and has no open intent."""
    assert not behind.catch_up.may_join(behind.output)
    behind.follow()
    put(behind.output, intent=b"x")
    assert not behind.catch_up.may_join(behind.output)
    put(behind.output, intent=None)
    assert behind.catch_up.may_join(behind.output)
    behind.catch_up.leave(behind.output)
    assert (behind.row.behind, behind.catch_up.outputs()) == (None, [])
    assert not behind.catch_up.may_join(behind.output)


def test_an_output_never_reads_beyond_its_session(behind):
    """Events that the session has not read yet are left for live recording."""
    behind.file.append(*said(Claude(start=50), 12, 10))
    behind.follow()
    assert behind.words() == ALL


def test_a_parked_output_waits(behind):
    """The session is not read for a parked output."""
    behind.delivery.park(behind.output, OutputError("full"))
    assert behind.follow() == 1
    assert behind.row.behind == {}
    behind.delivery.forget(behind.output)
    behind.follow()
    assert behind.words() == ALL


def test_an_output_that_stays_behind_has_what_its_session_had_then(parts):
    """Its state is a copy: the session continues without it, and changes there do not affect the copy."""
    make = Claude()
    found = Behind(parts, make.says("word 0"), make.runs("t1", "ls"))
    found.catch_up.drop(found.output)
    put(found.output, printer={"active": True, "headed": True})
    found.catch_up.detach(found.output, found.session)
    state = json.dumps(found.row.behind)
    found.file.append(make.result("t1", "a", error=True), make.says("word 1", gitBranch="other"))
    parts.read(found.session, found.source)
    assert json.dumps(found.row.behind) == state
    assert parts.ledger.outputs()[0].behind == json.loads(state)
    found.follow()
    assert found.words() == ["word 1"]
    assert "Bash" in found.row.path.read_text()


def test_a_source_that_is_gone_leaves_a_gap(behind):
    """The output does not wait for a vanished source; a mark before the next text notes the gap."""
    behind.file.path.unlink()
    assert behind.follow() == 2, "what follows it is read at once"
    assert behind.row.printer["pending"]
    assert behind.catch_up.may_join(behind.output)


def test_a_source_that_cannot_be_read_parks_the_output(behind, monkeypatch):
    """The output is parked until the source can be read again, and nothing is left out."""

    def fail(_):
        raise SourceError("cannot be opened: Permission denied")

    monkeypatch.setattr(type(behind.source.spec), "open", property(lambda _: fail))
    behind.follow()
    assert behind.row.problem == "its session cannot be read: cannot be opened: Permission denied"
    monkeypatch.undo()
    behind.delivery.retry(behind.output)
    behind.follow()
    assert behind.words() == ALL


def test_a_source_that_stays_unreadable_is_retried_less_and_less_often(behind, monkeypatch):
    """Each retry that fails for the same reason is counted; the first that succeeds clears the problem."""

    def fail(_):
        raise SourceError("cannot be opened: Permission denied")

    with monkeypatch.context() as closed:
        closed.setattr(type(behind.source.spec), "open", property(lambda _: fail))
        for attempts in (1, 2, 3):
            behind.follow()
            assert behind.row.attempts == attempts
            behind.delivery.retry(behind.output)
    behind.follow()
    assert (behind.row.problem, behind.row.attempts, behind.words()) == ("", 0, ALL)


@pytest.mark.breaks
def test_a_failure_of_katod_makes_only_this_output_wait(behind, monkeypatch):
    """The output is reset to what is in the ledger and parked; the problem has only the type of the error."""
    behind.catch_up.step(behind.output, 1500)
    behind.delivery.settle()

    def fail(*_):
        raise ValueError("private")

    monkeypatch.setattr(Output, "take", fail)
    assert not behind.catch_up.isolated_step(behind.output, 1500)
    monkeypatch.undo()
    assert behind.catch_up.outputs() == [behind.output], "the session has the same output"
    assert behind.row.problem == "internal error: ValueError"
    assert behind.delivery.is_parked(behind.output)
    behind.delivery.retry(behind.output)
    behind.follow()
    assert behind.words() == ALL


@pytest.mark.breaks
def test_a_failure_of_katod_in_a_retry_makes_only_this_output_wait_longer(behind, monkeypatch):
    """The retry of a parked output raises nothing; it is parked again, and complete after the next one."""

    def full(*_):
        raise OutputError("cannot be written: No space left on device")

    def fail(*_):
        raise ValueError("private")

    for name, broken in (("append", full), ("complete", fail)):
        monkeypatch.setattr(delivery, name, broken)
    behind.follow()
    behind.catch_up.retry(behind.output)
    monkeypatch.undo()
    assert behind.row.problem == "internal error: ValueError"
    assert behind.delivery.is_parked(behind.output)
    behind.catch_up.retry(behind.output)
    behind.follow()
    assert behind.words() == ALL


def test_a_ledger_that_fails_is_no_problem_of_one_output(behind, monkeypatch):
    """The step is repeated as a whole, and nothing is said of the output."""

    def fail(*_):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(behind.delivery, "retry", fail)
    with pytest.raises(LedgerError):
        behind.catch_up.retry(behind.output)
    assert (behind.row.problem, behind.delivery.is_parked(behind.output)) == ("", False)


def test_a_rewritten_source_is_read_again_without_doubling(behind):
    """After a rewrite, written events are recognised by their ids, and the new position is stored at once."""
    behind.catch_up.step(behind.output, 3000)
    behind.delivery.settle()
    before = behind.words()
    assert before != ALL
    rows = behind.file.path.read_bytes().splitlines(keepends=True)
    behind.file.path.write_bytes(b"".join(reversed(rows)))
    with behind.source.spec.open(behind.source.path) as file:
        resync(behind.source, file, behind.session, behind.parts.ledger, behind.parts.log)
    behind.catch_up.resynced(behind.source)
    assert behind.parts.ledger.outputs()[0].behind["offsets"] == {str(behind.source.id): 0}
    behind.follow()
    assert behind.words() == before
    assert behind.row.behind is not None  # its session has not read the source to its end again, either
    behind.parts.read(behind.session, behind.source)
    behind.follow()
    assert behind.words()[: len(before)] == before
    assert sorted(behind.words()) == ALL


def test_a_source_that_its_session_has_not_seen_rewritten_is_not_read(behind):
    """The output waits for its session's next step: what is at its old position now may be anything."""
    behind.catch_up.step(behind.output, 3000)
    behind.delivery.settle()
    before = behind.words()
    assert before not in ([], ALL)
    behind.file.path.write_bytes(behind.file.path.read_bytes().replace(b"word", b"else"))
    behind.follow()
    assert (behind.words(), behind.row.problem) == (before, "")
    assert "else" not in behind.row.path.read_text()


def test_what_was_printed_before_an_output_stayed_behind_is_not_printed_again(parts):
    """An output had all that its session had seen, so nothing is written again, even if the session is rewritten."""
    found = Behind(parts, *said(Claude(), 2))
    found.catch_up.drop(found.output)
    put(found.output, printer={"active": True, "headed": True})
    found.catch_up.detach(found.output, found.session)
    found.catch_up.resynced(found.source)
    found.file.append(*said(Claude(start=50), 3, 2))
    parts.read(found.session, found.source)
    found.follow()
    assert found.words() == ["word 2"]


def test_an_output_whose_end_is_gone_waits_for_its_session_to_say_so(parts):
    """Once the session has read all of a rewritten source, a mark is its end; it is waited for after a restart, too."""
    found = Behind(parts, *said(Claude(), 3), ranges=[Range("", end="removed")])
    found.catch_up.resynced(found.source)
    found.file.path.write_bytes(b"".join(found.file.path.read_bytes().splitlines(keepends=True)[:-1]))
    with found.source.spec.open(found.source.path) as file:
        resync(found.source, file, found.session, parts.ledger, parts.log)
    found.catch_up.resynced(found.source)
    found.follow()
    assert found.row.behind["unread"] == [found.source.id]
    found.catch_up.revert([found.output])
    assert found.row.behind["unread"] == [found.source.id]
    parts.sweep()
    parts.read(found.session, found.source)
    found.follow()
    assert (found.row.behind, found.words()) == (None, ALL[:2])
    assert "missing" in found.row.path.read_text()


def test_an_output_that_ended_is_done_when_it_is_where_its_session_is(parts):
    """The event after which it ends is no longer known; nothing was rewritten, so nothing is marked as missing."""
    found = Behind(parts, *said(Claude(), 2), ranges=[Range("", end="?")])
    found.follow()
    assert (found.row.behind, found.words()) == (None, ALL[:2])
    assert parts.ledger.outputs()[0].behind is None
    assert "missing" not in found.row.path.read_text()


def test_marks_after_the_last_event_are_printed(behind):
    """A recording is stopped from the shell, after an event that was printed before."""
    behind.follow()
    behind.output.end(behind.events[-1].id, "", "stopped")
    behind.follow()
    assert behind.row.path.read_text().endswith("\n*Recording stopped*\n")
    assert behind.row.behind is None


def test_a_step_that_is_undone_leaves_what_the_ledger_has(behind):
    """An output that the ledger does not know is followed no longer."""
    behind.follow()
    behind.delivery.settle()
    before = behind.row
    behind.output.park("x")
    created = Output(before._replace(id=99))
    behind.catch_up.add(created)
    behind.catch_up.revert([behind.output, created, Output(before)])
    assert (behind.row.problem, behind.catch_up.outputs()) == ("", [behind.output])
    assert behind.output in behind.catch_up


def test_the_outputs_of_a_session_that_is_forgotten_are_followed_no_longer(behind):
    """Those of other sessions are."""
    session = behind.session.row.id
    assert behind.catch_up.of_session(session) == {behind.output.id: behind.output}
    assert behind.catch_up.of_session(session + 1) == {}
    behind.catch_up.forget_session(session + 1)
    assert behind.output in behind.catch_up
    behind.catch_up.forget_session(session)
    assert behind.output not in behind.catch_up


def test_an_output_whose_session_cannot_be_loaded_joins_it_later(behind):
    """It is parked until then, also for the next process."""
    behind.joins = False
    assert behind.catch_up.advance(0.0, 1500)
    assert behind.row.problem == "", "it does not join yet"
    behind.follow()
    behind.delivery.settle()
    behind.catch_up.advance(0.0, 1 << 20)
    assert behind.parts.ledger.outputs()[0].problem == "its session could not be loaded"
    assert behind.delivery.is_parked(behind.output)


def test_a_problem_is_over_when_there_is_nothing_to_write(behind):
    """The session can be read again, and has nothing new for the output."""
    behind.follow()
    behind.delivery.park(behind.output, OutputError("its session cannot be read"))
    behind.delivery.retry(behind.output)
    behind.follow()
    assert (behind.row.problem, behind.row.attempts) == ("", 0)


def test_a_file_that_went_away_is_noted_before_more_is_read(behind):
    """Nothing is printed to it: it may be back, or elsewhere, in a moment."""
    behind.catch_up.step(behind.output, 3000)
    behind.delivery.settle()
    behind.row.path.unlink()
    assert not behind.catch_up.step(behind.output, 3000)
    assert behind.row.intent is None
    assert behind.parts.ledger.outputs()[0].problem == behind.row.problem != ""


def test_what_cannot_be_written_is_in_the_ledger_with_its_problem(behind, monkeypatch):
    """The next process says why, and goes on with it."""

    def full(*_):
        raise OutputError("cannot be written: No space left on device")

    monkeypatch.setattr(delivery, "append", full)
    assert not behind.catch_up.step(behind.output, 3000)
    [stored] = behind.parts.ledger.outputs()
    assert (stored.problem, stored.intent is None) == ("cannot be written: No space left on device", False)


def test_without_ids_an_output_that_stays_behind_goes_on_at_its_sessions_offset(parts):
    """What its session had read then is not printed again: it is known by nothing but its place."""
    make = CodexLegacy()
    found = Behind(parts, make.meta(), make.says("word 0"), maker=parts.world.codex())
    found.catch_up.drop(found.output)
    put(found.output, printer={"active": True, "headed": True})
    found.catch_up.detach(found.output, found.session)
    found.file.append(make.says("word 1"))
    parts.read(found.session, found.source)
    found.follow()
    assert found.words() == ["word 1"]


def test_a_rewritten_source_without_ids_leaves_a_gap(parts):
    """Without ids it is unknown what was written, so the output resumes at its session's position, with a mark."""
    make = CodexLegacy()
    found = Behind(parts, make.meta(), *(make.says(f"word {n}") for n in range(3)), maker=parts.world.codex())
    found.catch_up.resynced(found.source)
    found.file.append(make.says("word 3"))
    parts.read(found.session, found.source)
    found.follow()
    assert found.words() == ["word 3"]
    text = found.row.path.read_text()
    assert text.index("missing") < text.index("word 3")


def test_an_output_that_is_dropped_follows_no_longer(behind):
    """A dropped output is no longer followed: the step that created it was undone."""
    behind.catch_up.drop(behind.output)
    behind.catch_up.drop(behind.output)
    assert behind.catch_up.outputs() == []


def test_a_followers_position_is_plain_json(behind):
    """The state is plain JSON, and restores the same follower."""
    behind.catch_up.step(behind.output, 3000)
    state = behind.row.behind
    put(behind.output, behind=json.loads(json.dumps(state)))
    again = CatchUpStream(behind.output, KEY, behind.parts.ledger, behind.parts.catalog, behind.parts.log)
    assert again.state() == state


def test_a_follower_that_is_restarted_translates_from_the_beginning(behind):
    """A restarted follower uses neither the adapter nor the states of the old file."""
    behind.catch_up.step(behind.output, 3000)
    follower = CatchUpStream(behind.output, KEY, behind.parts.ledger, behind.parts.catalog, behind.parts.log)
    before = follower.stream.open(behind.source)
    follower.restart(behind.source)
    assert follower.stream.open(behind.source) is not before
    assert (follower.states, follower.offsets) == ({}, {behind.source.id: 0})

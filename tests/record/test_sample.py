"""Records that katod does not understand: noticed in recorded sessions, and in samples of the others."""

import pytest

from katod.errors import AgentFailed
from katod.metadata import Counts
from katod.record import sample as sampling
from katod.record.sample import sample
from tests.looping import each
from tests.support.records import Claude
from tests.support.world import World

STRANGE = {"type": "utterance", "v": 9, "body": "private words " * 30, "sessionId": "s", "version": "9.0.0"}


@pytest.fixture
def strange(parts):
    """Return a source of a version that writes everything in another form."""
    parts.world.claude().append(Claude().user("hello", version="9.0.0"), *[STRANGE] * 60)
    return parts.source()


def look(source, ledger):
    with source.spec.open(source.path) as file:
        sample(source, file, ledger)


def test_a_sample_keeps_only_counts(parts, strange):
    """One row for an agent's version: how many events, how many of them unknown; no word of the session."""
    look(strange, parts.ledger)
    [row] = parts.ledger.samples.all()
    assert (row.agent, row.version, row.path) == ("claude", "9.0.0", strange.path)
    assert row.raw == row.events - 2 == 60
    assert "private" not in str(row)


@pytest.mark.breaks
def test_an_agent_is_sampled_once_an_hour(parts, strange, monkeypatch):
    """Another look reads nothing; after an hour, or if the clock was set, the row is replaced."""
    look(strange, parts.ledger)
    monkeypatch.setattr(sampling, "SessionStream", None)
    look(strange, parts.ledger)
    [row] = parts.ledger.samples.all()
    parts.ledger.samples.save(row._replace(time=row.time + 9_000))
    with pytest.raises(AgentFailed):
        look(strange, parts.ledger)


def test_a_small_session_and_a_document_are_not_sampled(parts):
    """A small session tells little, and a document would have to be read whole."""
    parts.world.claude().append(Claude().user("hello"), *[STRANGE] * 9)
    look(parts.source(), parts.ledger)
    assert parts.ledger.samples.all() == []


def test_the_status_names_the_version_that_is_not_understood(world: World) -> None:
    """Of a session that nobody records, too."""
    world.claude().append(Claude().user("hello", version="9.0.0"), *[STRANGE] * 60)
    world.once()
    [problem] = world.status()["problems"]
    assert problem["problem"] == "60 of 62 records of claude 9.0.0 are not understood: katod may be too old for it"


@each(("events", "raw", "strange"), [(100, 40, False), (100, 51, True), (11, 11, False), (12, 12, True)])
def test_most_of_enough_records_must_be_unknown(events, raw, strange):
    """Some unknown records are normal, and a few records prove nothing."""
    assert Counts(events, raw).is_strange == strange


def test_a_recording_of_what_is_not_understood_is_a_problem_until_it_is(world: World) -> None:
    """It is recorded as raw records, shown as a problem, and not read again and again."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start\none"), *[STRANGE | {"n": n} for n in range(30)])
    world.once()
    assert [row["problem"] for row in world.status()["problems"]] == [sampling.NOT_UNDERSTOOD]
    source.append(*(make.says(f"more {n}") for n in range(40)))
    world.once()
    assert world.status()["problems"] == []

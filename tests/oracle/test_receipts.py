"""A receipt says what became of each native record: over real sessions, it has the sums of an independent count."""

from collections import Counter
from typing import Any

import orjson
import pytest

from katod.agents import AGENTS
from katod.formats.rows import row_of
from katod.log import EventLog
from katod.record.export import Stretch, replay
from tests.oracle import receipts
from tests.oracle.common import INVALID
from tests.oracle.corpus import Source, corpus_folder, corpus_sources, fixture_sources
from tests.support.tallies import read_in_all

CORPUS = corpus_sources()
PLACEHOLDER = "[trimmed for fixture]"


def received(source: Source) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the receipt over all records of a session as far as it is final, and its events."""
    rows: list[dict[str, Any]] = []
    stretch = Stretch(str(source.path), AGENTS[source.agent].named(source.path), source.path.stat().st_size)
    tallies = []
    for event, metadata in replay(stretch.identity.key, [stretch], EventLog(), counts=True):
        rows.append(orjson.loads(row_of(event, redact=False)[1]))
        tallies = [metadata.tally]
    for tally in filter(None, tallies):
        return read_in_all(tally), rows
    return {}, rows


def compared(sources: list[Source]) -> tuple[Counter[str], dict[str, Any]]:
    """Return how many receipts of each agent agree, and what those that do not say beside what is expected."""
    agreeing, wrong = Counter[str](), {}
    for source in sources:
        found, rows = received(source)
        if not found or source.read().other[INVALID] or not is_whole(source) or is_reduced(source):
            continue  # it has no event, katod finds records in damaged lines, or was reduced to records with one id
        expected = receipts.expected(source, rows)
        if {name: found[name] for name in expected} == expected:
            agreeing[source.agent] += 1
        else:
            wrong[source.name] = (found, expected)
    return agreeing, wrong


def is_whole(source: Source) -> bool:
    """Return whether each record of a session can be decoded."""
    try:
        receipts.natives_of(source)
    except ValueError:
        return False
    return True


def is_reduced(source: Source) -> bool:
    """Return whether the records of a session were replaced by others that share an id: most count as repeated."""
    return source.agent == "claude" and PLACEHOLDER.encode() in source.path.read_bytes()


@pytest.mark.breaks
def test_the_receipt_of_a_fixture_has_the_sums_of_an_independent_count() -> None:
    """Records, told ones, those left out by name, and those not understood by what they are."""
    agreeing, wrong = compared(fixture_sources())
    assert not wrong
    assert len(agreeing) == len({source.agent for source in fixture_sources()})


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason=f"no real sessions under {corpus_folder()}")
def test_the_receipt_of_a_real_session_has_the_sums_of_an_independent_count() -> None:
    """It holds for sessions that real clients wrote, of every agent."""
    agreeing, wrong = compared(CORPUS)
    assert not wrong
    assert len(agreeing) == len({source.agent for source in CORPUS})

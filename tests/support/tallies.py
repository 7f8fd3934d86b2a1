"""Records that are counted without a session, and what a tally has read in all."""

from collections import Counter
from typing import Any

from katod.events import Event
from katod.receipt import RecordOutcome, RecordTally, left_out, receipt, translated

PATH = "/s.jsonl"


def count_record(tally: RecordTally, event: Event, became: RecordOutcome = ()) -> None:
    """Count a record that has this event."""
    source = tally.source(PATH)
    source.begin(became or translated([event]))
    source.confirm(event.id)
    source.end()


def pass_record(tally: RecordTally, event: Event, became: RecordOutcome = ()) -> None:
    """Count a record that has this event, and have it pass."""
    count_record(tally, event, became)
    tally.pass_event(event, PATH)


def skip_record(tally: RecordTally, name: str) -> None:
    """Count a record without an event, called so by its agent."""
    tally.source(PATH).skip(left_out(name))


def read_in_all(tally: RecordTally) -> dict[str, Any]:
    """Return the receipt of all records that were read, also of those after the last event."""
    kept: dict[str, Any] = tally.kept()
    total = Counter(tally.up_to())
    for _, _, became, skipped in kept.get("waiting", ()):
        total += Counter(became) + Counter(skipped)
    for _, _, skipped in kept.get("sources", {}).values():
        total += Counter(skipped)
    return receipt(dict(total))

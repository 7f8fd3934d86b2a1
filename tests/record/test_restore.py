"""What is missing of a recording in its output, and how it is printed again."""

import pytest

from katod.errors import SourceError
from katod.log import EventLog
from katod.record import restore
from katod.record.output import Output
from katod.record.restore import Missing, count_missing
from katod.store.ledger import Ledger
from tests.support.outputs import counts
from tests.support.records import Claude


class Recorded:
    """A recording of four messages."""

    def __init__(self, world):
        self.world, make = world, Claude()
        self.source = world.claude()
        self.source.append(make.user("::start n\none"), make.says("two"), make.says("three"), make.user("four"))
        world.once()
        self.path = world.home / "katod" / "app" / "n.md"
        self.text = self.path.read_text()

    def cut(self, *words):
        """Remove the lines with these words from the output."""
        lines = self.text.splitlines(keepends=True)
        self.path.write_text("".join(line for line in lines if line.strip() not in words))

    def missing(self):
        ledger = Ledger.read(self.world.state)
        [row] = ledger.outputs()
        try:
            return Missing.of(row, ledger, EventLog())
        finally:
            ledger.close()

    def count(self):
        ledger = Ledger.read(self.world.state)
        [row] = ledger.outputs()
        try:
            return count_missing(row, ledger, EventLog())
        finally:
            ledger.close()


@pytest.fixture
def recorded(world):
    return Recorded(world)


def test_nothing_is_missing_of_what_was_recorded(recorded):
    """An output as katod wrote it has every event, and is not even compared for `katod status`."""
    assert recorded.missing().numbers == []
    recorded.source.path.unlink()
    assert recorded.count() == 0


def test_each_missing_message_is_printed_under_its_speaker(recorded):
    """A heading is printed wherever the message before is not missing, and the mark is above all."""
    recorded.cut("two", "three")
    missing = recorded.missing()
    output = Output(missing._row)
    output.restore_missing(missing.texts(), len(missing.numbers), recorded.path.read_bytes())
    output.stage()
    text = output.row.intent.decode()
    assert [line for line in text.splitlines() if line.strip()] == [
        "*Missing from this file and added again*",
        next(line for line in recorded.text.splitlines() if line.startswith("### Claude")),
        "two", "three",
    ]  # fmt: skip
    assert (output.row.restored, output.row.reverted) == (2, False)


def test_what_is_missing_from_the_beginning_is_printed_without_front_matter(recorded):
    """Front matter in the middle of a file would be a heading: only the words are printed again."""
    recorded.path.write_text("# emptied\n")
    shown = "".join(recorded.missing().texts())
    assert [shown.count(word) for word in ("one", "two", "three", "four")] == [1, 1, 1, 1]
    assert "---" not in shown


def test_what_is_printed_next_has_a_heading(recorded):
    """The events after the appended ones are not taken for the words of their last speaker."""
    recorded.cut("two")
    recorded.world.cli("verify", "--append-missing", "--yes")
    recorded.source.append(Claude().user("five"))
    recorded.world.once()
    text = recorded.path.read_text()
    assert text.rindex("## You") > text.index("two")
    assert counts(text, "one", "two", "three", "four", "five") == [1] * 5


def test_events_that_other_rules_redacted_are_not_appended(recorded, monkeypatch):
    """If the rules changed since, an event that only looks different must not be written twice."""
    recorded.cut("two")
    monkeypatch.setattr(restore, "RULES_VERSION", 99)
    with pytest.raises(SourceError, match="older set of rules"):
        list(recorded.missing().texts())
    recorded.world.cli("verify", "--append-missing", "--yes", code=1)
    assert "older set of rules" in recorded.world.said


def test_without_the_session_file_status_only_says_that_an_older_copy_was_saved(recorded):
    """How many events are missing cannot be determined any more."""
    recorded.path.write_text(recorded.text.partition("\nthree\n")[0])
    assert recorded.count() == 2
    recorded.source.path.unlink()
    assert recorded.count() is None
    assert "an older copy was saved\n" in recorded.world.cli("status")


def test_more_than_ten_missing_events_are_counted(world):
    """`katod verify` lists the first ten."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"))
    world.once()
    path = world.home / "katod" / "app" / "n.md"
    stale = path.read_text()
    source.append(*(make.says(f"words {number}") for number in range(12)))
    world.once()
    path.write_text(stale)
    said = world.cli("verify", "--append-missing", "--yes")
    assert "and 2 more" in said
    assert counts(path.read_text(), *(f"words {number}" for number in range(12))) == [1] * 12

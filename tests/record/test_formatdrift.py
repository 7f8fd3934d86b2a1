"""What is said of samples, and what counts as a version."""

from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.formatdrift import not_understood, version_in
from katod.store.rows import SampleRow
from tests.looping import each


def test_only_the_latest_sample_of_an_agent_counts():
    """A version that was not understood is forgotten when a later one is."""
    old, new = SampleRow("codex", "9.0", 1, "/x", 20, 15), SampleRow("codex", "9.1", 2, "/x", 20, 0)
    assert not_understood([new, old]) == []
    [(sample, said)] = not_understood([old])
    assert sample is old
    assert said == "15 of 20 records of codex 9.0 are not understood: katod may be too old for it"


@each(("stated", "version"), [("2.1.330", "2.1.330"), ("my words", ""), ("", ""), ("1" * 60, "")])
def test_a_version_looks_like_one(stated, version):
    """Anything else may be text of the session."""
    assert version_in(SessionMetadata(SessionKey("codex", "s"), {"version": stated})) == version

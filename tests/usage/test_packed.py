"""What is kept of a source is what was read of it."""

import pytest

from katod.usage.cells import cells_of
from katod.usage.counts import TokenCounts
from katod.usage.packed import pack_usage, unpack_cells, unpack_keys, unpack_usage
from katod.usage.source import AnswerUsage, CostMark, SourceUsage

ANSWERS = [
    AnswerUsage(-(2**63), 739_000, "m", TokenCounts(1, 2, 3, 4, 5, 6), 0.25),
    AnswerUsage(2**63 - 1, 739_001, "", TokenCounts(2**53, 0), None, is_complete=False),
    AnswerUsage(0, 739_001, "ä model", TokenCounts(1), 0.0),
    AnswerUsage(1, 739_001, "m", TokenCounts(1, 1), is_shared=True),
]


ADAPTER = {"whole": {"1795996500000": {"input": 5, "costs": {"m": 0.5}}}}


def usage(mark=CostMark({"m": 0.5}, 7, 739_000), total=TokenCounts(9)):  # noqa: B008 - constants
    found = SourceUsage()
    found.restore(ANSWERS, mark, total, ADAPTER)
    return found


@pytest.mark.parametrize("total", [None, TokenCounts(9)])
def test_a_source_is_the_same_after_it_was_packed(total):
    """Each answer in its order, the mark of its cost, the sum of the agent, and what its adapter goes on with."""
    kept = pack_usage(usage(total=total), cells_of(usage()))
    again = unpack_usage(kept.answers)
    assert (list(again.answers.values()), again.mark, again.sum) == (ANSWERS, usage().mark, total)
    assert again.adapter == ADAPTER
    assert list(unpack_keys(kept.keys)) == [answer.key for answer in ANSWERS]
    assert unpack_cells(kept.sums) == cells_of(usage())


def test_an_empty_source_is_empty():
    """A session in which nothing was said is read once, too."""
    kept = pack_usage(SourceUsage(), [])
    assert (unpack_usage(kept.answers).answers, list(unpack_keys(kept.keys)), unpack_cells(kept.sums)) == ({}, [], [])


@pytest.mark.parametrize("cut", [0, 3, 20, -1])
def test_other_bytes_are_refused(cut):
    """What was cut is read from the session file again."""
    with pytest.raises(ValueError):
        unpack_usage(pack_usage(usage(), []).answers[:cut])


def test_what_is_kept_has_no_text_but_the_names_of_models():
    """Everything else is a number."""
    kept = b"".join(pack_usage(usage(), cells_of(usage())))
    words = {word for word in kept.replace(b'"', b" ").split() if word.isalpha() and len(word) > 3}
    assert words <= {b"models", b"mark", b"model", b"adapter", b"whole", b"input", b"costs"}


@pytest.mark.parametrize("strange", [{"tokens": TokenCounts(2**63)}, {"day": 2**31}, {"model": "\ud800"}])
def test_what_cannot_be_packed_is_refused(strange):
    """It costs only the source that has it."""
    found = SourceUsage()
    found.restore([ANSWERS[0]._replace(**strange)], CostMark(), None, {})
    with pytest.raises((ValueError, TypeError, OverflowError)):
        pack_usage(found, [])

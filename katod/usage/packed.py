"""What is kept of a source between two runs: numbers, names of models, and keyed hashes, as bytes. Pure."""

import struct
from array import array
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import orjson

from katod.usage.cells import CellKey, CostState, UsageCell
from katod.usage.counts import TokenCounts
from katod.usage.source import AnswerUsage, CostMark, SourceUsage

VERSION: Final = 4  # rises when the same source would be read, or kept, in another way
_ANSWER: Final = struct.Struct("<qiH6qdB")  # key, day, number of the model, counts, cost, flags
_HAS_COST, _IS_COMPLETE, _IS_SHARED = 1, 2, 4
_STATES: Final = {int(state): state for state in CostState}  # `CostState(number)` takes ten times as long


class PackedUsage(NamedTuple):
    """The usage of one source: each answer, and their keys and sums once more, which are all that is mostly needed."""

    answers: bytes
    keys: bytes
    sums: bytes


def pack_usage(usage: SourceUsage, cells: Sequence[UsageCell]) -> PackedUsage:
    """Return the usage of a source as bytes. Raises ValueError, TypeError or OverflowError if it is none."""
    models: dict[str, int] = {}
    try:
        rows = b"".join(_answer(answer, models) for answer in usage.answers.values())
    except struct.error as error:
        raise ValueError("more than can be packed") from error
    about = {"models": list(models), "mark": usage.mark, "sum": usage.sum, "adapter": usage.adapter}
    head = orjson.dumps(about, default=list)
    sums = [[*cell.key[:3], int(cell.key.state), cell.answers, cell.tokens, cell.cost] for cell in cells]
    return PackedUsage(
        len(head).to_bytes(4, "little") + head + rows,
        array("q", usage.answers).tobytes(),
        orjson.dumps(sums, default=list),
    )


def unpack_usage(data: bytes) -> SourceUsage:
    """Return the usage of a source, to which more can be added. Raises ValueError for other bytes."""
    try:
        size = int.from_bytes(data[:4], "little")
        about = orjson.loads(data[4 : 4 + size])
        usage = SourceUsage()
        usage.restore(
            [_read_answer(row, about["models"]) for row in _ANSWER.iter_unpack(data[4 + size :])],
            CostMark(*about["mark"]),
            None if about["sum"] is None else TokenCounts(*about["sum"]),
            about["adapter"],
        )
    except (struct.error, KeyError, IndexError, TypeError) as error:
        raise ValueError("not packed by katod") from error
    return usage


def unpack_keys(data: bytes) -> Sequence[int]:
    """Return the keys of the answers of a source."""
    keys = array("q")
    keys.frombytes(data)
    return keys


def unpack_cells(data: bytes) -> list[UsageCell]:
    """Return the sums over the answers of a source."""
    return [
        UsageCell(CellKey(day, model, size, _STATES[state]), answers, TokenCounts(*tokens), cost)
        for day, model, size, state, answers, tokens, cost in orjson.loads(data)
    ]


def _answer(answer: AnswerUsage, models: dict[str, int]) -> bytes:
    model = models.setdefault(answer.model, len(models))
    flags = (_HAS_COST if answer.cost is not None else 0) | (_IS_COMPLETE if answer.is_complete else 0)
    flags |= _IS_SHARED if answer.is_shared else 0
    return _ANSWER.pack(answer.key, answer.day, model, *answer.tokens, answer.cost or 0.0, flags)


def _read_answer(row: tuple[Any, ...], models: list[str]) -> AnswerUsage:
    key, day, model, *counts, cost, flags = row
    return AnswerUsage(
        key, day, models[model], TokenCounts(*counts), cost if flags & _HAS_COST else None,
        bool(flags & _IS_COMPLETE), bool(flags & _IS_SHARED),
    )  # fmt: skip

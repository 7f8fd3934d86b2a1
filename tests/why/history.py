"""A file with a past in which it is known who wrote each line: edits of agents, and whatever people do."""

from random import Random
from typing import NamedTuple

from katod.edits.edits import Cause, Edit, LineChange
from katod.edits.lines import LineHasher
from katod.model import SessionKey
from katod.why.trace import Trace

HASHER = LineHasher(hash)
_WORDS = [
    "order",
    "total",
    "price",
    "member",
    "discount",
    "shipping",
    "address",
    "basket",
    "invoice",
    "customer",
    "payment",
    "refund",
]
_TRIVIAL = ("}", "", "    )", "  return", "end", "],")
_ANYWHERE = {text.strip() for text in _TRIVIAL}
_KEY = SessionKey("claude", "s")


class Known(NamedTuple):
    """A line, and who wrote it: the number of an edit, or 0 for a person."""

    text: str
    writer: int


def cause(number):
    """Return what led to an edit."""
    return Cause(_KEY, str(number), "", "", "")


def change(old, new, *, everywhere=False):
    """Return the change of one text into another; None for a file that is written as a whole."""
    return LineChange(() if old is None else HASHER.lines(old), HASHER.lines(new), everywhere, old is None)


def edit(number, *changes):
    """Return an edit of texts."""
    return Edit(cause(number), tuple(change(old, new) for old, new in changes))


class History:
    """One random past. `step` does something; `check` compares what the trace says with what is known."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.trace = Trace()
        self.lines = [self._line(0) for _ in range(self.random.randint(0, 30))]
        self.kept = list(self.lines)  # as the last version has them
        self.edits = 0
        self.written: dict[int, set[str]] = {}
        self.trace.version(HASHER.lines(self._text(self.lines)))

    def _text(self, lines: list[Known]) -> str:
        return "".join(f"{line.text}\n" for line in lines)

    def _line(self, writer: int) -> Known:
        if self.random.random() < 0.3:
            return Known(self.random.choice(_TRIVIAL), writer)
        words = " ".join(self.random.choices(_WORDS, k=self.random.randint(2, 4)))
        return Known(f"{'    ' * self.random.randint(0, 2)}{words} {self.random.randint(0, 400)}", writer)

    def _span(self) -> tuple[int, int]:
        first = self.random.randint(0, max(len(self.lines) - 1, 0))
        return first, min(len(self.lines), first + self.random.randint(1, 6))

    def step(self) -> None:
        """Have an agent or a person do something."""
        self.random.choices(
            (self._agent, self._person, self._commit, self._reset, self._indent, self._move, self._write),
            (10, 4, 5, 1, 1, 1, 0.5),
        )[0]()

    def _agent(self) -> None:
        first, last = self._span()
        old = self.lines[first:last]
        if not old:
            return
        self.edits += 1
        new = [line if self.random.random() < 0.5 else self._line(self.edits) for line in old]
        new += [self._line(self.edits) for _ in range(self.random.randint(0, 4))]
        texts = [line.text for line in self.lines]
        wanted = [line.text for line in old]
        places = [at for at in range(len(texts)) if texts[at : at + len(wanted)] == wanted]
        if len(places) != 1 or [line.text for line in new] == wanted:
            return  # an agent's client refuses such an edit
        self.written[self.edits] = {line.text.strip() for line in new}
        self.lines[first:last] = new
        self.trace.edit(edit(self.edits, (self._text(old), self._text(new))))

    def _write(self) -> None:
        self.edits += 1
        new = [self._line(self.edits) for _ in range(self.random.randint(3, 20))]
        self.lines = new
        self.written[self.edits] = {line.text.strip() for line in new}
        self.trace.edit(edit(self.edits, (None, self._text(new))))

    def _person(self) -> None:
        first, last = self._span()
        self.lines[first:last] = [self._line(0) for _ in range(self.random.randint(0, 5))]

    def _indent(self) -> None:
        first, last = self._span()
        self.lines[first:last] = [line._replace(text=f"  {line.text}") for line in self.lines[first:last]]

    def _move(self) -> None:
        first, last = self._span()
        block, self.lines[first:last] = self.lines[first:last], []
        at = self.random.randint(0, len(self.lines))
        self.lines[at:at] = block

    def _reset(self) -> None:
        self.lines = list(self.kept)

    def _commit(self) -> None:
        self.kept = list(self.lines)
        self.trace.version(HASHER.lines(self._text(self.lines)))

    def check(self) -> tuple[int, int]:
        """Check what is said of each line; return how many lines edits wrote, and of how many of these it is said."""
        self._commit()
        written = said = 0
        rows = self.trace.rows
        assert len(rows) == len(self.lines)
        for row, known in zip(rows, self.lines, strict=True):
            written += bool(known.writer)
            if row.cause is not None:
                said += row.cause == cause(known.writer)
                assert known.text.strip() in self.written[int(row.cause.call)], "an edit is named that never wrote it"
                if known.text.strip() not in _ANYWHERE:
                    assert row.cause == cause(known.writer), (known, row)
        return written, said

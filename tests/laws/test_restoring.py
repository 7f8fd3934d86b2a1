"""What is missing of a recording is appended once, whatever a person did to the file."""

from functools import cache, partial

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from katod.log import EventLog
from katod.record.output import Output
from katod.record.restore import Missing
from katod.store.ledger import Ledger
from tests.examples import examples, texts
from tests.support.records import Claude
from tests.support.world import World

MARK = "*Missing from this file and added again*"
LINES = ("jsonl", "stream.jsonl", "matrix.jsonl", "otlp.jsonl", "lifecycle.jsonl")
FORMATS = ("md", *(pytest.param(name, marks=pytest.mark.slow) for name in LINES))


class Recorded:
    """A recording with what makes texts depend on each other: pauses, days, models, runs of calls, equal messages."""

    def __init__(self, world: World, name: str = "n.md") -> None:
        self.world, self.make, self.source = world, Claude(), world.claude()
        make = self.make
        self.source.append(
            make.user(f"::start {name}\nfirst words"), make.says("ok"), make.calls("a", "Bash", command="make"),
            make.result("a", "done"), make.says("ok", model="claude-haiku-4-5"),
        )  # fmt: skip
        make.count += 20
        self.source.append(make.says("after a pause"), make.user("ok"), make.says("ok"))
        for number in range(11):
            self.source.append(make.calls(f"r{number}", "Read", file_path=f"/home/me/app/{number}.py"))
            self.source.append(make.result(f"r{number}", "x"))
        self.source.append(make.says("one\n\n```py\nok\n```\n\n- two\n- ok\n"), make.user("::stop"))
        make.count += 24 * 60
        self.source.append(make.user("aside"), make.says("aside"), make.user("::start\nthe next day\nin two lines"))
        self.source.append(make.says("ok"), make.user("first words"), make.says("last words"))
        world.once()
        [self.row] = self._rows = world.outputs()
        self.text = self.row.path.read_bytes()

    def as_written(self) -> "Recorded":
        """Return it as katod wrote it."""
        [self.row] = self._rows
        self.row.path.write_bytes(self.text)
        return self

    def missing(self) -> Missing:
        """Compare the file with the session."""
        ledger = Ledger.read(self.world.state)
        assert ledger is not None
        try:
            return Missing.of(self.row, ledger, EventLog())
        finally:
            ledger.close()

    def append_missing(self) -> None:
        """Append what is missing, as the daemon does."""
        found, output = self.missing(), Output(self.row)
        if found.numbers:
            output.restore_missing(found.texts(), len(found.numbers), found.content)
            output.stage()
            text = self.row.path.read_bytes()
            between = b"" if not text or text.endswith(b"\n") else b"\n"
            self.row.path.write_bytes(text + between + (output.row.intent or b""))
            self.row = output.row._replace(intent=None, bounds=())


PLACES = st.tuples(st.integers(0, 60), st.integers(0, 12))
NOTES = texts(max_size=12) | st.sampled_from(
    ["ok", "- ok", "## You · 22:36", MARK, f"\n{MARK}\n", "---", "first words", "\n"]
)
# What an editor, or a tool beside it, may do to a file in which everything that was said is still there.
HARMLESS = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "cr": lambda text: text.replace("\n", "\r"),
    "bom": lambda text: f"\ufeff{text}",
    "tag": lambda text: text.replace("tags: [", "tags: [mine, "),
    "property": lambda text: text.replace("---\n", "---\nstatus: done\n", 1),
    "title": lambda text: text.replace('title: "n"', 'title: "My notes"').replace("# n\n", "# My notes\n", 1),
    "plain": lambda text: text.split("---\n", 2)[-1].lstrip(),
    "end": lambda text: text.rstrip(),
}
WHOLE = HARMLESS | {
    "empty": lambda _: "",
    "reverse": lambda text: "".join(reversed(text.splitlines(keepends=True))),
}
PARTS = {
    "delete": lambda _, __: [],
    "double": lambda some, _: some * 2,
    "break": lambda some, _: [line[: len(line) // 2] for line in some],
    "note": lambda some, note: [note, *some],
    "change": lambda _, note: [note],
}
EDITS = st.one_of(
    st.tuples(st.sampled_from([*PARTS, "move"]), PLACES, NOTES), st.tuples(st.sampled_from([*WHOLE]))
)  # fmt: skip


def edited(text, edit):
    """Return a text as a person leaves it."""
    how, *where = edit
    if not where:
        return WHOLE[how](text)
    (place, count), note = where
    lines = text.splitlines(keepends=True)
    begin = place % (len(lines) + 1)
    before, some, after = lines[:begin], lines[begin : begin + count], lines[begin + count :]
    return "".join([*before, *after, *some] if how == "move" else [*before, *PARTS[how](some, note), *after])


@pytest.mark.parametrize("name", FORMATS)
@given(rounds=st.lists(st.lists(EDITS, min_size=1, max_size=4), min_size=1, max_size=3))
@example([[("empty",)]])
@example([[("crlf",), ("delete", (12, 9), "")], [("bom",), ("delete", (3, 12), "")]])
@examples(6, 400)
def test_what_is_missing_is_appended_once(recording, name, rounds):
    """After that nothing is, however the file was edited before, and whatever had been appended."""
    recorded = recording(name)
    for edits in rounds:
        text = recorded.row.path.read_bytes().decode()
        for edit in edits:
            text = edited(text, edit)
        recorded.row.path.write_bytes(text.encode("utf-8", "surrogatepass"))
        recorded.append_missing()
        assert recorded.missing().numbers == []


@pytest.mark.parametrize("name", FORMATS)
@given(edits=st.lists(st.sampled_from([*HARMLESS]), max_size=3, unique=True))
@example(["crlf", "bom"])
@example(["title", "tag"])
@examples(4, 60)
def test_what_is_there_is_not_missing(recording, name, edits):
    """In other line ends, with another head or without one: nothing would be appended."""
    recorded = recording(name)
    text = recorded.text.decode()
    for edit in edits:
        text = HARMLESS[edit](text)
    recorded.row.path.write_bytes(text.encode())
    assert recorded.missing().numbers == []


@pytest.fixture
def recording(world):
    """Return what makes the recording in a format, once, and gives it back as it was written."""
    made = cache(partial(Recorded, world))
    return lambda name: made(name).as_written()

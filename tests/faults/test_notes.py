"""A person edits an output that a kill left half-written: the note stays, and each event is written once."""

import pytest

from tests.examples import mostly
from tests.support.world import World

from .checks import OK, marks_of
from .power import Cut, Disk

NOTE = "a note of mine"
LOG = " log.jsonl"
# When the kill happens: before the append, in it (after this fraction), after it, or after its sync.
KILLS = {
    "committed": Cut(1, "inside", 0),
    "early": Cut(1, "inside", 0.2),
    "late": Cut(1, "inside", 0.7),
    "appended": Cut(1, "before", 0),
    "synced": Cut(1, "behind", 0),
}
formats = pytest.mark.parametrize("name", ["", pytest.param(LOG, marks=pytest.mark.slow)], ids=["markdown", "jsonl"])
both_formats = pytest.mark.parametrize("name", ["", LOG], ids=["markdown", "jsonl"])
kills = pytest.mark.parametrize("kill", mostly(("late", "appended"), KILLS))


class Scene:
    """A recording, and the expected content of its output."""

    def __init__(self, world, name):
        self.world, self.session = world, world.session()
        self.marks = []
        self.spoken = 0
        self.session.append(self.session.user(f"::start{name}\none"))

    def speak(self, count=3):
        """Append messages with a mark, each followed by the same `ok`."""
        for _ in range(count):
            self.marks.append(f"mark-00000001-{len(self.marks):06d}.")
            self.spoken += 1
            records = self.session.says(f"some words\n\nand more\n{self.marks[-1]}"), self.session.says("ok")
            self.session.append(*records)

    def kill(self, kill):
        """Run until the kill with this name."""
        assert self.world.once_until(KILLS[kill].on(Disk(self.world.out)))

    def insert(self, at):
        """Insert the note between two lines, as an editor does: write a new file, rename it, and return the path."""
        path = self.path
        content = path.read_bytes().splitlines(keepends=True)
        fresh = path.with_suffix(".new")
        fresh.write_bytes(b"".join([*content[:at], f"{NOTE}\n".encode(), *content[at:]]))
        return fresh.rename(path)

    @property
    def path(self):
        return self.world.files()[0]

    def assert_whole(self, notes=1):
        """Assert that every mark, every `ok` and every note appears exactly once."""
        content = self.path.read_text()
        assert content.count(NOTE) == notes
        assert marks_of(self.path, edited=True) == (self.marks, self.spoken), content
        if self.path.suffix == ".md":
            assert len(OK.findall(content)) == self.spoken


@pytest.mark.fault("output edited")
@formats
@kills
@pytest.mark.parametrize("end", ["\n", ""], ids=["a line", "half a line"])
@pytest.mark.parametrize("again", [pytest.param(False, marks=pytest.mark.slow), True], ids=["once", "twice"])
def test_a_note_behind_what_a_kill_left(quick, name, kill, end, again):
    """The note stays and no event is lost or doubled, even if the run that completes the append is also killed."""
    world = World(quick)
    scene = Scene(world, name)
    scene.speak()
    world.process()
    scene.speak()
    scene.kill(kill)
    with scene.path.open("a") as file:
        file.write(f"{NOTE}{end}")
    if again:
        scene.speak(1)
        world.once_until(KILLS["late"].on(Disk(world.out)))
    scene.speak()
    world.process()
    scene.assert_whole()


@pytest.mark.fault("output edited")
@formats
@pytest.mark.parametrize("kill", mostly(("no kill", "late"), ["no kill", *KILLS]))
@pytest.mark.parametrize("end", ["\n", ""], ids=["a line", "half a line"])
def test_a_note_behind_a_whole_recording(quick, name, kill, end):
    """The next event begins on a line of its own, whatever a kill leaves of it."""
    world = World(quick)
    scene = Scene(world, name)
    scene.speak()
    world.process()
    with scene.path.open("a") as file:
        file.write(f"{NOTE}{end}")
    scene.speak()
    if kill in KILLS:
        scene.kill(kill)
    world.process()
    scene.assert_whole()
    assert f"{NOTE}\n" in scene.path.read_text()


@pytest.mark.slow
@pytest.mark.fault("output edited")
@formats
@kills
@pytest.mark.parametrize("first", [True, False], ids=["first append", "second append"])
@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.slow), 29], ids=["any", "some"])
def test_a_note_between_any_two_lines_of_what_a_kill_left(quick, name, kill, first, step):
    """Wherever an editor inserted a line, each event is written once.

    A file that the ledger does not know yet, and whose beginning was changed, is parked until it is moved.
    """
    at, lines = 1, 2
    while at < lines:
        world = World(quick / str(at))
        scene = Scene(world, name)
        scene.speak()
        if not first:
            world.process()
            scene.speak()
        scene.kill(kill)
        lines = len(scene.path.read_bytes().splitlines())
        if lines < 2:
            return
        path = scene.insert(at)
        scene.speak()
        world.process()
        if first and any(row.problem for row in world.outputs()):
            path.rename(quick / "moved")
            world.process()
            scene.assert_whole(notes=0)
        else:
            scene.assert_whole()
        at += step


@pytest.mark.slow
@pytest.mark.fault("output edited")
@both_formats
@kills
def test_a_note_far_above_the_same_words_that_were_said_before(quick, name, kill):
    """An earlier copy of the text in an interrupted append is not taken as evidence that the append was written."""
    world = World(quick)
    scene = Scene(world, name)
    scene.speak(40)
    world.process()
    scene.spoken += 1
    scene.session.append(scene.session.says("ok"))
    scene.kill(kill)
    scene.insert(20)
    world.process()
    scene.assert_whole()

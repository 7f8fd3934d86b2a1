"""Sessions that another process reads before their turn: which ones, and that their exports are the same."""

import base64

import pytest

from katod import processes
from katod.archive import update
from katod.archive.folder import opened
from katod.archive.sessiontext import ReadText, Rendering
from katod.archive.update import bring_up_to_date
from katod.cli.context import Context
from katod.config import load
from katod.formatspec import FORMATS
from katod.record.policy import Policy
from tests.examples import mostly
from tests.support.records import Claude
from tests.support.records.base import says, user

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()


@pytest.fixture
def export(world, monkeypatch):
    """Return a function that exports everything, and returns what there is then, and which sessions were read here."""
    monkeypatch.setattr(update, "_MUCH", 0)
    begin, here = Rendering.begin, []

    def noted(rendering, task):
        here.append(task.found.key.id[:8] + task.found.key.subagent)
        return begin(rendering, task)

    monkeypatch.setattr(Rendering, "begin", noted)

    def export(cores, *, form="markdown", base=""):
        monkeypatch.setattr(processes, "cores", lambda: cores)
        here.clear()
        root = world.home / f"all-{cores}-{form}"
        policy = Policy.of(load(world.config), ())
        options = policy.export_options(form, thinking=True, tools="full", redact=True)
        with opened(root) as folder:
            options = options if not base else options.__class__(base=base)
            result = bring_up_to_date(
                folder, Context(None).found().values(), policy, form, options, lambda tasks: tasks
            )
        found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("[!.]*") if path.is_file()}
        return found, result, list(here)

    return export


@pytest.fixture
def sessions(world):
    """Make sessions of all kinds: with a name that another one has, with a sub-agent, empty, and with a picture."""
    for number in range(1, 6):
        world.session(number).say(user("the same words"), says(f"answer {number} " + "word " * number * 1000))
    Claude(world, world.session(1).session, subagent="a1b2").say(user("look around"), says("done"))
    world.session(6).append(world.session(6).record("permission-mode", permissionMode="plan"))
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    picture = world.session(7)
    picture.say(user("see"))
    message = {"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": "this"}]}
    picture.append(picture.record("user", message=message, promptSource="typed"))
    picture.say(says("nice"))


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("form", mostly({"markdown", "html"}, FORMATS))
def test_exports_are_the_same_wherever_sessions_are_read(export, form):
    """Their names, their text, their pictures, and what is counted."""
    one, two = export(1, form=form), export(2, form=form)
    assert one[0] == two[0]
    assert one[1].counts == two[1].counts
    assert not set(two[2]) & {f"0000000{number}" for number in range(1, 6)}


def test_nothing_below_an_excluded_project_is_read_ahead(world, export, monkeypatch):
    """Not even a sub-agent that worked elsewhere, before its parent's turn has come."""
    world.configure(exclude=["/home/me/app"])
    world.session(1).say(user("secret words"), says("yes"))
    child = Claude(world, world.session(1).session, subagent="a1b2")
    child.cwd = "/home/me/other"
    child.say(user("look around"), says("done"))
    spooled = world.home / "spooled"
    spooled.mkdir()
    monkeypatch.setattr(ReadText, "spooled", lambda talk: (spooled / f"-{talk.metadata.key.subagent}").touch())
    assert export(2)[1].counts == {"excluded": 2}
    assert list(spooled.iterdir()) == []
    world.configure(exclude=[])
    assert export(2)[1].counts == {"wrote": 2}
    assert {path.name for path in spooled.iterdir()} == {"-", "-a1b2"}  # so this would notice


@pytest.mark.usefixtures("sessions")
def test_what_depends_on_the_place_is_read_in_its_turn(export):
    """A session with a picture that is saved beside it, and all where links lead to a directory."""
    found, _, here = export(2)
    assert [name for name in found if name.endswith(".png")] != []
    assert {"00000007"} <= set(here) <= {"00000006", "00000007"}
    assert len(set(export(2, form="jsonl", base="../images")[2])) == 8

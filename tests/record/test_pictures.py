"""Pictures that a recording links to are beside it, also if they could not be saved at once."""

import base64

import pytest

from katod.record.pictures import among, picture_file
from katod.write import output as module
from tests.support.inprocess import InProcess
from tests.support.records import Claude

LATER = 1000.0  # seconds: whatever is parked is retried by then
PICTURES = [b"one picture", b"another picture"]


def shown(make, *contents):
    """Return a message with pictures."""
    sources = [
        {"type": "base64", "media_type": "image/png", "data": base64.b64encode(data).decode()} for data in contents
    ]
    return make.user([{"type": "text", "text": "look"}, *({"type": "image", "source": one} for one in sources)])


def a_file_for_the_folder(world):
    """The folder of pictures is a file."""
    blocking = world.out / "app" / "notes.assets"
    blocking.parent.mkdir(parents=True, exist_ok=True)
    blocking.write_text("in the way")
    return blocking.unlink


def a_missing_disk(world):
    """The directory of outputs is the empty place of a disk."""
    away = world.out.rename(world.home / "away")
    world.out.mkdir()

    def mend():
        world.out.rmdir()
        away.rename(world.out)

    return mend


@pytest.mark.whole
@pytest.mark.parametrize("command", ["::start notes", "::capture notes"])
@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("hinder", [a_file_for_the_folder, a_missing_disk])
def test_pictures_come_later_with_the_text_that_links_to_them(world, hinder, begun, command):
    """A recording whose pictures cannot be saved is parked; later, each of them and all of the text are there, once."""
    make, source = Claude(), world.claude()
    source.append(make.user("something"), make.says("an answer"))
    first = [make.user(f"{command}\nhello"), make.says("hello, too")]
    if begun or hinder is a_missing_disk:
        source.append(*first)
        first = []
        world.process()
    mend = hinder(world)
    source.append(*first, shown(make, *PICTURES), make.says("I see them"))
    for _ in range(2):
        world.process()
        assert list(world.parked()) == ["notes.md"]
    mend()
    source.append(make.user("more"), make.says("yes"))
    world.process()
    world.process()
    assert world.parked() == {}
    saved = {path.name: path.read_bytes() for path in (world.out / "app" / "notes.assets").iterdir()}
    assert saved == dict(picture_file("image/png", base64.b64encode(data).decode()) for data in PICTURES)
    text = world.written()["notes.md"]
    assert all(text.count(f"](<notes.assets/{name}>)") == 1 for name in saved)
    assert world.assert_live_is_batch() == 1


def waiting(world):
    """Return a running katod whose pictures wait for their folder, the session, and what makes way for the folder."""
    make, source, katod = Claude(), world.claude(), InProcess(world)
    source.append(make.user("::start notes\nhello"), make.says("hello, too"))
    katod.turn()
    mend = a_file_for_the_folder(world)
    source.append(shown(make, *PICTURES), make.says("I see them"))
    katod.turn(LATER)
    return katod, source, mend


@pytest.mark.whole
@pytest.mark.parametrize("killed", [False, True])
def test_a_process_has_the_pictures_that_wait_and_the_next_one_reads_them_again(world, killed):
    """Until then, a running one needs no session file for them; neither is the text there before them."""
    katod, source, mend = waiting(world)
    assert "look" not in world.written()["notes.md"]
    if killed:
        katod.vanish()
    else:
        source.path.unlink()
    mend()
    katod = InProcess(world) if killed else katod
    katod.turn(LATER)
    katod.stop()
    saved = sorted(path.read_bytes() for path in (world.out / "app" / "notes.assets").iterdir())
    assert (saved, world.written()["notes.md"].count("notes.assets/")) == (sorted(PICTURES), 2)
    assert world.parked() == {}


def a_second_name(saved):
    saved.with_suffix(".copy").hardlink_to(saved)


def a_link_to_it(saved):
    saved.rename(saved.with_suffix(".kept"))
    saved.symlink_to(saved.with_suffix(".kept"))


def a_link_to_its_folder(saved):
    saved.parent.rename(saved.parent.with_suffix(".kept"))
    saved.parent.symlink_to(saved.parent.with_suffix(".kept"))


@pytest.mark.whole
@pytest.mark.parametrize("put", [a_second_name, a_link_to_it, a_link_to_its_folder])
def test_a_picture_that_its_person_linked_is_there(world, put):
    """As tools do that save space: the next message with it waits for nothing."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\nhello"), shown(make, PICTURES[0]), make.says("hello, too"))
    world.process()
    [saved] = (world.out / "app" / "notes.assets").iterdir()
    put(saved)
    source.append(shown(make, PICTURES[0]), make.says("again"))
    world.process()
    assert world.parked() == {}
    assert world.written()["notes.md"].count(f"notes.assets/{saved.name}") == 2
    assert saved.read_bytes() == PICTURES[0]


@pytest.mark.whole
@pytest.mark.parametrize("leads", ["to a folder", "nowhere"])
@pytest.mark.parametrize("waited", [False, True])
def test_a_linked_folder_of_pictures_takes_no_more_and_stops_no_text(world, leads, waited):
    """Nothing is written through a link. Its person may have moved the folder to another disk, which may be away."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\nhello"), make.says("hello, too"))
    world.process()
    if waited:  # for a place, so that the next process reads it in the session again
        make_way = a_file_for_the_folder(world)
        source.append(shown(make, PICTURES[0]), make.says("I see it"))
        world.process()
        assert world.parked()
        make_way()
    elsewhere = world.home / "disk"
    if leads == "to a folder":
        elsewhere.mkdir()
    (world.out / "app" / "notes.assets").symlink_to(elsewhere)
    source.append(shown(make, PICTURES[1]), make.says("these words"))
    for _ in range(2):
        world.process()
    assert world.parked() == {}
    assert "these words" in world.written()["notes.md"]
    assert world.written()["notes.md"].count("notes.assets/") == 1 + waited
    assert list(elsewhere.glob("*")) == []


def test_what_links_to_no_picture_waits_for_none(world):
    """Events in JSONL name pictures by their hashes alone."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes.jsonl\nhello"), make.says("hello, too"))
    world.process()
    a_file_for_the_folder(world)
    source.append(shown(make, *PICTURES), make.says("I see them"))
    world.process()
    assert world.parked() == {}
    assert "I see them" in world.written()["notes.jsonl"]


def test_what_a_running_process_has_is_not_looked_for(world, monkeypatch):
    """A session that cannot be read, or is large, holds up nothing for pictures that are in memory."""
    katod, _, mend = waiting(world)
    monkeypatch.setattr("katod.record.delivery.pictures_again", lambda *_: pytest.fail("the session is read"))
    mend()
    katod.turn(LATER)
    katod.stop()
    assert world.written()["notes.md"].count("notes.assets/") == 2


def test_a_picture_that_a_full_disk_cut_short_is_completed(world, monkeypatch):
    """The text that links to it waits until the picture is whole."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\nhello"), make.says("hello, too"))
    world.process()
    source.append(shown(make, PICTURES[0]))
    with monkeypatch.context() as full:
        full.setattr(module.durable, "write", lambda fd, data: module.os.write(fd, data[:3]) and 0)
        world.process()
    [cut] = (world.out / "app" / "notes.assets").iterdir()
    assert PICTURES[0].startswith(cut.read_bytes())
    assert cut.stat().st_size < len(PICTURES[0])
    assert "look" not in world.written()["notes.md"]
    world.process()
    assert (cut.read_bytes(), cut.name in world.written()["notes.md"]) == (PICTURES[0], True)


def test_text_that_is_appended_again_has_its_pictures(world):
    """An older copy of the whole directory was put back: there, its pictures are missing as well."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start notes\nhello"), make.says("hello, too"))
    world.process()
    older = world.written()["notes.md"]
    source.append(shown(make, PICTURES[0]), make.says("I see it"))
    world.process()
    [saved] = (world.out / "app" / "notes.assets").iterdir()
    (world.out / "app" / "notes.md").write_text(older)
    saved.unlink()
    world.process()
    world.cli("verify", "--append-missing", "--yes")
    assert (saved.read_bytes(), world.written()["notes.md"].count(saved.name)) == (PICTURES[0], 1)


def test_each_picture_is_found_once(parts):
    """Among all events, those with the wanted names; none behind the last one that is wanted is looked at."""
    make = Claude()
    parts.world.claude().append(shown(make, *PICTURES), shown(make, *PICTURES), make.says("seen"))
    source = parts.source()
    events = [*parts.read(parts.load(source), source)]
    wanted = [("image/png", base64.b64encode(data).decode()) for data in PICTURES]
    names = {picture_file(*one)[0] for one in wanted}
    assert list(among(events, names)) == wanted
    assert list(among(iter(events), {"other.png"})) == []

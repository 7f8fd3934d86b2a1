"""The index of exported pages: it lists what lies beside it, and nothing that a person wrote is replaced by it."""

import json
import os

import pytest

from katod.archive.folder import opened
from katod.archive.indexfile import update_index
from katod.archive.manifest import MANIFEST
from katod.write.whole import head_at
from tests.support.records import Claude
from tests.support.records.base import says, user


@pytest.fixture
def folder(world):
    """Return the folder of exports, which does not exist yet."""
    return world.home / "all"


@pytest.fixture
def export(world, folder):
    """Return a function that brings the folder up to date, and returns what katod prints."""

    def run(*options, form="html", code=0):
        return world.cli("export", "--all", "-f", form, "-o", str(folder), *options, code=code).strip()

    return run


@pytest.fixture
def two(world):
    """Return two sessions with something said."""
    return [world.session(number).say(user(f"words {number}"), says("answer")) for number in (1, 2)]


def listed(folder):
    """Return the links of the index, in their order."""
    return [part.partition('"')[0] for part in (folder / "index.html").read_text().split('<a href="')[1:]]


def stamp(folder):
    """Return what would differ if the index had been written again."""
    stat = (folder / "index.html").stat()
    return stat.st_ino, stat.st_mtime_ns


def remove_pages(folder, sessions):
    """Remove all pages, and the sessions that they are of."""
    for path in (*folder.glob("app/*.html"), *(session.path for session in sessions)):
        path.unlink()


def change_alike(index):
    """Change an index so that its size and time stay; return its text."""
    stat, changed = index.stat(), index.read_text().replace("Transcripts", "Transcript$")
    index.write_text(changed)
    os.utime(index, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    return changed


class Killed(BaseException):
    """The end of a run at this point."""


@pytest.fixture
def killed(folder, monkeypatch):
    """Return a function that updates the index and is killed before the new one has its name."""

    def publish(*_):
        raise Killed

    def run():
        with monkeypatch.context() as patch, opened(folder) as locked:
            patch.setattr("katod.write.whole.UnfinishedFile.publish", publish)
            with pytest.raises(Killed):
                update_index(locked)

    return run


def test_it_lists_every_page(folder, export, two):
    """Its name is printed, and every link leads to a file beside it."""
    assert export() == f"wrote 2\nwrote the index, {folder / 'index.html'}"
    assert listed(folder) == ["app/2026-02-10-words-1-00000001.html", "app/2026-02-10-words-2-00000002.html"]
    assert all((folder / name).is_file() for name in listed(folder))


def test_it_stays_untouched_while_nothing_changes(folder, export, two, monkeypatch):
    """Neither it nor a page is opened to see that."""
    export()
    before = stamp(folder)
    monkeypatch.setattr("katod.archive.folder.head_at", None)
    monkeypatch.setattr("katod.archive.folder.digest_at", None)
    assert export() == "unchanged 2"
    assert stamp(folder) == before


def test_it_stays_untouched_if_it_would_be_the_same(folder, export, two):
    """A page that has grown below its title changes nothing in it."""
    export()
    before = stamp(folder)
    two[0].say(says("more"))
    assert export() == "updated 1, unchanged 1"
    assert stamp(folder) == before
    assert export() == "unchanged 2"


def test_it_is_written_again_when_a_page_comes_or_goes(world, folder, export, two):
    """A new session is in it, and so is a page of a session that is gone, until the page is gone, too."""
    export()
    world.session(3).say(user("words 3"))
    two[0].path.unlink()
    assert export().startswith("wrote 1, unchanged 1\nupdated the index")
    assert len(listed(folder)) == 3
    (folder / "app" / "2026-02-10-words-1-00000001.html").unlink()
    export()
    assert listed(folder) == ["app/2026-02-10-words-2-00000002.html", "app/2026-02-10-words-3-00000003.html"]


def test_it_goes_with_the_last_page(folder, export, two):
    """That is said, unless somebody has removed it before."""
    export()
    remove_pages(folder, two)
    assert export() == f"no sessions found\nremoved the index, {folder / 'index.html'}"
    assert not (folder / "index.html").exists()
    assert export() == "no sessions found"


def test_an_index_that_went_before_the_last_page_is_not_said_to_be_removed(folder, export, two):
    """The list has nothing of it any more."""
    export()
    remove_pages(folder, two)
    (folder / "index.html").unlink()
    assert export() == "no sessions found"
    assert "index.html" not in (folder / MANIFEST).read_text()


def test_only_pages_have_one(folder, export, two):
    """Transcripts in Markdown are neither listed nor the reason for an index."""
    assert export(form="markdown") == "wrote 2"
    assert not (folder / "index.html").exists()
    export()
    assert [name for name in listed(folder) if name.endswith(".md")] == []


def test_without_pages_there_is_none(folder, export):
    """Nothing is written for nothing."""
    assert export() == "no sessions found"
    assert not (folder / "index.html").exists()


def test_a_persons_own_file_is_left_alone(world, folder, export, two):
    """It is counted and named, and stays as it is."""
    folder.mkdir()
    mine = folder / "index.html"
    mine.write_text("mine")
    assert export() == "wrote 2, left alone 1"
    assert f"{mine} is not katod's" in world.said
    assert export() == "unchanged 2, left alone 1"
    assert mine.read_text() == "mine"
    mine.unlink()
    assert "wrote the index" in export()


def test_a_link_is_left_alone(folder, export, two):
    """Nothing is written to what it leads to."""
    folder.mkdir()
    (folder / "other.html").write_text("mine")
    (folder / "index.html").symlink_to("other.html")
    assert export() == "wrote 2, left alone 1"
    assert (folder / "other.html").read_text() == "mine"


def test_an_index_that_was_changed_is_left_alone(folder, export, two):
    """It is named among the files that a person changed; deleted, it is written again."""
    export()
    index = folder / "index.html"
    index.write_text("mine")
    two[0].say(says("more"))
    assert export().splitlines()[-1].strip() == str(index)
    assert index.read_text() == "mine"
    index.unlink()
    assert "wrote the index" in export()
    assert len(listed(folder)) == 2


def test_an_index_that_was_changed_alike_in_size_and_time_is_left_alone(folder, export, two):
    """Its content is compared before it is replaced."""
    export()
    index = folder / "index.html"
    changed = change_alike(index)
    (folder / "app" / "2026-02-10-words-1-00000001.html").unlink()
    two[0].path.unlink()
    assert "left alone 1" in export()
    assert index.read_text() == changed


def test_an_index_that_was_changed_alike_in_size_and_time_is_not_removed(folder, export, two):
    """Its content is compared before it goes with the last page."""
    export()
    changed = change_alike(folder / "index.html")
    remove_pages(folder, two)
    assert "left alone 1" in export()
    assert (folder / "index.html").read_text() == changed


def test_an_index_that_a_killed_run_was_about_to_replace_is_replaced(folder, export, two, killed):
    """The list knows the new one already; the old one is katod's, too."""
    export()
    before = stamp(folder)
    (folder / "app" / "2026-02-10-words-1-00000001.html").unlink()
    two[0].path.unlink()
    killed()
    assert stamp(folder) == before
    assert export() == f"unchanged 1\nupdated the index, {folder / 'index.html'}"
    assert listed(folder) == ["app/2026-02-10-words-2-00000002.html"]


def test_an_index_that_a_killed_run_was_about_to_replace_goes_with_the_last_page(folder, export, two, killed):
    """It is katod's, though it is not the one that the list knows last."""
    export()
    (folder / "app" / "2026-02-10-words-1-00000001.html").unlink()
    killed()
    remove_pages(folder, two)
    assert export() == f"no sessions found\nremoved the index, {folder / 'index.html'}"


def test_a_lost_list_costs_no_index(folder, export, two):
    """One that is what katod would write is recognised."""
    export()
    before = stamp(folder)
    (folder / MANIFEST).unlink()
    assert export() == "unchanged 2"
    assert stamp(folder) == before
    rows = [json.loads(line) for line in (folder / MANIFEST).read_text().splitlines()]
    assert [row["file"] for row in rows if row.get("session") == ["", "", ""]] == ["index.html"]


def test_no_session_gets_its_name(world, folder, export):
    """A template may make `index` of a title."""
    world.configure(filename="{title}")
    world.session(1).say(user("index"))
    export()
    assert listed(folder) == ["index-2.html"]


def test_pages_of_subagents_are_below_their_parents(world, folder, export, two):
    """Those of a session that has no page stand alone."""
    Claude(world, two[0].session, subagent="a1b2").say(user("look"), says("done"))
    export()
    page = (folder / "index.html").read_text()
    parent, child = page.index("words-1-00000001.html"), page.index("agent-a1b2.html")
    assert parent < page.index("<summary>1 sub-agent</summary>") < child < page.index("words-2-00000002.html")
    (folder / "app" / "2026-02-10-words-1-00000001.html").unlink()
    with opened(folder) as locked:
        assert update_index(locked) == "updated"
    assert "<summary>" not in (folder / "index.html").read_text()
    assert "agent-a1b2.html" in (folder / "index.html").read_text()


def test_stars_and_labels_are_in_it(world, folder, export, two):
    """As far as they are in the pages."""
    export()
    world.cli("star", two[0].session)
    world.cli("label", two[0].session, "auth")
    export()
    assert "★ #auth" in (folder / "index.html").read_text()


def test_what_is_forgotten_is_not_in_it(world, folder, export, two):
    """The title goes with the page; with the last page, so does the index."""
    world.once()
    export()
    world.cli("forget", two[0].session, "--outputs", "--yes")
    assert "words 1" not in (folder / "index.html").read_text()
    assert listed(folder) == ["app/2026-02-10-words-2-00000002.html"]
    world.cli("forget", two[1].session, "--outputs", "--yes")
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST]
    assert "index" not in (folder / MANIFEST).read_text()


def test_copies_that_stay_are_still_in_it(world, folder, export, two):
    """Without --outputs, nothing in the folder changes."""
    world.once()
    export()
    before = stamp(folder)
    world.cli("forget", two[0].session, "--yes")
    assert stamp(folder) == before


def test_an_index_that_was_changed_is_named_when_it_stays(world, folder, export, two):
    """It may have the title of what is forgotten."""
    world.once()
    export()
    index = folder / "index.html"
    index.write_text(index.read_text() + "mine\n")
    world.cli("forget", two[0].session, "--outputs", "--yes", code=1)
    assert f"not deleted: {index}" in world.said
    assert index.read_text().endswith("mine\n")


def test_an_index_that_cannot_be_written_is_named_by_forget(world, folder, export, two, monkeypatch):
    """It may have the title of what is forgotten; the list of exports has nothing of it any more."""
    world.once()
    export()

    def full(*_):
        raise PermissionError(13, "Permission denied", "index.html")

    monkeypatch.setattr("katod.archive.drop.update_index", full)
    world.cli("forget", two[0].session, "--outputs", "--yes", code=1)
    assert world.said.endswith(f"not deleted: {folder / 'index.html'}")
    manifest = (folder / MANIFEST).read_text()
    assert two[0].session not in manifest
    assert "words-1" not in manifest
    assert two[1].session in manifest


@pytest.fixture
def unreadable(monkeypatch):
    """Return a set, to which a test adds the names of files that cannot be read."""
    names = set()

    def head(root, parts):
        if parts[-1] in names:
            raise PermissionError(13, "Permission denied", parts[-1])
        return head_at(root, parts)

    monkeypatch.setattr("katod.archive.folder.head_at", head)
    return names


def test_a_page_that_cannot_be_read_is_listed_by_its_name(world, folder, export, two, unreadable):
    """The run does not fail; once the page can be read, its title is in the index."""
    unreadable.add("2026-02-10-words-1-00000001.html")
    assert export() == f"wrote 2\nwrote the index, {folder / 'index.html'}"
    page = (folder / "index.html").read_text()
    assert "app/2026-02-10-words-1-00000001.html</a>" in page
    assert "words 2</a>" in page
    assert export() == "unchanged 2"
    unreadable.clear()
    assert export() == f"unchanged 2\nupdated the index, {folder / 'index.html'}"
    assert "words 1</a>" in (folder / "index.html").read_text()


def test_what_is_forgotten_is_not_in_it_if_another_page_cannot_be_read(world, folder, export, two, unreadable):
    """The index is written without it, and so is the list."""
    world.once()
    export()
    unreadable.add("2026-02-10-words-2-00000002.html")
    world.cli("forget", two[0].session, "--outputs", "--yes")
    assert "words 1" not in (folder / "index.html").read_text()
    assert listed(folder) == ["app/2026-02-10-words-2-00000002.html"]
    assert two[0].session not in (folder / MANIFEST).read_text()


def test_an_index_that_cannot_be_written_fails_the_run(world, folder, export, two, monkeypatch):
    """All pages are written nevertheless."""

    def full(*_):
        raise PermissionError(13, "Permission denied", "index.html")

    monkeypatch.setattr("katod.archive.update.update_index", full)
    assert export(code=1) == "wrote 2"
    assert "index.html: index.html: Permission denied" in world.said
    assert "the index could not be written" in world.said

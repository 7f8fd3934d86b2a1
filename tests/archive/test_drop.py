"""What is deleted in a folder of exports when sessions are forgotten."""

import errno
import os

import pytest

from katod import durable
from katod.archive.drop import ListedFile, copies_in, drop, has_lost_lines, left_in, names_of_others
from katod.archive.folder import ASIDE, DRAFT, opened
from katod.archive.manifest import MANIFEST, Entry, Manifest, RecordedParts, entry_line
from katod.formatspec import FORMATS
from katod.model import SessionKey
from katod.record.ownership import names_its_session
from tests.looping import each
from tests.support.records import MAKERS, says, user

MINE, OTHERS = SessionKey("claude", "6f1c2c1e"), SessionKey("claude", "00000002")
HEADS = {
    "jsonl": b'{"schema":"katod.event/1","session":{"agent":"claude","id":"6f1c2c1e"}}\n',
    "html": b'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    b'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; \n',
}

pytestmark = pytest.mark.usefixtures("no_descriptor_is_left")


def transcript(key):
    """Return the front matter of a session."""
    below = f'subagent: "{key.subagent}"\n' if key.subagent else ""
    return f'---\ntitle: "words"\nsession: "{key.id}"\n{below}tags: [katod, claude]\n---\n'.encode()


def publish(root, name, *, key=MINE, form="markdown", data=None, **more):
    """Export a session."""
    data = transcript(key) if data is None else data
    with opened(root) as folder, folder.draft() as draft:
        draft.write(data)
        stamp = draft.complete()
        entry = Entry((key, form), "made", [], name, *stamp, draft.digest, **more)
        folder.publish(draft, entry, folder.stamp(name))


def dropped(root):
    """Forget the session; return the names of the files that stay, and those that are said to stay before."""
    said = [file for entry in copies_in(root, MINE.__eq__) for file in ListedFile.of(root, entry)]
    others = names_of_others(copies_in(root, lambda _: True), MINE.__eq__)
    stays = [file.name for file in said if file.path.exists() and file.why_it_stays(others)]
    return [str(path.relative_to(root)) for path in drop(root, MINE.__eq__)], stays


def files(root):
    """Return the names of the files that are there, without the list."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("[!.]*") if path.is_file())


@each(
    ("data", "is_left"),
    [(transcript(MINE), True), (transcript(MINE) + b"and a note", True), (transcript(OTHERS), False), (None, False)],
)
def test_what_is_left_of_an_entry_is_what_would_be_deleted(data, is_left, tmp_path_factory):
    """Each file by itself, whatever its person changed below its beginning; not what is there in its place."""
    root = tmp_path_factory.mktemp("folder")
    publish(root, "app/a.md", earlier=(("app/b.md", "0"),), recorded=RecordedParts((("a", "b"),)))
    with opened(root) as folder:
        listed = folder.manifest.entries.pop((MINE, "markdown"))
        if data is not None:
            (root / "app/b.md").write_bytes(data)
        earlier = listed.earlier if is_left else ()
        assert left_in(folder)(listed) == listed._replace(earlier=earlier)
        (root / "app/a.md").unlink()
        assert left_in(folder)(listed) == (Entry(listed.slot, earlier=earlier) if is_left else None)


@each(
    ("data", "is_left", "may_be_left"),
    [
        (HEADS["html"], True, True), (HEADS["html"] + b"written again since", False, True),
        (b"<!DOCTYPE html>\n<p>of mine", False, False), (None, False, False),
    ],
)  # fmt: skip
def test_a_page_may_be_newer_than_its_list(data, is_left, may_be_left, tmp_path_factory):
    """It does not say whose it is. If the list was damaged, the line about a newer one may be lost.

    Then, one that katod printed may be the copy, unless another session has its name.
    """
    root = tmp_path_factory.mktemp("folder")
    publish(root, "app/a.html", form="html", data=HEADS["html"])
    with opened(root) as folder:
        listed = folder.manifest.entries.pop((MINE, "html"))
        (root / "app/a.html").unlink()
        if data is not None:
            (root / "app/a.html").write_bytes(data)
        assert left_in(folder)(listed) == (listed if is_left else None)
        (root / ASIDE.format(1)).write_bytes(b"")
        assert left_in(folder)(listed) == (listed if may_be_left else None)
        folder.note(Entry((OTHERS, "html"), name="app/a.html"))
        assert left_in(folder)(listed) is None


def test_what_katod_wrote_is_deleted(tmp_path):
    """The files of the session in each format, and what the list says of them; nothing of another session."""
    for name, key in (("app/a.md", MINE), ("other/b.md", OTHERS)):
        publish(tmp_path, name, key=key)
    for form, head in HEADS.items():
        publish(tmp_path, f"app/a.{form}", form=form, data=head)
    assert dropped(tmp_path) == ([], [])
    assert files(tmp_path) == ["other/b.md"]
    assert copies_in(tmp_path, MINE.__eq__) == []


@pytest.mark.whole
@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("markdown", b"my diary\n"), ("jsonl", b"{}\n"), ("html", b"<!DOCTYPE html>\n"), ("markdown", b""),
        ("format-of-another-katod", transcript(MINE)),
    ],
)  # fmt: skip
def test_a_list_cannot_have_a_file_deleted_that_is_not_katods(tmp_path, form, data):
    """Even if it has the hash of the file: the list may come from elsewhere. The file stays and is said to."""
    publish(tmp_path, "Diary/2026.md", form=form, data=data)
    assert dropped(tmp_path) == (["Diary/2026.md"], ["Diary/2026.md"])
    assert (tmp_path / "Diary" / "2026.md").read_bytes() == data
    assert copies_in(tmp_path, MINE.__eq__) == []


@pytest.mark.whole
@pytest.mark.parametrize("text", [b"", b"go on with 6f1c2c1e\n", b'session: "6f1c2c1e"\n'])
@pytest.mark.parametrize("is_listed", [True, False])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_transcript_of_another_session_stays(tmp_path, text, is_listed, is_known):
    """Even if a list from elsewhere has its hash, or it mentions the session: its front matter says whose it is."""
    publish(tmp_path, "app/b.md", key=OTHERS, data=transcript(OTHERS) + text)
    with opened(tmp_path) as folder:
        entry = folder.manifest.entries[OTHERS, "markdown"]
        folder.note(Entry((MINE, "markdown"), earlier=(("app/b.md", entry.digest if is_known else "00"),)))
        if not is_listed:
            folder.drop([entry])
            folder.compact()
    assert dropped(tmp_path) == (["app/b.md"], ["app/b.md"])
    assert files(tmp_path) == ["app/b.md"]


def test_a_transcript_that_its_person_edited_goes(tmp_path):
    """All that was said is still in it."""
    publish(tmp_path, "app/a.md")
    (tmp_path / "app" / "a.md").write_bytes(transcript(MINE) + b"mine\n")
    assert dropped(tmp_path) == ([], [])
    assert files(tmp_path) == []


@pytest.mark.whole
@pytest.mark.parametrize("place", ["edited", "another", "index"])
def test_a_page_goes_only_if_it_is_as_noted_and_of_no_other_session(tmp_path, place):
    """It does not say whose it is."""
    publish(tmp_path, "app/a.html", form="html", data=HEADS["html"])
    name = "index.html" if place == "index" else "app/a.html"
    with opened(tmp_path) as folder:
        entry = folder.manifest.entries[MINE, "html"]
        if place == "another":
            folder.note(entry._replace(slot=(OTHERS, "html")))
        elif place == "index":
            (tmp_path / "app" / "a.html").rename(tmp_path / name)
            folder.note(entry._replace(name=name))
        else:
            (tmp_path / name).write_bytes(HEADS["html"] + b"mine\n")
    assert dropped(tmp_path) == ([name], [name])
    assert files(tmp_path) == [name]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("form", FORMATS)
def test_copies_of_every_agent_in_every_format_are_recognised(world, make, form):
    """Each is deleted, also if its person added something, where the format says whose it is."""
    maker = make(world).say(user("one"), says("two"))
    maker.child().say(user("look"), says("looked"))
    root = world.home / "all"
    world.cli("export", "--all", "-f", form, "-o", str(root))
    for path in root.rglob(f"*{FORMATS[form].suffix}"):
        if form != "agent-record" and names_its_session(form, path.read_bytes()):
            path.write_bytes(path.read_bytes() + b"mine\n")
    assert drop(root, lambda key: key.agent == make.agent) == []
    assert files(root) == []


def test_a_file_that_a_killed_run_was_about_to_replace_is_katods(tmp_path):
    """Whichever of both contents it has."""
    publish(tmp_path, "app/a.md")
    with opened(tmp_path) as folder:
        [entry] = folder.manifest.entries.values()
        folder.note(entry._replace(before=entry.digest, digest="new"))
    assert dropped(tmp_path) == ([], [])
    assert files(tmp_path) == []


def picture(root, folder, name="0123456789abcdef.png"):
    """Save a picture beside an export."""
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / name).write_bytes(b"picture")


@pytest.mark.whole
@pytest.mark.parametrize("form", ["html", "jsonl"])
def test_pictures_that_another_session_has_stay(tmp_path, form):
    """Names need not have ids: a page, which carries its pictures, may be called like the transcript of another one."""
    publish(tmp_path, "app/hello.md", key=OTHERS)
    picture(tmp_path, "app/hello.assets")
    publish(tmp_path, f"app/hello.{form}", form=form, data=HEADS[form])
    assert dropped(tmp_path) == ([], [])
    assert files(tmp_path) == ["app/hello.assets/0123456789abcdef.png", "app/hello.md"]


def test_pictures_go_with_their_transcript(tmp_path):
    """With the folders of its sub-agents, and theirs; a file of another name in such a folder stays."""
    publish(tmp_path, "app/a.md")
    publish(tmp_path, "app/a.agents/agent-b.md", key=MINE._replace(subagent="b"))
    for folder in ("app/a.assets", "app/a.agents/agent-b.assets"):
        picture(tmp_path, folder)
    picture(tmp_path, "app/a.assets", "mine.png")
    assert drop(tmp_path, lambda key: key.id == MINE.id) == []
    assert files(tmp_path) == ["app/a.assets/mine.png"]
    assert not (tmp_path / "app" / "a.agents").exists()


@pytest.mark.whole
@pytest.mark.parametrize("name", ["b.md", "b.gone", "b.jsonl"])
def test_a_list_cannot_have_the_pictures_of_another_file_deleted(tmp_path, name):
    """Which it names as if there had been a file of the session; what is only called like it is its person's."""
    publish(tmp_path, "app/a.md")
    picture(tmp_path, "keep/b.assets")
    kept = tmp_path / "keep" / ("b.html" if name == "b.md" else "b.md")
    kept.write_bytes(transcript(OTHERS))
    with opened(tmp_path) as folder:
        folder.note(folder.manifest.entries[MINE, "markdown"]._replace(earlier=((f"keep/{name}", "00"),)))
    assert dropped(tmp_path) == (["keep/b.assets"], [])
    assert files(tmp_path) == [f"keep/{part}" for part in ("b.assets/0123456789abcdef.png", kept.name)]


def test_pictures_of_a_transcript_that_stays_are_named_with_it(tmp_path):
    """They may be of what is forgotten."""
    publish(tmp_path, "app/a.md")
    picture(tmp_path, "app/a.assets")
    (tmp_path / "app" / "a.md").write_bytes(b"mine\n")
    assert dropped(tmp_path) == (["app/a.md", "app/a.assets"], ["app/a.md"])
    assert files(tmp_path) == ["app/a.assets/0123456789abcdef.png", "app/a.md"]


def test_what_cannot_be_deleted_now_can_be_tried_again(tmp_path, monkeypatch):
    """It stays in the list, with its pictures; all else is deleted."""
    publish(tmp_path, "app/a.md")
    publish(tmp_path, "app/a.html", form="html", data=HEADS["html"])
    picture(tmp_path, "app/a.assets")
    real = durable.remove

    def remove(name, **given):
        if name == "a.md":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        real(name, **given)

    with monkeypatch.context() as failing:
        failing.setattr(durable, "remove", remove)
        assert dropped(tmp_path) == (["app/a.md", "app/a.assets"], [])
    assert files(tmp_path) == ["app/a.assets/0123456789abcdef.png", "app/a.md"]
    assert dropped(tmp_path) == ([], [])
    assert files(tmp_path) == []
    assert copies_in(tmp_path, MINE.__eq__) == []


def test_a_draft_is_deleted_whoever_it_is_of(tmp_path):
    """A killed run may have been writing the session, which no list names yet; the list is left as it is."""
    publish(tmp_path, "app/a.md", key=OTHERS)
    before = (tmp_path / MANIFEST).read_bytes()
    (tmp_path / DRAFT).write_bytes(b"half of it")
    assert dropped(tmp_path) == ([], [])
    assert not (tmp_path / DRAFT).exists()
    assert (tmp_path / MANIFEST).read_bytes() == before


def test_older_files_of_a_session_go_with_it(tmp_path):
    """With their pictures, also if one is not there any more; one that was changed stays."""
    for name in ("app/a.md", "app/a-2.md", "app/a-3.md"):
        publish(tmp_path, name, key=OTHERS if name == "app/a-3.md" else MINE)
    with opened(tmp_path) as folder:
        entry = folder.manifest.entries[MINE, "markdown"]
        older = (("app/a.md", entry.digest), ("app/a-3.md", "other"), ("app/a-4.md", "gone"))
        folder.note(entry._replace(earlier=older))
    for folder in ("app/a.assets", "app/a-4.assets"):
        picture(tmp_path, folder)
    assert dropped(tmp_path) == (["app/a-3.md"], ["app/a-3.md"])
    assert files(tmp_path) == ["app/a-3.md"]


GARBAGE = b"from a conflict of a synchronised folder\n"


def damage(root, line=GARBAGE, *, seen=True):
    """Damage the list of a folder, which is set aside if it is `seen`; return where that is."""
    with (root / MANIFEST).open("ab") as file:
        file.write(line)
    if seen:
        with opened(root):
            pass
    return root / ".katod-export.damaged-1.jsonl"


@pytest.mark.whole
@pytest.mark.parametrize("seen", [True, False])
def test_a_damaged_list_that_was_set_aside_says_no_more_of_a_session(tmp_path, seen):
    """Neither its id nor its project; what it says of others stays, and so do lines that nobody can read."""
    for name, key, cwd in (("app/a.md", MINE, "/srv/zanzibar"), ("other/b.md", OTHERS, "/srv/other")):
        publish(tmp_path, name, key=key, cwd=cwd)
        with opened(tmp_path) as folder:
            folder.add_project(cwd, name.partition("/")[0])
    aside = damage(tmp_path, seen=seen)
    assert has_lost_lines(tmp_path)
    assert drop(tmp_path, MINE.__eq__, {MINE.id}) == []
    left = aside.read_bytes()
    assert MINE.id.encode() not in left
    assert b"zanzibar" not in left
    assert left.endswith(GARBAGE)
    assert list(Manifest.read(left).entries) == [(OTHERS, "markdown")]
    assert Manifest.read(left).projects == {"/srv/other": "other"}
    assert has_lost_lines(tmp_path)


def test_a_project_that_others_have_stays_in_a_damaged_list(tmp_path):
    """Only what is forgotten goes."""
    for name, key in (("app/a.md", MINE), ("app/b.md", OTHERS)):
        publish(tmp_path, name, key=key, cwd="/srv/app")
    with opened(tmp_path) as folder:
        folder.add_project("/srv/app", "app")
    aside = damage(tmp_path)
    assert drop(tmp_path, MINE.__eq__, {MINE.id}) == []
    assert Manifest.read(aside.read_bytes()).projects == {"/srv/app": "app"}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("name", "alike"), [("reviewer", "the-reviewer-of"), ("6f1c", "a-6f1c-b"), ("20260201", "120260201")]
)
def test_a_damaged_list_keeps_what_is_only_called_like_a_session(tmp_path, name, alike):
    """An id may be a word, or digits: only a UUID or a hash is looked for in names."""
    mine = MINE._replace(subagent=name)
    for path, key in (("app/a.md", mine), (f"app/{alike}.md", OTHERS), (f"app/{name}0.md", OTHERS._replace(id="b"))):
        publish(tmp_path, path, key=key)
    aside = damage(tmp_path)
    assert drop(tmp_path, mine.__eq__, {name}) == []
    assert [key.id for key, _ in Manifest.read(aside.read_bytes()).entries] == [OTHERS.id, "b"]


def test_a_line_that_cannot_be_read_goes_if_it_has_the_id(tmp_path):
    """With the file, if nothing else is in it."""
    publish(tmp_path, "app/a.md")
    line = entry_line(Entry((MINE, "markdown"), "made", [], "app/a.md"))
    aside = damage(tmp_path, line[:60] + b"\n")
    assert drop(tmp_path, MINE.__eq__, {MINE.id}) == []
    assert not aside.exists()


def test_another_file_in_the_place_of_a_list_stays_as_it_is(tmp_path):
    """It was set aside as a damaged list, and may be its person's."""
    (tmp_path / MANIFEST).write_bytes(b"my notes")
    assert drop(tmp_path, MINE.__eq__, {MINE.id}) == []
    assert (tmp_path / ".katod-export.damaged-1.jsonl").read_bytes() == b"my notes"


def test_a_damaged_list_that_cannot_be_written_is_named(tmp_path):
    """As a link, which leads anywhere."""
    publish(tmp_path, "app/a.md")
    aside = damage(tmp_path)
    mine = aside.rename(tmp_path / "mine")
    aside.symlink_to(mine)
    assert drop(tmp_path, MINE.__eq__, {MINE.id}) == [aside]
    assert MINE.id.encode() in mine.read_bytes()

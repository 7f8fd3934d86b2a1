"""`katod export --all`: it brings a folder up to date."""

import base64
import builtins
import errno
import json
import os
import re
import shutil
import sqlite3
import stat
import sys
from contextlib import closing

import pytest

from katod import processes
from katod.archive.folder import opened
from katod.archive.folders import ASIDE, NAME, known_folders
from katod.archive.manifest import INDEX, MANIFEST
from katod.write import whole
from tests.support.live import until
from tests.support.pane import Pane
from tests.support.records import Claude, Codex, OpenCode
from tests.support.records.base import calls, result, says, user

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(64)).decode()

pytestmark = pytest.mark.usefixtures("reading_place")


@pytest.fixture
def folder(world):
    """Return the folder of exports, which does not exist yet."""
    return world.home / "all"


@pytest.fixture
def export(world, folder):
    """Return a function that brings the folder up to date, and returns what katod prints of the sessions."""

    def run(*options, code=0):
        printed = world.cli("export", "--all", "-o", str(folder), *options, code=code)
        return re.sub(r"^(wrote|updated|removed) the index, .*\n", "", printed, flags=re.MULTILINE).strip()

    return run


@pytest.fixture
def two(world):
    """Return two sessions with something said."""
    return [world.session(number).say(user(f"words {number}"), says("answer")) for number in (1, 2)]


def files(folder):
    """Return the exports in the folder, by name: no hidden files, and not the index of pages."""
    found = (path for path in sorted(folder.rglob("[!.]*")) if path.is_file() and path != folder / INDEX)
    return {str(path.relative_to(folder)): path for path in found}


def texts(folder):
    """Return the text of each of them."""
    return {name: path.read_text() for name, path in files(folder).items()}


def test_new_sessions_are_named_by_the_template_and_private(world, folder, export, two):
    """Every session gets a file like that of a recording; only you can read it, or the list."""
    assert export() == "wrote 2"
    assert list(files(folder)) == [
        "app/2026-02-10-words-1-00000001.md",
        "app/2026-02-10-words-2-00000002.md",
    ]
    assert "words 1" in texts(folder)["app/2026-02-10-words-1-00000001.md"]
    paths = [folder, *folder.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600, 0o700}
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "app"]


def test_an_unchanged_session_costs_a_stat(folder, export, two, monkeypatch):
    """Neither sessions nor exports are opened when nothing has changed, and nothing is written."""
    monkeypatch.setattr(processes, "cores", lambda: 1)  # another process would read them unnoticed
    names = set()
    for module, name in ((os, "open"), (builtins, "open")):
        original = getattr(module, name)

        def noted(path, *arguments, original=original, **named):
            names.add(os.path.basename(path) if isinstance(path, str | os.PathLike) else "")
            return original(path, *arguments, **named)

        monkeypatch.setattr(module, name, noted)
    export()
    sessions = {one.path.name for one in two}
    assert names >= sessions  # so this would notice
    (folder / MANIFEST).chmod(0o400 if os.getuid() else 0o600)
    before = {path: path.stat() for path in folder.rglob("*")}
    names.clear()
    (folder / MANIFEST).chmod(0o600)
    assert export() == "unchanged 2"
    assert names & (sessions | {path.name for path in files(folder).values()}) == set()
    after = {path: path.stat() for path in folder.rglob("*")}
    assert {path: status.st_mtime_ns for path, status in after.items()} == {
        path: status.st_mtime_ns for path, status in before.items()
    }


def test_a_grown_session_is_replaced_as_a_whole(folder, export, two):
    """Only its file is written, under the same name; who has the old one open reads the old one."""
    export()
    first, second = files(folder).values()
    before, other = first.read_text(), second.stat()
    with first.open() as reader:
        two[0].say(user("more words"))
        assert export() == "updated 1, unchanged 1"
        assert reader.read() == before
    assert "more words" in first.read_text()
    assert (second.stat().st_ino, second.stat().st_mtime_ns) == (other.st_ino, other.st_mtime_ns)
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "app"]
    assert export() == "unchanged 2"


def test_sessions_in_which_nothing_is_said_are_skipped(world, folder, export, two):
    """They get no file until something is said."""
    empty = world.session(3).append(Claude().record("file-history-snapshot"))
    assert export() == "wrote 2, empty 1"
    assert export() == "unchanged 2, empty 1"
    empty.say(user("words 3"))
    assert export() == "wrote 1, unchanged 2"


def test_a_session_that_is_rewritten_without_words_stays(folder, export, two):
    """What was exported is never deleted."""
    export()
    two[0].path.write_bytes(b"")
    assert export() == "unchanged 2"
    assert "words 1" in "".join(texts(folder).values())


@pytest.mark.parametrize("form", ["markdown", "html", "jsonl"])
def test_an_export_is_never_replaced_by_one_with_less(folder, export, two, form):
    """What is left of a session that lost something goes to a file of its own, once for each loss."""
    export("-f", form)
    [(name, whole_one), _] = texts(folder).items()
    for number in (2, 3):
        two[0].rewrite(lambda number, _: number < 1)
        for said in ("wrote 1, unchanged 1", "unchanged 2"):
            assert export("-f", form) == said
        stem, suffix = name.rsplit(".", 1)
        assert texts(folder)[name] == whole_one
        assert "answer" not in texts(folder)[f"{stem}-{number}.{suffix}"]
        two[0].say(says("another answer"))
        assert export("-f", form) == "updated 1, unchanged 1"
    assert len(files(folder)) == 4


@pytest.mark.parametrize("options", [(), ("--thinking",)])
def test_a_loss_is_noticed_whatever_else_changed(world, folder, export, two, options):
    """The session may have grown since it lost something, and the options may be others."""
    export()
    two[0].rewrite(lambda number, _: number < 1)
    two[0].say(*[user("much more")] * 5)
    assert export(*options).startswith("wrote 1")
    assert ["answer" in text for text in texts(folder).values()].count(True) == 2


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_what_an_agent_shortens_under_its_id_stays(folder, export, two, form):
    """It may clear a message, and keep the record."""
    two[0].say(says("a long answer with all the details"))
    export("-f", form)
    two[0].path.write_bytes(two[0].path.read_bytes().replace(b"a long answer with all the details", b"[cleared]"))
    two[0].say(user("more"))
    assert export("-f", form) == "wrote 1, unchanged 1"
    assert ["all the details" in text for text in texts(folder).values()].count(True) == 1
    two[0].say(user("and more"))
    assert export("-f", form) == "updated 1, unchanged 1"


def test_a_result_whose_file_its_agent_deletes_stays(world, folder, export):
    """Claude Code deletes them by age, while the session goes on; then its record has the first words alone."""
    one = world.session(1)
    spilled = one.path.with_suffix("") / "tool-results" / "r1.txt"
    spilled.parent.mkdir(parents=True)
    spilled.write_text("all of it\n" * 99)
    short = f"<persisted-output>\nOutput too large. Full output saved to: {spilled}\n</persisted-output>"
    one.say(user("words"), calls("c1", "make"), result("c1", short))
    export("-f", "jsonl")
    spilled.unlink()
    one.say(user("more"), says("answer"))
    assert export("-f", "jsonl") == "wrote 1"
    assert sorted(text.count("all of it") for text in texts(folder).values()) == [0, 99]


@pytest.mark.parametrize("form", ["markdown", "matrix", "otlp", "lifecycle", "agent-trace"])
def test_a_shortened_result_that_is_not_printed_makes_no_copy(world, folder, export, form):
    """Agents shorten old results again and again: the file is brought up to date in place."""
    one = OpenCode(world)
    one.say(user("words"), calls("c1", "ls"), result("c1", "a long output " * 40), says("answer"))
    export("-f", form)
    with closing(sqlite3.connect(one.path)) as database, database:
        replaced = "update part set data = replace(data, ?, '[masked]'), time_updated = time_updated + 1000"
        assert database.execute(replaced, ("a long output " * 40,)).rowcount
        database.execute("update session set time_updated = time_updated + 1000")
    one.say(says("more"))
    assert export("-f", form) in ("updated 1", "unchanged 1")
    assert len(files(folder)) == 1


def test_a_signed_record_stays(folder, export, two):
    """Its signature verifies what it was of: the session goes on in another file, and so does that one's."""
    export("-f", "agent-record")
    [(name, signed), _] = texts(folder).items()
    stem = name.removesuffix(".acr.json")
    (folder / f"{stem}.acr.sig.cbor").write_bytes(b"signature")
    assert export("-f", "agent-record") == "unchanged 2"
    two[0].say(user("more"))
    assert export("-f", "agent-record") == "wrote 1, unchanged 1"
    assert texts(folder)[name] == signed
    two[0].say(user("and more"))
    assert export("-f", "agent-record") == "updated 1, unchanged 1"
    assert texts(folder)[name] == signed
    assert "and more" in texts(folder)[f"{stem}-2.acr.json"]


def test_a_signed_record_that_is_gone_is_written_as_it_was_or_under_another_name(folder, export, two):
    """What is beside the signature is what was signed, or nothing."""
    export("-f", "agent-record")
    [(name, path), _] = files(folder).items()
    signed = path.read_text()
    path.with_name(path.name.replace(".json", ".sig.cbor")).write_bytes(b"signature")
    path.unlink()
    assert export("-f", "agent-record") == "wrote 1, unchanged 1"
    assert path.read_text() == signed
    path.unlink()
    two[0].say(user("more"))
    assert export("-f", "agent-record") == "wrote 1, unchanged 1"
    assert name not in texts(folder)


def test_a_session_that_is_rewritten_without_a_loss_is_replaced(world, folder, export, two):
    """Agents write files again, and move them; nothing is doubled by that."""
    export()
    two[0].say(user("more"))
    two[0].path.write_bytes(b"".join(sorted(two[0].path.read_bytes().splitlines(keepends=True), reverse=True)))
    assert export() == "updated 1, unchanged 1"
    assert len(files(folder)) == 2


def test_a_change_that_leaves_size_and_time_is_noticed(folder, export, two):
    """There are tools that restore times: before a file is replaced, its content is compared."""
    export()
    first = next(iter(files(folder).values()))
    status = first.stat()
    first.write_text(first.read_text().replace("answer", "ANSWER"))
    os.utime(first, ns=(status.st_atime_ns, status.st_mtime_ns))
    two[0].say(user("more"))
    for _ in range(2):
        assert export().splitlines()[0] == "unchanged 1, left alone 1"
        assert "ANSWER" in first.read_text()


@pytest.mark.parametrize(("form", "mine"), [("markdown", "my thesis"), ("jsonl", "{}"), ("html", "<!DOCTYPE html>")])
def test_a_list_cannot_give_a_persons_file_to_katod(folder, export, two, form, mine):
    """A list from somebody else may name any file in the folder, with its true hash: it does not begin as katod's."""
    export("-f", form)
    thesis = folder / "thesis.md"
    thesis.write_text(mine)
    status, list_ = thesis.stat(), folder / MANIFEST
    lines = list(map(json.loads, list_.read_text().splitlines()))
    row = next(row for row in lines if row.get("session", [""])[1:2] == [two[0].session])
    row |= {"file": thesis.name, "size": status.st_size, "mtime": status.st_mtime_ns}
    row["hash"] = whole.digest_at(folder, (thesis.name,))
    list_.write_text("".join(json.dumps(line) + "\n" for line in lines))
    two[0].say(user("more"))
    assert export("-f", form).splitlines()[0] == "unchanged 1, left alone 1"
    assert thesis.read_text() == mine


def test_excluded_projects_are_left_out(world, folder, export, two, monkeypatch):
    """They are counted, and not read again; what was exported of them before stays. By name, they are exported."""
    kept = world.session(3)
    kept.cwd = "/home/me/other"
    kept.say(user("words 3"))
    child = Claude(world, two[0].session, subagent="a1b2")
    child.cwd = "/home/me/elsewhere"
    child.say(user("look around"))
    world.configure(exclude=["/home/me/app"])
    assert export() == "wrote 1, excluded 3"
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "katod.archive.writer", None)  # importing it fails
        assert export() == "unchanged 1, excluded 3"
    assert world.cli("export", two[0].session).count("answer") == 1
    world.configure(exclude=[])
    assert export() == "wrote 3, unchanged 1"
    before = texts(folder)
    world.configure(exclude=["/home/me/app"])
    two[0].say(user("more"))
    assert export() == "unchanged 1, excluded 3"
    assert texts(folder) == before
    world.configure(exclude=[])
    assert export() == "updated 1, unchanged 3"


def test_a_project_may_exclude_itself(world, folder, export):
    """If the person allowed its file."""
    project = world.home / "shop"
    project.mkdir()
    (project / ".katod.toml").write_text("recording.exclude = true\n")
    one = world.session(1)
    one.cwd = str(project)
    one.say(user("words"))
    world.cli("allow", str(project))
    assert export() == "excluded 1"
    world.cli("allow", "--remove", str(project))
    assert export() == "wrote 1"


def test_a_session_that_reads_the_same_is_not_replaced(folder, export, two):
    """A change of its file that changes nothing in the export leaves the export alone."""
    export()
    inode = next(iter(files(folder).values())).stat().st_ino
    two[0].append(Claude().record("file-history-snapshot"))
    assert export() == "unchanged 2"
    assert next(iter(files(folder).values())).stat().st_ino == inode


def test_a_changed_file_is_left_alone_and_named(folder, export, two):
    """What a person changed stays, whether its session has grown or not; without it, it is written again."""
    export()
    first = next(iter(files(folder).values()))
    first.write_text("my notes")
    for _ in range(2):
        assert export().splitlines() == [
            "unchanged 1, left alone 1",
            "left alone, because you changed them (move or delete a file to have it written again):",
            f"  {first}",
        ]
        two[0].say(user("more"))
    assert first.read_text() == "my notes"
    first.unlink()
    assert export() == "wrote 1, unchanged 1"
    assert "more" in first.read_text()


@pytest.mark.parametrize("made", ["link", "folder", "hard link"])
def test_a_file_in_whose_place_something_else_is(folder, export, two, made):
    """A link or a folder is left alone like a changed file; a second name of katod's own file keeps the old text."""
    export()
    first = next(iter(files(folder).values()))
    other = first.with_name("elsewhere")
    first.rename(other)
    {"link": first.symlink_to, "folder": lambda _: first.mkdir(), "hard link": first.hardlink_to}[made](other)
    before = other.read_text()
    two[0].say(user("more"))
    assert export().startswith("updated 1" if made == "hard link" else "unchanged 1, left alone 1")
    assert other.read_text() == before


def test_a_touched_or_restored_file_is_katods(folder, export, two):
    """The content decides: another time of the file is noted, an edit that is undone is forgotten."""
    export()
    first = next(iter(files(folder).values()))
    text = first.read_text()
    os.utime(first, (1, 1))
    assert export() == "unchanged 2"
    first.write_text("mine")
    assert "left alone 1" in export()
    first.write_text(text)
    two[0].say(user("more"))
    assert export() == "updated 1, unchanged 1"


def test_a_session_that_its_agent_deleted_stays(folder, export, two):
    """Its export is what is left of it."""
    export()
    two[0].path.unlink()
    assert export() == "unchanged 1"
    assert len(files(folder)) == 2


def test_a_session_of_which_a_part_was_deleted_stays_whole(world, folder, export):
    """What is left of it goes on in another file, so that nothing is lost."""
    old, new = world.codex(), world.codex(folder="2026/02/11", rollout=Codex.SESSION)
    make = Codex()
    old.append(*make.opening(), *make.records(user("the old part")))
    new.append(*make.opening(), *make.records(user("the new part")))
    assert export() == "wrote 1"
    old.path.unlink()
    assert export() == "unchanged 1"
    new.append(*make.records(user("the newest part")))
    assert export() == "wrote 1"
    rest, whole_one = texts(folder).values()
    assert ("the old part" in whole_one, "the newest part" in rest) == (True, True)
    assert export() == "unchanged 1"


@pytest.mark.slow
def test_every_format_is_kept_up_to_date_by_itself(folder, export, two):
    """A folder may have a session in several formats."""
    for form in ("markdown", "html", "jsonl"):
        assert export("-f", form) == "wrote 2"
    two[0].say(user("more"))
    assert export("-f", "html") == "updated 1, unchanged 1"
    assert export() == "updated 1, unchanged 1"
    assert {path.suffix for path in files(folder).values()} == {".md", ".html", ".jsonl"}


def test_other_options_export_everything_again(folder, export, two):
    """The files are always those of the options given, under the same names."""
    two[0].append(Claude(start=90).thinks("a secret thought"))
    export()
    names = list(files(folder))
    assert export("--thinking") == "updated 1, unchanged 1"
    assert "a secret thought" in "".join(texts(folder).values())
    assert list(files(folder)) == names
    assert export("--thinking") == "unchanged 2"


def test_a_base_of_links_is_seen_from_each_page(world, folder, export):
    """A directory is named by the way from a page to it; another base has all pages written again."""
    for project in ("shop", "app"):
        Claude(world, f"{project}-8a53", cwd=f"/home/me/{project}").say(user("words"), says("see [a](src/a.py)"))
    assert export("-f", "html", "--base", str(world.home / "work" / "{project}")).startswith("wrote 2")
    found = {name: re.findall(r'href="([^"#]*a\.py)"', text) for name, text in texts(folder).items() if "/" in name}
    assert sorted(found.values()) == [["../../work/app/src/a.py"], ["../../work/shop/src/a.py"]]
    assert all(("/shop/" in link) == name.startswith("shop/") for name, [link] in found.items())
    assert export("-f", "html").startswith("updated 2")
    assert "a.py" not in "".join(re.findall(r'href="([^"]*)"', "".join(texts(folder).values())))
    world.cli("export", "--all", "-o", str(folder), "--base", "https://example.org", code=2)
    assert "--base is for pages: add -f html" in world.said


def test_subagents_are_beside_their_parents(world, folder, export, two):
    """A folder called like the parent's file has one file for each."""
    child = Claude(world, two[0].session, subagent="a1b2")
    child.say(user("look around"), says("found it"))
    assert export() == "wrote 3"
    assert next(iter(files(folder))) == "app/2026-02-10-words-1-00000001.agents/agent-a1b2.md"


def test_pictures_are_saved_beside_a_transcript(folder, export, two):
    """Under their hash, as in a single export."""
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    two[0].append(two[0].user([{"type": "text", "text": "see"}, {"type": "image", "source": source}]))
    export()
    [picture] = [path for path in files(folder).values() if path.suffix == ".png"]
    assert picture.parent.name == "2026-02-10-words-1-00000001.assets"
    assert f"{picture.parent.name}/{picture.name}" in texts_of_markdown(folder)


def texts_of_markdown(folder):
    """Return all transcripts as one text."""
    return "".join(path.read_text() for path in files(folder).values() if path.suffix == ".md")


def test_names_that_are_taken_are_numbered(world, folder, export):
    """By another session, or by a file that katod does not know; projects of one name have folders of their own."""
    world.configure(filename="{project}/{title}")
    for number, cwd in enumerate(("/home/me/app", "/home/me/app", "/srv/app"), 1):
        one = world.session(number)
        one.cwd = cwd
        one.say(user("words"))
    mine = folder / "app" / "words.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    export()
    *names, other = files(folder)
    assert names == ["app/words-2.md", "app/words-3.md", "app/words.md"]
    assert other.startswith("app-")
    assert mine.read_text() == "mine"
    assert export() == "unchanged 3"


def test_a_lost_list_doubles_nothing(folder, export, two):
    """Files that are as katod would write them are recognised; others are kept, and written under another name."""
    export()
    (folder / MANIFEST).unlink()
    two[0].say(user("more"))
    assert export() == "wrote 1, unchanged 1"
    assert [name.rpartition("-")[2] for name in files(folder)] == ["2.md", "00000001.md", "00000002.md"]


def test_a_damaged_list_is_kept_and_said(world, folder, export, two):
    """What can be read of it counts; no file is overwritten."""
    export()
    before, list_ = texts(folder), folder / MANIFEST
    lines = list_.read_bytes().splitlines(keepends=True)
    damaged = b"".join([*lines[:-1], b"\0" * 20 + b"\n", lines[-1][:10] + b"\n"])
    list_.write_bytes(damaged)
    two[0].say(user("more"))
    assert export() == "updated 1, unchanged 1"
    assert "the list of exports was damaged" in world.said
    assert (folder / ".katod-export.damaged-1.jsonl").read_bytes() == damaged
    assert list(texts(folder)) == list(before)
    assert export() == "unchanged 2"
    assert world.said == ""


def test_a_later_katods_list_is_refused(world, folder, export, two):
    """It is left as it is."""
    folder.mkdir()
    (folder / MANIFEST).write_text('{"katodExport":99}\n')
    export(code=1)
    assert "a later version of katod" in world.said
    assert (folder / MANIFEST).read_text() == '{"katodExport":99}\n'


def test_two_runs_at_once(world, folder, export, two):
    """The second one says so and does nothing."""
    with opened(folder):
        export(code=1)
    assert "another `katod export --all` is writing to this directory" in world.said
    assert files(folder) == {}
    assert export() == "wrote 2"


def test_a_folder_with_outputs_is_refused(world, two):
    """Exports are not outputs: neither the output directory nor a folder in it is taken, whatever its name is."""
    link = world.home / "link"
    link.symlink_to(world.out)
    (world.out / "sub").mkdir(parents=True)
    before = sorted(world.out.rglob("*"))
    for path in (
        world.out, world.out / "sub", world.out / "new", link, link / "new", world.home / "other" / ".." / "katod",
    ):  # fmt: skip
        world.cli("export", "--all", "-o", str(path), code=1)
        assert "is in the output directory" in world.said
    for path in (world.state, world.home / ".claude" / "projects"):
        world.cli("export", "--all", "-o", str(path), code=1)
        assert "is in an agent's directory or katod's state directory" in world.said
    assert sorted(world.out.rglob("*")) == before


def test_outputs_within_the_folder_are_not_touched(world, two):
    """A project that is called like the output directory gets another folder."""
    two[0].cwd = "/home/me/katod"
    two[0].path.unlink()
    two[0].say(user("words"))
    before = sorted(world.out.rglob("*"))
    world.cli("export", "--all", "-o", str(world.home))
    assert sorted(world.out.rglob("*")) == before
    assert [path.parent.name[:6] for path in world.home.glob("katod-*/*.md")] == ["katod-"]


def test_nothing_is_written_through_a_link(world, folder, export, two):
    """The session is named, all others are exported, and the exit code is 1."""
    two[1].cwd = "/home/me/other"
    two[1].path.unlink()
    two[1].say(user("words"))
    elsewhere = world.home / "elsewhere"
    elsewhere.mkdir()
    folder.mkdir()
    (folder / "app").symlink_to(elsewhere)
    assert export(code=1) == "wrote 1, failed 1"
    assert f"{two[0].agent}:{two[0].session}: app is a symbolic link" in world.said
    assert list(elsewhere.iterdir()) == []
    (folder / "app").unlink()
    assert export() == "wrote 1, unchanged 1"


def test_a_list_that_is_a_link_is_refused(world, folder, export, two):
    """Nothing is written through it."""
    elsewhere = world.home / "elsewhere"
    elsewhere.write_text("mine")
    folder.mkdir()
    (folder / MANIFEST).symlink_to(elsewhere)
    export(code=1)
    assert "is not a regular file" in world.said
    assert elsewhere.read_text() == "mine"


def test_a_list_cannot_lead_elsewhere(world, folder, export, two):
    """A name in it that leads out of the folder is damage."""
    export()
    mine = world.home / "mine.md"
    mine.write_text("mine")
    list_ = folder / MANIFEST
    list_.write_text(list_.read_text().replace('"file":"app/', '"file":"../'))
    two[0].say(user("more"))
    export()
    assert mine.read_text() == "mine"
    assert [path.name for path in world.home.glob("*.md")] == ["mine.md"]


def test_a_session_that_cannot_be_read_is_named(world, folder, export, two):
    """All others are exported, and the exit code is 1; it is tried again the next time."""
    database = world.home / ".codex/sessions/2026/01/01" / f"rollout-2026-01-01T00-00-00-{Codex.SESSION}.jsonl.zst"
    database.parent.mkdir(parents=True)
    database.write_bytes(b"not compressed")
    for counted in ("wrote 2, failed 1", "unchanged 2, failed 1"):
        assert export(code=1) == counted
        assert "codex:01a1f89e" in world.said
        assert "1 of 3 sessions could not be exported" in world.said


def test_a_full_disk_ends_the_run(world, folder, export, two, monkeypatch):
    """Nothing more can be written, so nothing more is tried; the next run goes on."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(whole.UnfinishedFile, "complete", full)
    export(code=1)
    assert "the export cannot continue: No space left on device" in world.said
    assert files(folder) == {}
    monkeypatch.undo()
    world.cli("export", "--all", "-o", str(folder))
    assert len(files(folder)) == 2


def test_a_change_of_a_database_exports_what_changed(world, folder, export):
    """Several sessions are in one file; only the one with something new is written."""
    first, second = OpenCode(world, "11111111"), OpenCode(world, "22222222", start=50)
    for one in (first, second):
        one.say(user("words"), says("answer"))
    assert export() == "wrote 2"
    first.say(user("more"), says("more"))
    assert export() == "updated 1, unchanged 1"
    assert export() == "unchanged 2"


def test_a_killed_runs_draft_is_removed(folder, export, two):
    """By the next run, even if it has nothing to write."""
    export()
    (folder / ".katod-export.tmp").write_text("half")
    assert export() == "unchanged 2"
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "app"]


def test_a_folder_is_known_before_there_is_a_copy_in_it(world, folder, export, two, monkeypatch):
    """Whatever ends the run, `katod forget` looks there."""

    def killed(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("katod.cli.archiving.progress", killed)
    export(code=1)
    assert known_folders(world.state) == [folder]


def test_a_folder_that_cannot_be_noted_is_said(world, folder, export, two):
    """Its copies would be known to nobody; they are written nevertheless."""
    for name in (NAME, ASIDE):
        (world.state / name).mkdir(parents=True)
    assert export() == "wrote 2"
    assert f"`katod forget` will not know of the copies in {folder}" in world.said


def test_wrong_usage(world, two):
    """A directory is needed, and options for one session are refused."""
    world.cli("export", "--all", code=2)
    assert "--all needs a directory" in world.said
    world.cli("export", "--all", "-o", "x", "--for", "pr", code=2)
    assert "--for exports one session" in world.said
    world.cli("export", "--all", "latest", "-o", "x", code=2)
    assert "at most one" in world.said


def test_a_file_in_place_of_the_folder(world, folder, two):
    """One line says what is wrong."""
    folder.write_text("mine")
    world.cli("export", "--all", "-o", str(folder), code=1)
    assert "cannot be used" in world.said
    assert folder.read_text() == "mine"


def test_without_sessions(world, folder, export):
    """It says so."""
    shutil.rmtree(world.home / ".claude", ignore_errors=True)
    assert export() == "no sessions found"


@pytest.mark.parametrize("text", ["\\ud800", "a\\u0000b", "\\u202egpj", "../../x", "/", "~", "CON", "-rf", "x" * 3000])
def test_titles_and_projects_lead_nowhere_else(world, folder, export, text):
    """What agents write in their files becomes part of a name only as an output's would."""
    one = world.session(1)
    one.cwd = "CWD"
    for said in (user("TITLE"), says("answer")):
        for record in one.records(said):
            one.append(json.dumps(record).replace("CWD", f"/srv/{text}").replace("TITLE", text) + "\n")
    before = outside(world, folder)
    assert export() == "wrote 1"
    assert export() == "unchanged 1"
    assert outside(world, folder) - before <= {folder}
    assert len(files(folder)) == 1


def outside(world, folder):
    """Return every path outside of a folder and of katod's own state."""
    return {path for path in world.home.rglob("*") if not {folder, world.state} & set(path.parents)}


@pytest.mark.slow
def test_a_bar_shows_the_progress_on_a_terminal(world, folder, two):
    """It counts what has to be written; there is none in a pipe, and none if nothing has changed."""
    for said, has_bar in (("wrote 2", True), ("unchanged 2", False)):
        with Pane(world, "export", "--all", "-o", str(folder)) as pane:
            until(lambda pane=pane, said=said: said in pane.raw, "the summary")
        assert ("exporting" in pane.raw) == has_bar
    two[0].say(user("more"))
    done = world.katod("export", "--all", "-o", str(folder))
    assert (done.stdout, done.stderr) == (b"updated 1, unchanged 1\n", b"")

"""What other machines share is read by all commands that look for what was said, and is never changed."""

import shlex
import shutil
from pathlib import Path

import orjson
import pytest

from katod.archive.manifest import MANIFEST
from katod.archive.parts import SharedFolders, shared_folders
from tests.looping import each
from tests.support.machines import Machine
from tests.support.records import OTHER, SESSION, Claude, Codex, says, user

KEY = f"claude:{SESSION}"


@pytest.fixture
def laptop(tmp_path):
    """Return a machine with a session of which the end is recorded, and a desktop's folder beside it."""
    laptop = Machine("laptop", tmp_path)
    make = laptop.claude()
    make.append(make.user("the lantern of the shop"), make.says("It is blue."))
    make.append(make.user("::start basket\nWhere is the basket?"), make.says("In cart.ts."))
    laptop.once()
    return laptop


@pytest.fixture
def desktop(tmp_path):
    return Machine("desktop", tmp_path)


def content(folder):
    """Return every file below a folder, with its content and when it changed."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in paths}


def errors(machine, command):
    """Return what a command says of the session, which fails."""
    done = machine.katod(command, SESSION, check=False)
    assert done.returncode == 1
    return done.stderr.decode()


def test_what_another_machine_shares_is_found_and_shown(laptop, desktop):
    """By search, show, export, handoff and usage; nothing in its part changes, and nothing is kept of it."""
    laptop.share()
    before = content(laptop.part)
    [hit] = [orjson.loads(line) for line in desktop.cli("search", "lantern", "--json").splitlines()]
    assert (hit["machine"], hit["session"], hit["open"]) == ("laptop", KEY, f"katod show {KEY} --find lantern")
    assert "It is blue." in desktop.cli("show", SESSION[:8])
    assert "Where is the basket?" in desktop.cli("show", KEY, "--find", "basket")
    assert "It is blue." in desktop.cli("export", SESSION)
    assert "Where is the basket?" in desktop.cli("handoff", SESSION)
    used, own = (orjson.loads(machine.cli("usage", "--json")) for machine in (desktop, laptop))
    assert used["total"] == own["total"]
    assert used["total"]["answers"] == 2
    assert content(laptop.part) == before
    kept = b"".join(path.read_bytes() for path in desktop.state.rglob("*") if path.is_file())
    assert b"lantern" not in kept


def test_a_session_of_another_machine_cannot_be_resumed_but_handed_on(laptop, desktop):
    """Its agent's files are there; a brief can be made here."""
    laptop.share()
    said = errors(desktop, "resume")
    assert "the machine laptop: it can be resumed only there" in said
    assert f"`katod handoff {KEY}`" in said


def test_of_transcripts_alone_the_text_is_shown_and_the_rest_is_refused_with_a_reason(laptop, desktop):
    """Markdown and pages have no events."""
    laptop.share("markdown")
    assert "It is blue." in desktop.cli("show", SESSION)
    assert "lantern" in desktop.cli("search", "lantern", "--json")
    assert "exported only its text" in errors(desktop, "handoff")
    assert f"`katod show {KEY}`" in errors(desktop, "resume")


def test_a_page_of_another_machine_is_opened(laptop, desktop):
    """That is the command below a hit, and what is said where only events can be read."""
    laptop.share("html")
    [hit] = [orjson.loads(line) for line in desktop.cli("search", "lantern", "--json").splitlines()]
    assert (hit["session"], hit["open"]) == (KEY, f"katod open {hit['path']}")
    assert "the lantern of the shop" in Path(hit["path"]).read_text()
    for command in ("show", "resume", "handoff"):
        assert f"`{hit['open']}`" in errors(desktop, command)
    desktop.variables["BROWSER"] = "cat"
    assert b"the lantern of the shop" in desktop.katod(*shlex.split(hit["open"])[1:]).stdout


def test_a_command_for_sessions_of_this_machine_says_where_the_session_is(laptop, desktop):
    """It names the machine, and how to read it."""
    laptop.share()
    assert f"the machine laptop has it: `katod show {KEY}` reads it here" in errors(desktop, "follow")


def test_the_own_part_has_what_the_agent_deleted(laptop):
    """It is searched with --all, as the session was; what is still there is found once."""
    laptop.share()
    assert len(laptop.cli("search", "lantern", "--all", "--json").splitlines()) == 1
    laptop.cli("search", "lantern", code=1)  # no transcript of katod's has it: only what is recorded is searched
    shutil.rmtree(laptop.home / ".claude")
    [hit] = [orjson.loads(line) for line in laptop.cli("search", "lantern", "--all", "--json").splitlines()]
    assert hit["machine"] == "laptop"
    assert "It is blue." in laptop.cli("show", SESSION)


def test_what_was_forgotten_here_is_not_shown_from_elsewhere(laptop, tmp_path):
    """Whoever shared it."""
    copy = Machine("desktop", tmp_path)
    shutil.copytree(laptop.home / ".claude", copy.home / ".claude")
    copy.once()
    laptop.share()
    assert "It is blue." in copy.cli("show", SESSION)
    copy.cli("forget", SESSION, "--yes")
    shutil.rmtree(copy.home / ".claude")
    copy.cli("show", SESSION, code=1)
    copy.cli("search", "lantern", "--all", code=1)


def test_what_a_forgotten_session_started_is_not_shown_from_elsewhere(tmp_path):
    """Although only the list of the other machine knows of it."""
    laptop, desktop = Machine("laptop", tmp_path), Machine("desktop", tmp_path)
    for machine in (laptop, desktop):
        maker = Codex(machine).say(user("the lantern"), says("It is blue."))
    child = Codex(laptop).child().say(user("look"), says("In cart.ts."))
    Codex(laptop, OTHER).say(user("the basket"), says("It is red."))
    laptop.share()
    assert "In cart.ts." in desktop.cli("show", child.session)
    desktop.cli("forget", f"codex:{maker.session}", "--yes")
    maker.path.unlink()
    desktop.cli("show", child.session, code=1)
    desktop.cli("search", "cart", "--all", code=1)
    assert "It is red." in desktop.cli("show", f"codex:{OTHER}")


def test_a_folder_of_no_machine_is_read_under_its_own_name(laptop, desktop, tmp_path):
    """An archive from before machines had names, copied from one."""
    laptop.configure(**{"archive.machine": ""})
    laptop.cli("export", "--all", "-f", "jsonl", "-o", str(tmp_path / "old-laptop"))
    desktop.configure(**{"archive.folders": [str(tmp_path / "old-laptop")]})
    [hit] = [orjson.loads(line) for line in desktop.cli("search", "lantern", "--json").splitlines()]
    assert hit["machine"] == "old-laptop"


def spoiled_list(part):
    lines = (part / MANIFEST).read_bytes().splitlines(keepends=True)
    (part / MANIFEST).write_bytes(b"".join([lines[0], b"{half\n", *lines[1:]]))


def linked_list(part):
    (part / MANIFEST).rename(part / "list")
    (part / MANIFEST).symlink_to(part / "list")


def later_list(part):
    (part / MANIFEST).write_bytes(b'{"katodExport":99}\n')


def linked_file(part):
    [path] = [path for path in part.rglob("*.jsonl") if path.name[0] != "."]
    secret = part.parent.parent / "secret.jsonl"
    path.rename(secret)
    path.symlink_to(secret)


def gone_file(part):
    [path] = [path for path in part.rglob("*.jsonl") if path.name[0] != "."]
    path.unlink()


@each("spoil, said", [
    (spoiled_list, "1 line of the list is damaged"), (linked_list, "is not a regular file"),
    (later_list, "later version of katod"), (linked_file, "not a regular file"), (gone_file, "no longer exists"),
])  # fmt: skip
def test_a_damaged_part_is_named_in_one_line(tmp_path_factory, spoil, said):
    """Nothing behind a link is read, and what else there is, is."""
    folder = tmp_path_factory.mktemp("machines")
    laptop, desktop = Machine("laptop", folder), Machine("desktop", folder)
    laptop.claude().say(user("the lantern"), says("blue"))
    laptop.share()
    spoil(laptop.part)
    desktop.session(2).say(user("my own lantern"), says("green"))
    hits = [orjson.loads(line) for line in desktop.cli("search", "lantern", "--all", "--json").splitlines()]
    assert "my own lantern" in [hit["snippet"] for hit in hits]
    assert said in desktop.said, desktop.said
    assert len([line for line in desktop.said.splitlines() if line.startswith("katod: ")]) == 1


def test_names_in_a_list_lead_nowhere_else(laptop, desktop):
    """A list is somebody's text: a path out of the part is a damaged line."""
    laptop.share()
    lines = (laptop.part / MANIFEST).read_bytes().splitlines()
    row = orjson.loads(lines[-1])
    (laptop.shared.parent / "private.jsonl").write_text("private")
    for name in ("../private.jsonl", "/etc/passwd", "a/../../private.jsonl", ".katod-export.jsonl"):
        (laptop.part / MANIFEST).write_bytes(b"\n".join([*lines[:-1], orjson.dumps(row | {"file": name}), b""]))
        found = shared_folders([str(laptop.shared)], desktop.state)
        assert not found.sessions(), name
        assert "1 line of the list is damaged" in next(iter(found.problems.values()))


def test_of_a_session_in_several_parts_the_one_that_goes_on_counts(laptop, tmp_path):
    """As after a move to another machine, even if the older one is exported once more afterwards."""
    laptop.share()
    new = Machine("new", tmp_path)
    shutil.copytree(laptop.home / ".claude", new.home / ".claude")
    new.claude().say(user("and then"), says("done"))
    new.share()
    [old] = [path for path in laptop.part.rglob("*.jsonl") if path.name[0] != "."]
    old.unlink()
    laptop.share()
    [found] = shared_folders([str(new.shared)], tmp_path / "no-state").sessions()
    assert found.machine == "new"
    assert b"no session is shown from laptop (its" in new.katod("sessions", "--machine", "laptop", check=False).stderr


def test_two_machines_of_one_name_are_said(laptop, tmp_path):
    """In folders that never met: their sessions are read, and nobody can tell them apart."""
    laptop.share()
    other = Machine("laptop", tmp_path / "elsewhere")
    other.session(2).say(user("words"))
    other.share()
    found = SharedFolders([laptop.shared, other.shared])
    assert len(found.sessions()) == 2
    assert found.problems == {str(other.part): "is of another machine that is also called laptop"}


def test_the_text_of_another_machine_is_shown_without_secrets(laptop, desktop):
    """It need not have been redacted there."""
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    laptop.session(5).say(user(f"the {token}"), says("yes"))
    for form in ("markdown", "jsonl"):
        laptop.cli("export", "--all", "-f", form, "--no-redact", "-o", str(laptop.shared))
        shown = desktop.cli("show", "00000005")
        assert "the " in shown
        assert token not in shown


def test_a_name_is_quoted_in_the_command_that_is_offered(laptop, desktop):
    """A list may have any id in it."""
    laptop.share()
    path = laptop.part / MANIFEST
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines).replace(SESSION.encode(), b"6f1c; touch x"))
    done = desktop.katod("resume", "6f1c; touch x", check=False)
    assert b"`katod handoff 'claude:6f1c; touch x'`" in done.stderr
    path.write_bytes(b"".join(lines).replace(SESSION.encode(), b"6f1c\\nkatod: all is well"))
    assert not shared_folders([str(laptop.shared)], desktop.state).sessions()


def test_of_several_sessions_elsewhere_one_has_to_be_named(laptop, desktop):
    """As of several here."""
    laptop.session(0x6F1C2C1F).say(user("words"), says("more"))
    laptop.share()
    said = desktop.katod("show", "6f1c2c1", check=False).stderr
    assert b"2 sessions match '6f1c2c1'" in said


def test_an_export_that_has_more_is_shown(laptop, desktop):
    """The newest of its formats."""
    laptop.share()
    laptop.session(6).say(user("the violin"), says("old"))
    laptop.share()
    laptop.talk = laptop.session(6)
    laptop.talk.path.write_bytes(b"")
    laptop.talk.say(user("the violin"), says("old"), says("new words"))
    laptop.share("markdown")
    assert "new words" in desktop.cli("show", "00000006")


def test_without_the_ledger_nothing_of_others_is_shown_and_that_is_said(laptop, desktop):
    """What was forgotten is not known then."""
    laptop.share()
    (desktop.state / "ledger.db").write_bytes(b"no database" * 100)
    desktop.cli("search", "lantern", code=1)
    assert "no session of another machine is shown" in desktop.said


def test_a_machine_without_a_name_knows_its_own_exports(laptop):
    """From where it wrote to."""
    laptop.configure(**{"archive.machine": ""})
    laptop.share()
    assert (laptop.shared / MANIFEST).exists()
    assert laptop.status()["machines"] == []


def test_a_part_is_not_a_place_to_share_in(laptop):
    """It would be read by nobody."""
    laptop.share()
    laptop.cli("export", "--all", "-o", str(laptop.part), code=1)
    assert "is the part of the machine laptop" in laptop.said


def test_exports_elsewhere_are_as_they_were(laptop, tmp_path):
    """The name of a machine counts in shared directories alone."""
    laptop.cli("export", "--all", "-o", str(tmp_path / "chats"))
    assert (tmp_path / "chats" / MANIFEST).exists()
    assert b"machine" not in (tmp_path / "chats" / MANIFEST).read_bytes()


def test_a_link_in_the_place_of_the_own_part_is_refused(laptop, tmp_path):
    """It may lead to where everyone reads."""
    (tmp_path / "public").mkdir()
    laptop.shared.mkdir()
    laptop.part.symlink_to(tmp_path / "public")
    laptop.cli("export", "--all", "-o", str(laptop.shared), code=1)
    assert "is a symbolic link" in laptop.said
    assert list((tmp_path / "public").iterdir()) == []


def test_the_sessions_of_a_machine_are_listed(laptop, desktop):
    """With what shows them; a name that no machine has is answered with those that there are."""
    laptop.share()
    [row] = [orjson.loads(line) for line in desktop.cli("sessions", "--machine", "laptop", "--json").splitlines()]
    assert (row["machine"], row["session"], row["title"]) == ("laptop", SESSION, "the lantern of the shop")
    assert row["outputs"][0].startswith(str(laptop.part))
    assert SESSION[:8] in desktop.cli("sessions", "--machine", "laptop")
    assert desktop.cli("sessions") == ""
    done = desktop.katod("sessions", "--machine", "server", check=False)
    assert b"no machine called 'server' shares sessions (there are: laptop)" in done.stderr


def test_status_names_each_machine_and_each_problem_in_a_line(laptop, desktop):
    """The own part is none of another."""
    laptop.share()
    desktop.share()
    [row] = desktop.status()["machines"]
    assert (row["machine"], row["folder"], row["sessions"]) == ("laptop", str(laptop.part), 1)
    (laptop.part / MANIFEST).write_bytes(b'{"katodExport":99}\n')
    status = desktop.status()
    assert status["machines"] == []
    assert str(laptop.part / MANIFEST) in [one["path"] for one in status["problems"]]


def test_a_folder_that_is_not_there_is_named(desktop):
    """A disk may not be mounted."""
    desktop.claude().append(Claude().user("words"))
    desktop.cli("usage")
    assert f"katod: {desktop.shared}: cannot be read: No such file or directory" in desktop.said


@pytest.mark.whole
@pytest.mark.parametrize("veil", ["", "\x1b[5m", "\u200b"])
@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_what_another_machine_wrote_without_redaction_is_shown_without_secrets(laptop, desktop, form, veil):
    """Its titles and directories as well as what was said: anyone may have written there."""
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    laptop.share(form)
    for path in filter(Path.is_file, laptop.part.rglob("*")):
        text = path.read_text()
        if path.name != MANIFEST:  # where it is in the name of a file
            text = text.replace("lantern", f"lantern {token}")
        mark = veil if path.suffix == ".md" else orjson.dumps(veil).decode()[1:-1]
        path.write_text(text.replace(token, f"{token}{mark}").replace("/home/me/app", f"/home/me/{token}"))
    for command in (("search", "blue"), ("search", "--json", "blue"), ("search", "--all", "--json", "lantern")):
        assert token not in desktop.cli(*command)
    for command in (("sessions",), ("sessions", "--json")):
        assert token not in desktop.cli(*command, "--machine", "laptop")

"""What was recorded on another machine is given to programs, and nothing else."""

import orjson
import pytest

from katod.archive import marks
from katod.archive.archived import calls_with, events_of, recorded_events, recorded_parts
from katod.archive.manifest import MANIFEST
from katod.archive.parts import shared_folders
from katod.archive.recordedtally import RecordedTally
from katod.cli import unmarking
from katod.errors import OutputUnreadable
from tests.cli.test_why import edited, git, runs
from tests.support.machines import Machine
from tests.support.records import MAKERS, OTHER, SESSION, Claude, CodexFlat, Cursor, says, user
from tests.support.records.edits import NEW, OLD

FIRST, INSIDE, AFTER = "the lantern", "the basket", "the umbrella"


@pytest.fixture
def laptop(tmp_path):
    """Return a machine with a session of which the middle is recorded."""
    laptop = Machine("laptop", tmp_path)
    laptop.talk = make = laptop.claude()
    make.say(user(FIRST), says("It is blue."), user(f"::start\n{INSIDE}"), says("It is red."), user("::stop"))
    make.say(user(AFTER), says("It is green."))
    laptop.once()
    laptop.share()
    return laptop


def shared(machine):
    [found] = shared_folders([str(machine.shared)], machine.home / "nothing").sessions()
    return found


def said(events):
    return [event.payload.get("text", "") for event, _ in events]


def file_of(machine):
    [path] = [path for path in machine.part.rglob("*.jsonl") if path.name != MANIFEST]
    return path


def test_of_a_session_the_recorded_part_is_given(laptop):
    """To the event; the rest of the file is not."""
    found = shared(laptop)
    [part] = [said(events) for events in recorded_parts(found)]
    assert [words for words in part if words.startswith(("the", "It"))] == [INSIDE, "It is red."]
    assert part == said(recorded_events(found))
    assert not any(word in text for text in part for word in (FIRST, AFTER, "blue", "green"))
    assert len(said(events_of(found))) > len(part)
    laptop.talk.say(user(f"::start again\n{FIRST} once more"), says("Still blue."))
    laptop.once()
    laptop.share()
    assert len([list(part) for part in recorded_parts(shared(laptop))]) == 2


def test_a_list_that_says_nothing_of_recordings_gives_nothing(laptop):
    """As of a session that was never recorded, or of a katod that did not note it."""
    path = laptop.part / MANIFEST
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(b"".join(orjson.dumps({k: v for k, v in row.items() if k != "recorded"}) + b"\n" for row in rows))
    found = shared(laptop)
    assert found.recorded.parts == ()
    assert said(recorded_events(found)) == []


def test_of_another_file_than_the_list_describes_nothing_is_given(laptop):
    """It may have arrived before its list, or lack the line at which a part ends; what it has is shown to its person."""
    before = (laptop.part / MANIFEST).read_bytes()
    laptop.talk.say(user("something private"), says("yes"))
    laptop.once()
    laptop.share()
    path = file_of(laptop)
    new = path.read_bytes()
    (laptop.part / MANIFEST).write_bytes(before)
    with pytest.raises(OutputUnreadable, match="is not the file that the list describes"):
        said(recorded_events(shared(laptop)))
    assert "something private" in said(events_of(shared(laptop)))
    lines = new.splitlines(keepends=True)
    for number in range(len(lines)):
        path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        with pytest.raises(OutputUnreadable):
            said(recorded_events(shared(laptop)))


def test_a_recording_that_its_agent_has_cut_off_is_not_given(tmp_path):
    """Where `::stop` was, nobody knows: what follows must not count as recorded."""
    laptop = Machine("laptop", tmp_path)
    make = laptop.claude().say(user(f"::start\n{INSIDE}"), says("It is red."))
    kept = make.path.read_bytes()
    make.say(user("::stop"), says("ok"))
    laptop.once()
    make.path.write_bytes(kept)
    make.say(user(AFTER), says("It is green."))
    laptop.once()
    laptop.share()
    assert AFTER in said(events_of(shared(laptop)))
    assert AFTER not in said(recorded_events(shared(laptop)))


@pytest.mark.parametrize("change", ["deleted", "edited", "forgotten"])
def test_what_its_person_takes_back_is_not_given(laptop, change):
    """A transcript that is gone, or was changed, and a session that was forgotten."""
    assert shared(laptop).recorded.parts
    [row] = laptop.outputs()
    if change == "deleted":
        row.path.unlink()
    elif change == "edited":
        row.path.write_text(row.path.read_text().replace("It is red.", "…"))
    else:
        laptop.cli("forget", SESSION, "--yes")
        assert shared(laptop).recorded.parts == ()
        laptop.claude().path.unlink()
    laptop.share()
    assert shared(laptop).recorded.parts == ()


TWICE = "::start private\nSomething private", "::stop", "::start public\nabout zebras"


@pytest.fixture
def twice(tmp_path):
    """Return a machine that shares a session with two recordings, of which one may be taken back."""
    laptop = Machine("laptop", tmp_path)
    laptop.talk = laptop.claude()
    for words in TWICE:
        laptop.talk.say(user(words), says("I see."))
    laptop.once()
    laptop.share()
    assert len(shared(laptop).recorded.parts) == 2
    return laptop


def take_back(machine):
    [path] = [row.path for row in machine.outputs() if row.path.name == "private.md"]
    path.unlink()


def test_of_two_recordings_one_may_be_taken_back(twice):
    """The other one is given as before, now and after the next run."""
    take_back(twice)
    for said_of_it in ("unchanged 1\n", "unchanged 1\n"):
        assert twice.share() == said_of_it
        [words] = [said(events) for events in recorded_parts(shared(twice))]
        assert any("zebras" in word for word in words)
        assert not any("private" in word for word in words)


@pytest.mark.parametrize("form", ["jsonl", "markdown", "parquet"])
def test_what_is_taken_back_of_a_session_that_is_gone_is_not_given(twice, form, tmp_path):
    """Nor what was recorded beside it: the file that has both is not written again. Whatever is exported next."""
    twice.talk.path.unlink()
    twice.once()
    take_back(twice)
    twice.cli("export", "--all", "-f", form, "-o", str(tmp_path / "elsewhere"))
    assert shared(twice).recorded.parts == ()


def test_what_is_excluded_later_is_not_given(twice):
    """Although its file stays, and the transcript, too; until its project is not excluded any more."""
    twice.configure(exclude=[twice.talk.cwd])
    assert twice.share() == "excluded 1\n"
    assert shared(twice).recorded.parts == ()
    assert file_of(twice).exists()
    twice.configure()
    twice.share()
    assert len(shared(twice).recorded.parts) == 2


def test_what_is_not_taken_back_stays(twice, tmp_path):
    """Also of a session that is gone, and although one of its recordings goes on in the meantime."""
    twice.talk.say(user("more"), says("I see."), user("::stop"), says("ok"))
    twice.once()
    twice.talk.path.unlink()
    twice.cli("export", "--all", "-f", "markdown", "-o", str(tmp_path / "elsewhere"))
    assert len(shared(twice).recorded.parts) == 2


@pytest.mark.parametrize("is_gone", [True, False])
def test_what_is_on_a_disk_that_is_away_is_not_taken_back(twice, tmp_path, is_gone):
    """Whatever is exported while the output directory is not mounted, and although the session goes on."""
    if is_gone:
        twice.talk.path.unlink()
        twice.once()
    away = twice.out.rename(tmp_path / "away")
    if not is_gone:
        twice.talk.say(user("more"), says("I see."))
    twice.cli("export", "--all", "-f", "markdown", "-o", str(tmp_path / "elsewhere"))
    twice.share()
    assert len(shared(twice).recorded.parts) == 2
    away.rename(twice.out)
    twice.share()
    assert len(shared(twice).recorded.parts) == 2


def test_what_was_taken_back_stays_so_while_its_disk_is_away(twice, tmp_path):
    """Nobody knows what is in a transcript that cannot be read: it marks nothing anew."""
    take_back(twice)
    twice.share()
    twice.out.rename(tmp_path / "away")
    twice.talk.say(user("more"), says("I see."))
    assert twice.share() == "updated 1\n"
    assert len(shared(twice).recorded.parts) == 1


def test_what_is_recorded_while_its_disk_is_away_is_marked_once_it_is_back(twice, tmp_path):
    """Neither a range that goes on meanwhile nor a new one is marked before: nobody knows what becomes of it."""
    before = shared(twice).recorded.parts
    away = twice.out.rename(tmp_path / "away")
    twice.talk.say(user("more"), says("I see."), user("::stop"), user("::start\nabout lions"), says("I see."))
    twice.once()
    assert twice.share() == "updated 1\n"
    assert shared(twice).recorded.parts == before
    assert twice.share() == "unchanged 1\n"
    away.rename(twice.out)
    twice.once()
    assert twice.share() == "unchanged 1\n"
    words = [text for part in recorded_parts(shared(twice)) for text in said(part)]
    assert {"more", "about lions"} < {*words}


@pytest.mark.parametrize("of_now", [True, False])
def test_marks_stay_while_their_disk_is_away_and_a_queued_prompt_is_sent(twice, tmp_path, monkeypatch, of_now):
    """It has another id then. Earlier versions let a part end with it: that ends before it now."""
    queued = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:50:00.000Z"}
    twice.talk.append(queued | {"operation": "enqueue", "content": "and lions"})
    twice.once()
    with monkeypatch.context() as earlier:
        if not of_now:
            earlier.setattr(RecordedTally, "_provisional", property(lambda _: (), lambda *_: None), raising=False)
        twice.share()
    before = shared(twice).recorded
    assert before.parts[-1][1].endswith(":usage") == of_now
    twice.out.rename(tmp_path / "away")
    twice.talk.append(queued | {"operation": "dequeue"}, twice.talk.user("and lions", promptSource="queued"))
    twice.talk.say(says("I see."))
    twice.share()
    now = shared(twice).recorded
    assert (now.of, now.parts[:-1]) == (before.of, before.parts[:-1])
    words = [text for part in recorded_parts(shared(twice)) for text in said(part)]
    assert "lions" not in "".join(words)
    assert not of_now or now.parts == before.parts


def test_a_machine_takes_marks_away_that_it_made_under_another_name(twice):
    """Its earlier part stays readable, and may be read by programs of other machines. Those of others stay."""
    other = Machine("server", twice.shared.parent)
    other.claude().say(user(f"::start\n{FIRST}"), says("It is blue."))
    other.once()
    other.share()
    before = (other.part / MANIFEST).read_bytes()
    twice.name = "notebook"
    twice.configure()
    for row in twice.outputs():
        row.path.unlink()
    twice.share()
    marked = {path.parent.name[:6] for path in twice.shared.rglob(MANIFEST) if b'"recorded"' in path.read_bytes()}
    assert marked == {"server"}
    assert (other.part / MANIFEST).read_bytes() == before


@pytest.fixture
def unnamed(twice):
    """Return a machine whose list does not name the recordings: an earlier version of katod wrote it."""
    path = twice.part / MANIFEST
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    for row in rows:
        row.get("recorded", {}).pop("of", None)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return twice


def test_a_list_that_does_not_name_the_recordings_marks_what_has_one(unnamed, tmp_path):
    """Until its session is read again, which the next export of it does; also of a session that is gone."""
    unnamed.cli("export", "--all", "-f", "markdown", "-o", str(tmp_path / "elsewhere"))
    assert (len(shared(unnamed).recorded.of), len(shared(unnamed).recorded.parts)) == (0, 2)
    unnamed.talk.path.unlink()
    unnamed.once()
    unnamed.share()
    assert len(shared(unnamed).recorded.parts) == 2
    for row in unnamed.outputs():
        row.path.unlink()
    unnamed.cli("export", "--all", "-f", "markdown", "-o", str(tmp_path / "elsewhere"))
    assert shared(unnamed).recorded.parts == ()


def version_of(path):
    """Return what changes if a file is written or replaced; it may be read."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_ctime_ns


def test_an_export_names_the_recordings_that_its_list_does_not_name(unnamed):
    """So that one of them can be taken back. Once."""
    before = version_of(file_of(unnamed))
    assert unnamed.share() == "unchanged 1\n"
    assert (len(shared(unnamed).recorded.of), len(shared(unnamed).recorded.parts)) == (2, 2)
    assert version_of(file_of(unnamed)) == before
    take_back(unnamed)
    unnamed.share()
    assert len(shared(unnamed).recorded.parts) == 1


@pytest.mark.parametrize("is_true", [True, False])
def test_a_list_elsewhere_is_opened_only_if_a_mark_has_to_go(twice, tmp_path, monkeypatch, is_true):
    """It may be on a disk that is read-only since. And each list is read once, however many there are."""
    for name in ("backup", "other", "here"):
        twice.cli("export", "--all", "-f", "jsonl", "-o", str(tmp_path / name))
    if not is_true:
        twice.talk.path.unlink()
        twice.once()
        take_back(twice)
    opens, reads = [], []
    original_open, original_read = unmarking.opened, marks.read_small
    monkeypatch.setattr(unmarking, "opened", lambda root: (opens.append(root.name), original_open(root))[1])
    monkeypatch.setattr(
        marks, "read_small", lambda path, *rest, **named: (reads.append(path), original_read(path, *rest, **named))[1]
    )
    twice.cli("export", "--all", "-f", "jsonl", "-o", str(tmp_path / "here"))
    assert sorted(opens) == ([] if is_true else sorted(["backup", "other", twice.part.name]))
    assert sorted(reads) == sorted(root / MANIFEST for root in (tmp_path / "backup", tmp_path / "other", twice.part))


def test_a_damaged_list_elsewhere_is_kept_and_said(twice, tmp_path):
    """As one in the directory to which one exports: its sessions are not listed until that is exported to again."""
    twice.session(2).say(user("words"), says("more"))
    twice.share()
    path = twice.part / MANIFEST
    path.write_bytes(path.read_bytes() + b'{"session": garbage\n')
    take_back(twice)
    twice.cli("export", "--all", "-f", "markdown", "-o", str(tmp_path / "elsewhere"))
    aside = ".katod-export.damaged-1.jsonl"
    assert twice.said == (
        f"katod: {twice.part}: the list of exports was damaged and was renamed to {aside}; no files were lost\n"
    )
    assert b"garbage" in (twice.part / aside).read_bytes()
    assert b"garbage" not in path.read_bytes()


def test_what_is_recorded_later_is_noted_with_the_next_export(tmp_path):
    """Although nothing in the session has changed."""
    laptop = Machine("laptop", tmp_path)
    laptop.claude().say(user(FIRST), says("It is blue."))
    laptop.once()
    assert laptop.share() == "wrote 1\n"
    assert shared(laptop).recorded.parts == ()
    laptop.cli("export", SESSION, "-o", str(tmp_path / "copy.md"))  # katod is not asked to record it
    assert laptop.share() == "unchanged 1\n"
    laptop.cli("capture", SESSION, "all")
    laptop.once()
    assert laptop.share() == "unchanged 1\n"
    assert FIRST in said(recorded_events(shared(laptop)))


def test_a_recording_counts_on_whichever_machine_it_was_made(laptop, tmp_path):
    """A copy of the session that another machine exports later, unrecorded, does not hide it."""
    server = Machine("server", tmp_path)
    copy = server.claude()
    copy.path.write_bytes(laptop.claude().path.read_bytes())
    server.share()
    folders = shared_folders([str(laptop.shared)], tmp_path / "nothing")
    [found] = folders.sessions(recorded=True)
    assert (found.machine, INSIDE in said(recorded_events(found))) == ("laptop", True)


def test_an_excluded_project_leaves_no_trace_in_a_shared_folder(tmp_path):
    """Neither its path nor what was said: others read the list. Nor does one of which nothing was said."""
    laptop = Machine("laptop", tmp_path)
    laptop.claude().say(user(FIRST), says("It is blue."))
    laptop.claude(OTHER, folder="-home-me-app").append({"type": "file-history-snapshot", "messageId": "m"})
    laptop.configure(exclude=["/home/me/*"])
    assert laptop.share() == "empty 1, excluded 1\n"
    left = b"".join(path.read_bytes() for path in laptop.shared.rglob("*") if path.is_file())
    assert not any(word in left for word in (b"/home/me", b"home-me", SESSION.encode(), FIRST.encode()))
    assert laptop.share() == "empty 1, excluded 1\n"


def test_what_an_excluded_session_started_leaves_no_trace_in_a_shared_folder(tmp_path):
    """Its sub-agent may work in another directory; the list has nothing of the session to which it belongs."""
    laptop = Machine("laptop", tmp_path)
    laptop.claude().say(user(FIRST), says("It is blue."))
    child = Claude(laptop, SESSION, subagent="a1b2")
    child.cwd = "/home/me/elsewhere"
    child.say(user(INSIDE), says("It is red."))
    laptop.configure(exclude=["/home/me/app"])
    for form in ("jsonl", "jsonl", "markdown"):
        assert laptop.share(form) == "excluded 2\n"
    assert [path.name for path in laptop.shared.rglob("*") if path.is_file()] == [MANIFEST]


@pytest.mark.parametrize(
    "make", [maker for maker in MAKERS if maker not in (Cursor, CodexFlat)], ids=lambda make: make.__name__
)
@pytest.mark.parametrize("begin", ["hello", "::start\nhello"])
def test_why_leads_to_the_prompt_on_another_machine(tmp_path, make, begin):
    """Of what was recorded there without being asked for all, and of all with --all."""
    laptop, desktop = Machine("laptop", tmp_path), Machine("desktop", tmp_path)
    maker = make(laptop)
    maker.say(user(begin), says("hi"))
    edited(maker)
    laptop.once()
    laptop.share()
    assert calls_with(shared(laptop), ["note.txt"])
    assert not calls_with(shared(laptop), ["other.txt"])
    (desktop.project / "note.txt").write_text(f"{OLD}\n")
    git(desktop.project, "init", "-q", "-b", "main")
    git(desktop.project, "add", ".")
    git(desktop.project, "commit", "-qm", "a note")
    (desktop.project / "note.txt").write_text(f"{NEW}\n")
    [found] = runs(desktop, desktop.project / "note.txt", "--all")
    assert (found["status"], found["prompt"]["text"]) in (("exact", "please edit it"), ("exact", "Edit it."))
    assert found["machine"] == "laptop"
    assert found["page"].startswith("/machines/laptop/")
    [found] = runs(desktop, desktop.project / "note.txt")
    assert found["status"] == ("exact" if begin.startswith("::") else "unknown")


def test_what_arrives_later_than_its_list_is_counted_then(laptop, tmp_path):
    """Whatever was counted of the file before."""
    desktop = Machine("desktop", tmp_path)
    path = file_of(laptop)
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"It is red.")].rpartition(b"\n")[0] + b"\n")
    before = orjson.loads(desktop.cli("usage", "--json"))["total"]["answers"]
    path.write_bytes(whole)
    assert orjson.loads(desktop.cli("usage", "--json"))["total"]["answers"] > before


def test_an_answer_that_is_here_and_elsewhere_counts_once(tmp_path):
    """A fork of a session of another machine has copies of its answers, under an id of its own."""
    laptop, desktop = Machine("laptop", tmp_path), Machine("desktop", tmp_path)
    make = laptop.claude()
    for number in range(3):
        message = {"id": f"msg_0123456789abcdef{number}", "model": "m"}
        make.append(make.user(f"prompt {number}"), make.says("answer", message=message))
    laptop.share()
    fork = desktop.claude(OTHER)
    fork.path.parent.mkdir(parents=True, exist_ok=True)
    fork.path.write_bytes(make.path.read_bytes().replace(SESSION.encode(), OTHER.encode()))
    own, both = (orjson.loads(machine.cli("usage", "--json"))["total"] for machine in (laptop, desktop))
    assert own["answers"] == 3
    assert both["tokens"] == own["tokens"]
    again = orjson.loads(desktop.cli("usage", "--json"))["total"]
    assert again == both

"""What was recorded on another machine is given to programs, and nothing else."""

import orjson
import pytest

from katod.archive.archived import calls_with, events_of, recorded_file, recorded_parts
from katod.archive.manifest import MANIFEST, WHOLE
from katod.archive.parts import shared_folders
from katod.errors import OutputUnreadable
from tests.cli.test_why import edited, git, runs
from tests.support.machines import Machine
from tests.support.records import MAKERS, OTHER, SESSION, CodexFlat, Cursor, says, user
from tests.support.records.edits import NEW, OLD

FIRST, INSIDE, AFTER = "the lantern", "the basket", "the umbrella"


@pytest.fixture
def laptop(tmp_path):
    """Return a machine with a session of which the middle is recorded."""
    laptop = Machine("laptop", tmp_path)
    make = laptop.claude()
    make.say(user(FIRST), says("It is blue."), user(f"::start\n{INSIDE}"), says("It is red."), user("::stop"))
    make.say(user(AFTER), says("It is green."))
    laptop.once()
    laptop.share()
    return laptop


def shared(machine):
    [found] = shared_folders([str(machine.shared)], machine.home / "nothing").sessions()
    return found


def test_of_a_session_the_recorded_part_is_given(laptop):
    """To the line, whichever way it is read; the rest of the file is not."""
    found = shared(laptop)
    with recorded_file(found) as file:
        text = file.read()
    assert INSIDE.encode() in text
    assert not any(word.encode() in text for word in (FIRST, AFTER, "blue", "green"))
    [part] = [list(events) for events in recorded_parts(found)]
    said = [event.payload.get("text", "") for event, _ in part]
    assert [words for words in said if words.startswith(("the", "It"))] == [INSIDE, "It is red."]
    assert sum(1 for _ in events_of(found)) > len(said)
    laptop.claude().say(user(f"::start again\n{FIRST} once more"), says("Still blue."))
    laptop.once()
    laptop.share()
    assert len([list(part) for part in recorded_parts(shared(laptop))]) == 2


def test_a_list_that_says_nothing_of_recordings_gives_nothing(laptop):
    """As of a session that was never recorded, or of a katod that did not note it."""
    path = laptop.part / MANIFEST
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    path.write_bytes(b"".join(orjson.dumps({k: v for k, v in row.items() if k != "recorded"}) + b"\n" for row in rows))
    found = shared(laptop)
    assert found.recorded == ()
    assert list(recorded_parts(found)) == []


def test_a_session_that_was_recorded_as_a_whole_is_given_as_a_whole(tmp_path):
    """In Markdown, too, of which no part could be told; with the recording, its export is renewed."""
    laptop = Machine("laptop", tmp_path)
    laptop.configure(auto=True)
    laptop.claude().say(user(FIRST), says("It is blue."))
    laptop.once()
    for form in ("markdown", "jsonl"):
        laptop.share(form)
        assert shared(laptop).recorded == WHOLE
        with recorded_file(shared(laptop)) as file:
            assert FIRST.encode() in file.read()


def test_a_transcript_of_which_a_part_was_recorded_is_not_given(tmp_path):
    """Where it begins in the text is not known."""
    laptop = Machine("laptop", tmp_path)
    laptop.claude().say(user(FIRST), says("It is blue."), user(f"::start\n{INSIDE}"), says("It is red."))
    laptop.once()
    laptop.share("markdown")
    assert shared(laptop).recorded == ()


def test_what_is_recorded_later_is_noted_with_the_next_export(tmp_path):
    """Although nothing in the session has changed."""
    laptop = Machine("laptop", tmp_path)
    laptop.claude().say(user(FIRST), says("It is blue."))
    laptop.once()
    assert laptop.share() == "wrote 1\n"
    assert shared(laptop).recorded == ()
    laptop.cli("export", SESSION, "-o", str(tmp_path / "copy.md"))  # katod is not asked to record it
    assert laptop.share() == "unchanged 1\n"
    laptop.cli("capture", SESSION, "all")
    laptop.once()
    assert laptop.share() == "unchanged 1\n"
    assert shared(laptop).recorded == WHOLE


def test_a_line_that_is_no_event_ends_what_is_given(laptop):
    """Nothing behind it is certain to have been recorded."""
    found = shared(laptop)
    data = found.path.read_bytes().splitlines(keepends=True)
    found.path.write_bytes(b"".join([data[0], b'{"schema":"katod.event/1","id":\n', *data[1:]]))
    with pytest.raises(OutputUnreadable, match="not a katod event"):
        list(recorded_parts(found))


def test_an_excluded_project_leaves_no_trace_in_a_shared_folder(tmp_path):
    """Neither its path nor its sessions: others read the list."""
    laptop = Machine("laptop", tmp_path)
    laptop.claude().say(user(FIRST), says("It is blue."))
    laptop.configure(exclude=["/home/me/*"])
    assert laptop.share() == "excluded 1\n"
    left = [path for path in laptop.shared.rglob("*") if path.is_file()]
    assert not any(b"/home/me" in path.read_bytes() or SESSION.encode() in path.read_bytes() for path in left)
    assert laptop.share() == "excluded 1\n"


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
    [found] = runs(desktop, desktop.project / "note.txt")
    assert found["status"] == ("exact" if begin.startswith("::") else "unknown")


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

"""A recording without a name: its file is made when the words that name it are typed, and loses nothing by that."""

import base64

import pytest

from katod.formats.transcript.markdown import Markdown
from katod.store.rows import UNNAMED
from tests.support.records import Claude, line
from tests.support.versions import set_format_version
from tests.support.world import World

SECRET = "gh" + "p_" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4zAb3d"
PICTURE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"png").decode()},
}


@pytest.fixture
def make():
    return Claude()


@pytest.fixture
def source(world, make):
    """Return a session whose recording begins in the middle, without a name and without words."""
    source = world.claude()
    source.append(make.user("an old matter\n::start"), make.says("first answer"))
    world.once()
    return source


def only(world):
    """Return the only file, after a look at whether it is the export of its recording."""
    assert world.assert_live_is_batch() == 1
    [path] = world.files()
    return path


def test_nothing_is_written_until_words_are_typed(world, source):
    """Before, there is no file; `status`, `verify` and the export of the recording say what they can."""
    assert world.files() == []
    [recording] = world.status()["recordings"]
    assert recording["waiting"]
    assert UNNAMED in world.cli("status")
    assert UNNAMED in world.cli("verify")
    assert "first answer" in world.cli("export", "--recording", str(recording["id"]))


def test_a_plan_names_it_by_its_heading(world, source, make):
    """As the words do with which a client has it carried out; what is typed next no longer does."""
    plan = f"# Plan: a new matter {SECRET}\n\n1. Begin."
    source.append(make.user(f"Implement the following plan:\n\n{plan}", planContent=plan), make.says("second answer"))
    source.append(make.user("commit and update the changelog"), make.says("third answer"))
    world.once()
    path = only(world)
    assert path.name == "2026-02-10-plan-a-new-matter-redacted-github-token-6f1c2c1e.md"
    assert SECRET not in world.cli("sessions") + path.read_text() + str(world.status())
    assert SECRET.encode() not in (world.state / "ledger.db").read_bytes()


def test_the_first_words_name_it(world, source, make):
    """Words from before the recording never do; what was said since `::start` stands in the file, below one head."""
    source.append(make.user("a new matter"), make.says("second answer"))
    world.once()
    path = only(world)
    assert path.name == "2026-02-10-a-new-matter-6f1c2c1e.md"
    text = path.read_text()
    assert text.count("\n# ") == text.count("# a new matter\n") == 1
    assert text.index("*Recording started") < text.index("first answer") < text.index("second answer")
    assert "old matter" not in text
    assert not world.status()["recordings"][0]["waiting"]
    assert "as recorded" in world.cli("verify")


@pytest.mark.parametrize("say", ["::stop", "::start another.md", "::export all.md\n::stop"])
def test_one_that_ends_without_words_is_named_after_its_project_and_time(world, source, make, say):
    """There is nothing else to name it after, and nothing that was recorded is lost."""
    source.append(make.user(say))
    world.once()
    [path] = [path for path in world.files() if "first answer" in path.read_text() and path.name != "all.md"]
    assert path.name.startswith("2026-02-10-app-")
    assert "# app 2026-02-10 " in path.read_text()
    world.assert_live_is_batch()


@pytest.mark.slow
def test_a_name_is_not_waited_for_with_much_text(world, source, make):
    """After 64 kB the file is made, at the same record however the session was cut."""
    source.append(*(make.says(f"{number} " + "word " * 4_000) for number in range(4)))
    world.once()
    assert only(world).name.startswith("2026-02-10-app-")
    source.append(make.user("a new matter"), make.says("later"))
    world.once()
    assert "later" in only(world).read_text()


def test_a_picture_is_not_waited_with(world, source, make):
    """Its folder is called like the file, so the file is made before it is saved."""
    source.append(make.user([PICTURE]))
    world.once()
    [path] = world.out.rglob("*.md")
    [saved] = (path.parent / f"{path.stem}.assets").iterdir()
    assert saved.read_bytes() == b"png"
    assert f"{path.stem}.assets/{saved.name}" in path.read_text()


def test_a_picture_that_comes_with_words_is_in_the_folder_called_after_them(world, source, make):
    """The words count first."""
    source.append(make.user([PICTURE, {"type": "text", "text": "a new matter"}]))
    world.once()
    [path] = world.out.rglob("*.md")
    assert "a-new-matter" in path.name
    assert (path.parent / f"{path.stem}.assets").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("end", ["a new matter", "::stop"])
def test_where_katod_is_restarted_changes_nothing(tmp_path, monkeypatch, make, end):
    """What waits is in the ledger: after a restart behind any record the file is the same."""
    records = [make.user("::start"), make.says("one"), make.user("::stop\n::start +tools"), make.calls("t1", "Bash"),
               make.result("t1", "well"), make.user(end), make.says("two")]  # fmt: skip

    def recorded(name, steps):
        world = World(tmp_path / name, monkeypatch)
        for step in steps:
            world.claude().append(*step)
            world.once()
        assert world.assert_live_is_batch() == 1
        return world.written()

    assert recorded("one by one", [[record] for record in records]) == recorded("at once", [records])


def test_two_recordings_of_the_same_words_have_two_files(world, make):
    """The second gets a number, whether the names are chosen in one step or not."""
    source = world.claude()
    source.append(make.user("::start"), make.user("the words"), make.user("::start b"), make.user("::stop"))
    source.append(make.user("::capture c"), make.user("::stop"), make.user("::start +thinking"))
    world.once()
    assert {"b.md", "c.md", "2026-02-10-the-words-6f1c2c1e.md"} == world.written().keys()


def test_the_shell_says_that_the_name_is_to_come(world, make):
    """`katod start` without a name, too, waits for words, and says so."""
    source = world.claude()
    source.append(make.user("an old matter"))
    world.once()
    assert UNNAMED in world.cli("start", "latest")
    source.append(make.says("an answer"), make.user("a new matter"))
    world.once()
    text = only(world).read_text()
    assert text.count("\n# ") == 1
    assert "# a new matter\n" in text
    assert "an answer" in text


def test_what_waits_is_redacted(world, source, make):
    """The ledger keeps what the file will say, and no secret."""
    source.append(make.says(f"the token is {SECRET}"))
    world.once()
    kept = b"".join(path.read_bytes() for path in world.state.iterdir() if path.is_file())
    assert b"the token is" in kept
    assert SECRET.encode() not in kept
    source.append(make.user("words"))
    world.once()
    assert world.status()["recordings"][0]["redactions"] == 1


def test_jsonl_has_no_head_that_waits(world, make):
    """An output of another format is named the same way."""
    world.configure(format="jsonl")
    source = world.claude()
    source.append(line(make.user("::start")), line(make.says("one")))
    world.once()
    assert world.files() == []
    source.append(make.user("the words"))
    world.once()
    assert only(world).name == "2026-02-10-the-words-6f1c2c1e.jsonl"


def test_the_format_stays_when_the_settings_change_meanwhile(world, source, make):
    """The name has the suffix of the format in which the text waits."""
    world.configure(format="jsonl")
    source.append(make.user("a new matter"))
    world.once()
    assert only(world).suffix == ".md"


def test_a_sub_agent_is_not_waited_with(world, source, make):
    """Its transcript is in a folder called like the file, so the file is made before."""
    source.append(make.calls("t1", "Task", description="look"), make.result("t1", "found", agentId="abc123"))
    source.append(make.user("a new matter"))
    world.once()
    world.assert_live_is_batch()


def test_a_note_in_the_middle_of_a_turn_leaves_the_rest_as_recorded(world, make):
    """The mark that a file was edited is printed live only: it must not change what follows."""
    source = world.claude()
    source.append(make.user("::start notes\nwords"), make.calls("t1", "Bash", command="ls"))
    world.once()
    path = world.out / "app" / "notes.md"
    path.write_text(path.read_text() + "a note\n")
    source.append(make.calls("t2", "Bash", command="pwd"), make.user("more"), make.says("yes"))
    world.once()
    assert "*2 tools" in path.read_text()
    assert "missing" not in world.cli("verify")


def test_an_upgrade_that_changes_the_head_leaves_one(world, source, make, monkeypatch):
    """What waits has no head yet: the file gets that of the version which makes it."""
    before = Markdown.head
    monkeypatch.setattr(
        Markdown, "head", lambda self, *given: before(self, *given).replace("---\n", "---\nnew: head\n", 1)
    )
    set_format_version(monkeypatch, "markdown", 2)
    source.append(make.user("a new matter"))
    world.once()
    [path] = world.files()
    text = path.read_text()
    assert (text.count("\n# "), text.count("new: head"), text.count("first answer")) == (1, 1, 1)

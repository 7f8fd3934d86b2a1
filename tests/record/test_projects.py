"""Recording in a project with a `.katod.toml`: before it is allowed, while it is, and after it changed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.config import ContentSettings, Settings
from katod.errors import TargetRefused
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.project.allowed import Allowed
from katod.project.form import NAME
from katod.record.naming import OutputNaming
from katod.record.policy import Policy
from tests.examples import examples, texts
from tests.support.inprocess import InProcess
from tests.support.parts import memory_ledger
from tests.support.records import Claude, Gemini, says, user
from tests.support.records import Cursor as CursorMaker
from tests.support.world import World

EVERYTHING = """
output = {directory = "docs/chats", format = "jsonl", filename = "evil", allowed_roots = ["/"]}
recording = {auto = true, exclude = true}
content = {thinking = true, tools = "full", redact = false}
agents = {claude = {roots = ["/"]}}
"""
LESS = '[content]\nthinking = false\ntools = "none"\n'
PLACE = '[output]\ndirectory = "docs/chats"\n'
EXCLUDED = "[recording]\nexclude = true\n"
WORDS = "keep these words"


class Shop:
    """A project with a file, and sessions in a directory of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.folder = world.home / "shop"
        self.inside = self.folder / "src"
        self.inside.mkdir(parents=True)
        self.path = self.folder / NAME
        self.docs = self.folder / "docs" / "chats"
        self.sessions = 0

    def put(self, text: str, folder: Path | None = None) -> Path:
        path = (folder or self.folder) / NAME
        path.write_text(text)
        return path

    def allow(self, text: str, folder: Path | None = None) -> None:
        path = self.put(text, folder)
        Allowed(self.world.state).allow(path, path.read_bytes())

    def talk(self, typed: str = f"::start\n{WORDS}") -> Claude:
        """Have a session in which this is typed, with thinking and a call, and let katod run."""
        self.sessions += 1
        session = f"{self.sessions:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11"
        make = Claude(self.world, session, folder="-shop", cwd=str(self.inside))
        make.append(make.user(typed), make.thinks("deep thoughts"), make.says("yes"))
        make.append(make.calls("t1", "Bash", command="ls -l secretly"), make.result("t1", "a\nb"), make.says("done"))
        self.world.once()
        return make

    @property
    def latest(self) -> Path:
        return self.world.outputs()[-1].path


@pytest.fixture
def shop(world: World) -> Shop:
    return Shop(world)


# -- not allowed -------------------------------------------------------------------------------------


@pytest.mark.fault("file of a project")
@pytest.mark.parametrize("auto", [False, True])
def test_a_file_that_is_not_allowed_changes_nothing(shop, auto):
    """The transcript is the same, byte for byte, in the same place; nothing is auto-recorded that was not."""
    shop.world.configure(tools="full", thinking=True, auto=auto)
    shop.talk("words" if auto else f"::start\n{WORDS}")
    without = shop.latest
    content, name = without.read_bytes(), without.name.replace("00000001", "00000002")
    shop.put(EVERYTHING)
    shop.talk("words" if auto else f"::start\n{WORDS}")
    assert shop.latest == without.with_name(name)
    assert shop.latest.read_bytes() == content.replace(b"00000001", b"00000002")
    assert not shop.docs.exists()


def test_a_hostile_file_that_is_allowed_gets_no_more_than_it_may(shop):
    """It may exclude the project; nothing else of it would matter then."""
    shop.world.configure(tools="none", thinking=False)
    shop.allow(EVERYTHING.replace(", exclude = true", ""))
    shop.talk("just words")
    assert shop.world.outputs() == []
    key = "sk-ant-api03-" + "aB3dE5gH7jK9" * 4
    shop.talk(f"::start notes.md\nmy key is {key}")
    text = shop.latest.read_text()
    assert shop.latest == shop.docs / "notes.md"
    assert "my key is" in text
    assert not [shown for shown in (key, "deep thoughts", "secretly") if shown in text]


# -- allowed -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_allowed_file_chooses_directory_and_format(shop):
    """Names follow the template without the folder of the project, and a bare name is there, too."""
    shop.allow('[output]\ndirectory = "docs/chats"\nformat = "jsonl"\n')
    shop.talk()
    shop.talk("::start auth\nhello")
    shop.talk("::start src/auth.md\nhello")
    assert [path.name for path in sorted(shop.docs.iterdir())] == [
        "2026-02-10-keep-these-words-00000001.jsonl",
        "auth.jsonl",
    ]
    assert shop.latest == shop.inside / "src" / "auth.md"
    assert shop.world.files() == []
    assert shop.docs.stat().st_mode & 0o777 == 0o700
    shop.world.assert_live_is_batch()


def test_a_recording_that_waits_for_its_name_gets_a_place_in_the_project(shop):
    """Where it is made is decided when it is named, by the file as it is then."""
    shop.allow(PLACE + LESS)
    make = shop.talk("::start")
    make.append(make.user(WORDS))
    shop.world.once()
    assert [path.name for path in shop.docs.iterdir()] == ["2026-02-10-keep-these-words-00000001.md"]
    other = shop.talk("::start")
    shop.put("")
    other.append(other.user(WORDS))
    shop.world.once()
    assert shop.latest.is_relative_to(shop.world.out)
    shop.world.assert_live_is_batch()


def test_an_allowed_file_reduces_and_what_is_typed_overrides_it(shop):
    """Thinking and calls are left out unless the person asks for them in the chat."""
    shop.world.configure(tools="full", thinking=True)
    shop.allow(LESS)
    shop.talk()
    assert not [shown for shown in ("deep thoughts", "secretly") if shown in shop.latest.read_text()]
    shop.talk(f"::start +tools +thinking\n{WORDS}")
    assert all(shown in shop.latest.read_text() for shown in ("deep thoughts", "secretly"))


@pytest.mark.parametrize("auto", [False, True])
def test_an_allowed_file_excludes_its_project(shop, auto):
    """No command starts a recording, nor does the configuration; the refusal names the file."""
    shop.world.configure(auto=auto)
    shop.allow(EXCLUDED)
    for typed in ("::start +tools\nhello", "::capture\nhello", "::export x\nhello", "hello"):
        shop.talk(typed)
    assert shop.world.outputs() == []
    reasons = {row["reason"] for row in shop.world.status()["refused"]}
    assert reasons == {f"this project is excluded by {shop.path}"}


def test_no_file_lifts_an_exclusion(shop):
    """Neither the person's own, nor that of an allowed file above."""
    shop.allow("[recording]\nexclude = false\n" + LESS)
    shop.world.configure(exclude=[f"{shop.folder}"])
    shop.talk()
    shop.world.configure()
    shop.allow(EXCLUDED)
    shop.put(EVERYTHING, shop.inside)
    shop.talk()
    shop.allow("[recording]\nexclude = false\n" + PLACE, shop.inside)
    shop.talk()
    assert shop.world.outputs() == []


@pytest.mark.fault("file of a project")
def test_a_file_that_changed_chooses_nothing_until_it_is_allowed_again(shop):
    """Neither directory nor format; what it left out stays out."""
    shop.world.configure(thinking=True, tools="full")
    shop.allow(LESS + PLACE)
    shop.talk()
    assert shop.latest.parent == shop.docs
    shop.put(PLACE)
    shop.talk()
    assert [row.root for row in shop.world.outputs()[1:]] == [shop.world.out]
    assert not any(shown in shop.latest.read_text() for shown in ("deep thoughts", "secretly"))
    shop.allow(PLACE)
    shop.talk()
    assert shop.latest.parent == shop.docs
    assert "secretly" in shop.latest.read_text()


@pytest.mark.parametrize("change", [lambda path: path.write_text(f"{EXCLUDED}\n"), Path.unlink], ids=["line", "gone"])
def test_an_exclusion_stays_whatever_becomes_of_its_file(shop, change):
    """One empty line that an agent adds does not have the project auto-recorded."""
    shop.world.configure(auto=True)
    shop.allow(EXCLUDED)
    change(shop.path)
    shop.talk("words")
    shop.talk()
    assert shop.world.outputs() == []


def test_a_running_recording_stays_as_it_is(shop):
    """A file that is allowed meanwhile counts from the next one on; a new start in this session is refused."""
    daemon = InProcess(shop.world)
    make = Claude(shop.world, "00000009-8a53-4c3e-9b5e-0a1d5f8f2c11", folder="-shop", cwd=str(shop.inside))
    make.append(make.user("::start notes\nhello"))
    daemon.turn()
    shop.allow(EXCLUDED + LESS)
    make.append(make.user("still here"))
    daemon.turn()
    daemon.stop()
    shop.world.once()
    assert "still here" in shop.latest.read_text()
    make.append(make.user("::stop"), make.user("::start\nnot any more"))
    shop.world.once()
    assert "not any more" not in shop.latest.read_text()


def test_a_pause_ends_the_recording_of_a_project_that_is_excluded_by_then(shop):
    """What goes on after a pause is a new part of the recording."""
    make = shop.talk("::start notes\nhello")
    shop.world.cli("pause")
    shop.allow(EXCLUDED)
    shop.world.cli("pause", "--end")
    make.append(make.user("not any more"))
    shop.world.once()
    assert "not any more" not in shop.latest.read_text()


# -- a directory that cannot be used ------------------------------------------------------------------


def _link(path, folder):
    path.mkdir(parents=True)
    (path / "chats").symlink_to(folder)


def _loop(path, _):
    path.mkdir(parents=True)
    (path / "chats").symlink_to("chats")


@pytest.mark.fault("file of a project", "unsafe path")
@pytest.mark.parametrize(
    "make", [_link, _loop, lambda path, _: path.write_text("x"), lambda path, to: path.symlink_to(to)]
)
@pytest.mark.parametrize("typed", [f"::start\n{WORDS}", "::start auth\nhello"])
def test_a_directory_that_cannot_be_used_costs_nothing(shop, tmp_path, make, typed):
    """The transcript is in the output directory, says why, and nothing is written through a link."""
    outside = tmp_path / "outside"
    outside.mkdir()
    make(shop.folder / "docs", outside)
    shop.allow(PLACE)
    shop.talk(typed)
    assert shop.latest.is_relative_to(shop.world.out)
    assert os.listdir(outside) == []
    [refused] = shop.world.status()["refused"]
    assert refused["reason"].startswith(f"the directory that {NAME} chose was refused: ")
    assert f"katod chose this file: the directory that {NAME} chose was refused" in shop.latest.read_text()


def test_a_link_below_the_directory_costs_nothing(shop, tmp_path):
    """The template may lead into a folder that the project has as a link."""
    shop.world.configure(filename="{agent}/{title}", auto=True)
    shop.docs.mkdir(parents=True)
    (shop.docs / "claude").symlink_to(tmp_path)
    shop.allow(PLACE)
    shop.talk("hello")
    assert shop.latest.is_relative_to(shop.world.out)
    [refused] = shop.world.status()["refused"]
    assert refused["reason"] == f"auto-record: the directory that {NAME} chose was refused: claude is a symbolic link"


def test_a_folder_above_an_agent_is_no_project(shop):
    """As for a name with a slash."""
    policy = replace(Policy.of(Settings(), (shop.inside / ".agent",)), allowed=Allowed(shop.world.state))
    shop.allow(PLACE)
    project = policy.in_project(str(shop.inside)).project
    assert project.directory is None
    assert "above an agent's directory" in project.refused


# -- properties --------------------------------------------------------------------------------------

DIRECTORIES = st.sampled_from(["docs", "docs/chats", "..", "/etc", ".git", "link", "link/x", "a/../..", "~", "x/./y"])
LEAST_FIRST = ("none", "summary", "full")


@examples(3, 200)
@given(
    DIRECTORIES | texts(max_size=6), st.sampled_from(["true", "false"]), st.sampled_from(LEAST_FIRST), st.booleans(),
    st.sampled_from(LEAST_FIRST), st.sampled_from(["{project}/{title}", "{title}", "{agent}/{date}/{title}"]),
    st.sampled_from(["", "auth", "a/b", "../x"]),
)  # fmt: skip
def test_whatever_is_allowed_the_options_show_no_more_and_the_path_is_inside(
    tmp_path_factory, directory, thinking, tools, own_thinking, own_tools, template, name
):
    """The output is below the project or the output directory, through no link, and shows at most what is configured."""
    home = tmp_path_factory.mktemp("any")
    shop, state = home / "shop", home / "state"
    (shop / "src").mkdir(parents=True)
    (shop / "link").symlink_to(home)
    quoted = "".join(f"\\U{ord(character):08x}" for character in directory)
    data = f'[output]\ndirectory = "{quoted}"\n[content]\nthinking = {thinking}\ntools = "{tools}"\n'.encode()
    (shop / NAME).write_bytes(data)
    allowed = Allowed(state)
    allowed.allow(shop / NAME, data)
    before = Settings(content=ContentSettings(own_thinking, own_tools))
    before = Settings(type(before.output)(str(home / "out"), template), content=before.content)
    policy = Policy(before, (state,), "UTC", home, paused="", allowed=allowed)
    naming = OutputNaming(memory_ledger(), policy).in_project(str(shop / "src"))
    metadata = SessionMetadata(SessionKey("claude", "s"), {"title": "t", "cwd": str(shop / "src")})
    try:
        target = naming.named(name, metadata) if name else naming.generated(metadata)
    except TargetRefused:
        if not name:
            raise  # without a name, there always is a place
        return
    options = naming.policy.options()
    assert options.thinking <= own_thinking
    assert LEAST_FIRST.index(options.tools) <= LEAST_FIRST.index(own_tools)
    assert options.redact
    real = Path(os.path.realpath(target.path.parent))
    assert real.is_relative_to(home / "out") or real.is_relative_to(shop)
    assert not any(part.startswith(".") for part in target.parts)


@pytest.mark.parametrize("make", [Gemini, CursorMaker], ids=lambda make: make.__name__)
@pytest.mark.parametrize("left_out", ["", "exclude", "auto", "allowed file"])
def test_a_session_of_an_unknown_project_may_be_of_one_that_is_left_out(shop, make, left_out):
    """Auto-recording passes it over, and says so in one line, if any project is told apart; otherwise it is recorded."""
    world = shop.world
    world.configure(
        auto=["~/app"] if left_out == "auto" else True, exclude=["~/secret"] if left_out == "exclude" else []
    )
    if left_out == "allowed file":
        shop.allow(EXCLUDED)
    make(world, cwd="").say(user("first words"), says("first answer"))
    world.once()
    refused = world.status()["refused"]
    if not left_out:
        assert (refused, [path.parent.name for path in world.out.rglob("*.md")]) == ([], ["no-project"])
        return
    assert world.written() == {}
    assert [row["session"].split(":")[0] for row in refused] == [make.agent]
    assert refused[0]["reason"].startswith("auto-record: its project is not known, and ")
    assert world.cli("status").count("its project is not known") == 1

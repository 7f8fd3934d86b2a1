"""Which output a command refers to, and how a new one is created."""

from pathlib import Path

import pytest

from katod.config import load
from katod.errors import TargetRefused
from katod.formatspec import FORMATS
from katod.metadata import SessionMetadata
from katod.model import Options, Range, SessionKey, Target
from katod.record.naming import OutputNaming, target_of_subagent
from katod.record.policy import Policy
from katod.store.rows import OutputRow
from tests.looping import each
from tests.support.parts import memory_ledger
from tests.support.records import CWD, SESSION
from tests.support.world import World

KEY = SessionKey("claude", SESSION)
KNOWN = {"title": "Add a login page!", "cwd": CWD, "started": "2026-02-10T22:36:18.000Z", "model": "m"}


def metadata(key=KEY, **changes):
    return SessionMetadata(key, KNOWN | changes)


class Home:
    """A ledger, a session, and naming with given settings."""

    def __init__(self, world):
        self.world = world
        self.ledger = memory_ledger()
        self.session = self.ledger.add_session(KEY)
        self.use()

    def use(self, **settings):
        self.world.configure(**settings)
        self.naming = OutputNaming(self.ledger, Policy.of(load(self.world.config), ()))
        return self.naming

    def below(self, target):
        return str(target.path.relative_to(self.world.out))

    def put(self, name, text="x"):
        """Write a file to the project's folder."""
        path = self.world.out / "app" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    return Home(World(tmp_path / "home", monkeypatch, seen_empty=False))


# -- names -------------------------------------------------------------------------------------------


@each(
    ("template", "changes", "expected"),
    [
        (None, {}, "app/2026-02-10-add-a-login-page-6f1c2c1e.md"),
        (None, {"title": ""}, "app/2026-02-10-untitled-6f1c2c1e.md"),
        (None, {"started": ""}, "app/undated-add-a-login-page-6f1c2c1e.md"),
        (None, {"cwd": ""}, "no-project/2026-02-10-add-a-login-page-6f1c2c1e.md"),
        (None, {"cwd": "/"}, "project/2026-02-10-add-a-login-page-6f1c2c1e.md"),
        (None, {"started": "2026-02-10T23:36:18.000Z"}, "app/2026-02-11-add-a-login-page-6f1c2c1e.md"),
        ("{agent}/{session}", {}, f"claude/{SESSION}.md"),
        ("{title}", {"title": "../../etc"}, "etc.md"),
    ],
)
def test_a_generated_name_fills_the_template(home, template, changes, expected):
    """The template is filled with the session's metadata; the day is in the recording's time zone."""
    naming = home.use(**({"filename": template} if template else {}))
    assert home.below(naming.generated(metadata(**changes))) == expected


def test_a_session_of_a_sub_agent_is_named_by_it(home):
    """The name has the sub-agent's id, as its session id is that of the parent."""
    name = home.naming.generated(metadata(KEY._replace(subagent="abcdefghijk"))).parts[-1]
    assert name.endswith("-abcdefgh.md")


def test_a_generated_name_that_is_taken_gets_a_number(home):
    """A name is taken by an output, created or not, or by a file that is not katod's; an empty file is free."""
    generated, names = home.naming.generated, []
    for _ in range(2):
        target = generated(metadata())
        names.append(target.parts[-1])
        home.naming.make(home.session, target, metadata())
    home.put(names[0].replace(".md", "-3.md"))
    home.put(names[0].replace(".md", "-4.md"), "")
    names.append(generated(metadata()).parts[-1])
    assert names == [f"2026-02-10-add-a-login-page-6f1c2c1e{number}.md" for number in ("", "-2", "-4")]


def test_an_output_that_is_named_keeps_a_name_that_is_its_own_already(home):
    """Others do not get it; while a file of its person has the name, it gets another one."""
    (first, second) = (home.naming.make(home.session, home.naming.generated(metadata()), metadata()) for _ in range(2))
    assert home.naming.rename(first, metadata()) == first
    assert home.naming.rename(second, metadata()) == second
    home.put(first.path.name)
    assert home.naming.rename(first, metadata()).path.name == first.path.name.replace(".md", "-3.md")


def test_a_name_is_refused_when_all_numbers_are_taken(home, monkeypatch):
    """The search for a free name is limited, and then refused."""
    monkeypatch.setattr("katod.record.naming._MOST_NUMBERS", 3)
    for _ in range(2):
        home.naming.make(home.session, home.naming.generated(metadata()), metadata())
    with pytest.raises(TargetRefused, match="no unused file name found"):
        home.naming.generated(metadata())


def test_a_typed_name_lies_in_the_projects_folder(home):
    """A typed name is in the project's folder, and its suffix chooses the format."""
    assert home.below(home.naming.named("auth", metadata())) == "app/auth.md"
    assert home.naming.named("auth.jsonl", metadata()).format == "jsonl"
    with pytest.raises(TargetRefused):
        home.naming.named("../auth", metadata())


def test_a_sub_agent_is_recorded_beside_its_parent(home):
    """A sub-agent's output is in a folder next to the parent's output, in the same format."""
    parent = home.naming.make(home.session, home.naming.named("notes.jsonl", metadata()), metadata())
    for expected in ("app/notes.agents/agent-abc.jsonl", "app/notes.agents/agent-abc-2.jsonl"):
        target = home.naming.of_subagent(parent, "abc")
        assert (home.below(target), target.format) == (expected, "jsonl")
        home.naming.make(home.session, target, metadata())
    stream = Target(home.naming.named("talk", metadata()).root, ("talk.stream.jsonl",), "stream")
    assert target_of_subagent(stream, "talk.agents", "abc").name == "talk.agents/agent-abc.stream.jsonl"
    assert target_of_subagent(stream, "talk.agents", "agent-0").name == "talk.agents/agent-0.stream.jsonl"


# -- whose output ------------------------------------------------------------------------------------


def test_the_sessions_own_output_is_claimed(home):
    """The session's own output is returned, or refused if a new file is required."""
    target = home.naming.named("auth", metadata())
    assert home.naming.claim(home.session, target, fresh=False) is None
    made = home.naming.make(home.session, target, metadata())
    assert home.naming.claim(home.session, target, fresh=False) == made
    with pytest.raises(TargetRefused, match="already exists") as raised:
        home.naming.claim(home.session, target, fresh=True)
    assert raised.value.hint == "choose another name"


@pytest.mark.whole
@pytest.mark.parametrize("fresh", [True, False])
def test_another_sessions_output_is_refused(home, fresh):
    """A file belongs to one session permanently."""
    target = home.naming.named("auth", metadata())
    home.naming.make(home.ledger.add_session(SessionKey("codex", "t")), target, metadata())
    with pytest.raises(TargetRefused, match="belongs to another session"):
        home.naming.claim(home.session, target, fresh=fresh)


def test_a_persons_file_is_refused_and_an_empty_one_is_taken(home):
    """A file with content is refused; an empty one is accepted, as users may create the file first."""
    home.put("mine.md", "dear diary")
    home.put("empty.md", "")
    with pytest.raises(TargetRefused, match="already exists"):
        home.naming.claim(home.session, home.naming.named("mine", metadata()), fresh=False)
    assert home.naming.claim(home.session, home.naming.named("empty", metadata()), fresh=True) is None


def test_a_session_is_recorded_to_its_open_output(home):
    """Only an open output is returned: none for a session that is unknown, ended or never recorded."""
    row = home.naming.make(home.session, home.naming.named("auth", metadata()), metadata())
    assert home.naming.recorded(KEY) is None
    row = home.ledger.save_output(row._replace(ranges=(Range("a"),)))
    assert home.naming.recorded(KEY).id == row.id
    assert home.naming.recorded(SessionKey("codex", "unknown")) is None
    home.ledger.save_output(row._replace(ranges=(row.ranges[0]._replace(end="b"),)))
    assert home.naming.recorded(KEY) is None


# -- new outputs -------------------------------------------------------------------------------------


def test_a_new_output_freezes_options_and_head(home):
    """The head has the metadata known at creation, and nothing else from the session."""
    known = metadata(branch="main", calls={"t": "Bash"}, last="e9", time="2026-02-10T22:40:00.000Z")
    row = home.use(tools="full").make(home.session, home.naming.named("auth", known), known)
    assert row == home.ledger.output_at(row.path)
    assert (row.format, row.version) == ("markdown", FORMATS["markdown"].version)
    assert (row.options.tools, row.options.assets, row.options.subagents_folder) == (
        "full",
        "auth.assets",
        "auth.agents",
    )
    shown = {"title": KNOWN["title"], "cwd": CWD, "branch": "main", "model": "m"}
    assert row.head == {"key": list(KEY), "metadata": shown | {"time": "2026-02-10T22:40:00.000Z"}}


def test_a_project_has_its_folder_from_its_first_output_on(home):
    """A project keeps the folder of its first output; another project of the same name gets a different one."""
    other = metadata(cwd="/elsewhere/app")
    assert home.below(home.naming.named("a", other)) == "app/a.md"
    home.naming.make(home.session, home.naming.named("a", metadata()), metadata())
    folder = home.naming.named("a", other).parts[0]
    assert folder.startswith("app-")
    home.naming.make(home.session, home.naming.named("a", other), other)
    assert [home.naming.named("a", known).parts[0] for known in (metadata(), other)] == ["app", folder]


def test_a_look_up_writes_nothing(home):
    """A lookup writes neither a row nor a folder, so a command that is refused later leaves no trace."""
    parent = OutputRow(
        0, 1, home.world.out, home.world.out / "app" / "n.md", "markdown", 1, Options(subagents_folder="n.agents"), {}
    )
    before = home.ledger.db.total_changes
    home.naming.generated(metadata())
    home.naming.named("auth", metadata())
    home.naming.of_subagent(parent, "abc")
    home.naming.recorded(KEY)
    home.naming.scope(metadata())
    home.naming.claim(home.session, Target(home.world.out, ("a.md",), "markdown"), fresh=True)
    assert home.ledger.db.total_changes == before
    assert not home.world.out.exists()


def test_outputs_lie_in_the_configured_places(home):
    """The places are the output directory, the project and the allowed roots, with `~` expanded."""
    places = home.use(directory="~/notes", allowed_roots=["~/vault"], format="jsonl").scope(metadata())
    assert (places.output, places.allowed) == (home.world.home / "notes", (home.world.home / "vault",))
    assert (places.project, places.project_folder, places.format) == (Path(CWD), "app", "jsonl")
    assert home.naming.scope(metadata(cwd="")).project is None


def test_no_project_is_noted_as_a_worktree_of_nothing(home):
    """Where a directory is none, nothing is stored."""
    assert home.naming.in_project(CWD) is home.naming
    assert home.ledger.projects.worktrees == {}


def test_an_output_without_words_is_named_after_its_project_and_time(home):
    """When it was asked for, or when the session last said something."""
    known = metadata(time="2026-02-10T23:36:18.000Z")
    assert home.naming.untitled(known, "2026-02-10T22:36:18.000Z").title == "app 2026-02-10 23:36"
    assert home.naming.untitled(known, "").title == "app 2026-02-11 00:36"


def test_the_head_of_an_output_is_what_is_known_of_its_session_then(home):
    """Not what is open in it, or counted."""
    told = {
        "title": "t", "cwd": CWD, "branch": "b", "version": "1", "model": "m", "parent": "p", "session": "s", "draft": "d",
        "time": "2026-02-10T22:36:18.000Z",
    }  # fmt: skip
    known = SessionMetadata(KEY, told | {"calls": {"t1": "Bash"}, "last": "e"})
    row = home.naming.make(home.session, home.naming.generated(known), known)
    assert row.head["metadata"] == told


def test_only_what_is_in_the_output_directory_was_put_there_instead(home):
    """A refused directory of the project is no matter of an output elsewhere."""
    home.naming._refused = "refused"
    places = (home.world.out, home.world.home)
    assert [home.naming.refused_for(Target(place, ("a.md",), "markdown")) for place in places] == ["refused", ""]


def test_a_file_that_exists_is_named(home):
    """So that the person knows which one is in the way."""
    target = home.naming.named("notes", metadata())
    home.put("notes.md")
    with pytest.raises(TargetRefused) as refused:
        home.naming.claim(home.session, target, fresh=True)
    assert (refused.value.path, refused.value.hint) == (target.path, "choose another name")


@each("name", sorted(name for name, spec in FORMATS.items() if spec.has_end))
def test_what_has_an_end_is_exported_and_not_recorded(home, name):
    """The refusal says where it would have been, and what to do instead."""
    file = f"x{FORMATS[name].suffix}"
    for word in ("start", "capture"):
        with pytest.raises(TargetRefused, match="nothing can be appended") as caught:
            home.naming.named(file, metadata(), word)
        assert (caught.value.path, caught.value.hint) == (home.world.out / "app" / file, "use it with ::export")
    for word in ("export", "keep"):
        assert home.naming.named(file, metadata(), word).path == home.world.out / "app" / file

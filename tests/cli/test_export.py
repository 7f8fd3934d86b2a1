"""`katod export`: where it writes."""

import json
import os
import re
import signal

import pytest

from katod.cli import exporting
from katod.errors import SourceGone
from katod.formatspec import FORMATS, recorded_formats
from tests.support.records import SESSION, Claude, line
from tests.support.records.base import calls, result, says, user


@pytest.fixture
def spoken(world):
    """Return a world with a conversation."""
    world.claude().append(Claude().user("hello"))
    return world


@pytest.mark.parametrize("made", [True, False])
def test_a_folder_gets_a_file_named_after_the_session(spoken, made):
    """A folder that exists, or is named with a trailing slash, gets a file named after the session."""
    folder = spoken.home / "out"
    if made:
        folder.mkdir()
    spoken.cli("export", "latest", "-o", f"{folder}/")
    assert [path.name for path in folder.iterdir()] == [f"{SESSION}.md"]


def test_a_file_is_never_overwritten(spoken):
    """An existing file is refused by name."""
    target = spoken.home / "mine.md"
    target.write_text("mine")
    spoken.cli("export", "latest", "-o", str(target), code=1)
    assert "already exists" in spoken.said
    assert target.read_text() == "mine"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_that_ends_it_leaves_nothing(spoken, monkeypatch, number):
    """As when the terminal is closed: half an export would look whole, and the next one would be refused."""
    real, target = exporting.render_all, spoken.home / "out" / "mine.md"

    def render(*arguments):
        yield next(real(*arguments))
        yield "more"
        os.kill(os.getpid(), number)

    child = os.fork()
    if child == 0:
        signal.signal(number, signal.SIG_DFL)  # below nohup, tests ignore one of them
        monkeypatch.setattr(exporting, "render_all", render)
        spoken.cli("export", "latest", "-o", str(target))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -number
    assert list(target.parent.iterdir()) == []
    spoken.cli("export", "latest", "-o", str(target))
    assert [path.name for path in target.parent.iterdir()] == ["mine.md"]


def test_a_failure_leaves_nothing(spoken, monkeypatch):
    """Until it is complete, nothing has its name."""
    target = spoken.home / "out" / "mine.md"

    def render(*_arguments):
        yield "words"
        yield "more"
        assert not target.exists()
        raise SourceGone("was deleted", path=target)

    monkeypatch.setattr(exporting, "render_all", render)
    spoken.cli("export", "latest", "-o", str(target), code=1)
    assert list(target.parent.iterdir()) == []


def test_a_file_that_gets_its_name_meanwhile_stays(spoken, monkeypatch):
    """Whoever wrote it."""
    target = spoken.home / "mine.md"

    def render(*_arguments):
        yield "words"
        yield "more"
        target.write_text("mine")

    monkeypatch.setattr(exporting, "render_all", render)
    spoken.cli("export", "latest", "-o", str(target), code=1)
    assert "already exists" in spoken.said
    assert target.read_text() == "mine"


@pytest.mark.parametrize(
    "words",
    [
        ("export", "latest", "-o", "~nobody1/a.md"), ("export", "--all", "-o", "~nobody1/all"),
        ("show", "~nobody1/a.md"), ("--config", "~nobody1/katod.toml", "sessions"),
    ],
)  # fmt: skip
def test_the_home_of_an_unknown_user_is_nowhere(spoken, monkeypatch, words):
    """It is said which path it is, and no directory of that name is made."""
    monkeypatch.chdir(spoken.home)
    spoken.cli(*words, code=1)
    assert "begins with a home directory that cannot be found" in spoken.said
    assert not list(spoken.home.glob("~*"))


def test_an_unknown_suffix_is_wrong_usage(spoken):
    """The suffix names the format."""
    spoken.cli("export", "latest", "-o", str(spoken.home / "x.pdf"), code=2)
    assert "unknown file extension" in spoken.said


def test_a_failed_export_leaves_nothing(world):
    """A failed export leaves no file behind, which would block the next one."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"), make.says("two"))
    world.once()
    source.path.write_bytes(line(make.says("three")))
    world.once()
    target = world.home / "out.md"
    world.cli("export", "--recording", "1", "-o", str(target), code=1)
    assert not target.exists()


def test_an_export_of_which_nothing_is_understood_says_so(world):
    """A session of records of unknown shape gives an empty transcript, and a line on stderr that says why."""
    source = world.claude()
    source.append(*({"type": "from-the-future", "sessionId": source.session, "uuid": str(n)} for n in range(3)))
    world.cli("export", "latest")
    assert "no message was found, and 3 records are not understood" in world.said


def test_a_recording_is_exported_as_what_was_recorded(world):
    """By number or file, in any format: nothing that was said before, between or after, and not the session's title."""
    make, source = Claude(), world.claude()
    source.append(make.user("private before"), make.says("one answer"))
    source.append(make.user("::start notes\nrecorded words"), make.says("an answer"), make.user("::stop"))
    source.append(make.user("private between"))
    world.once()
    assert "katod is not running" not in world.cli("start", "latest")
    source.append(make.user("more recorded words"), make.user("::stop"), make.user("private after"))
    world.once()
    path = str(world.out / "app" / "notes.md")
    for arguments in (
        ("export", "1"),
        ("export", path),
        ("export", "1", "--for", "pr"),
        ("export", path, "-f", "html"),
    ):
        said = world.cli(*arguments)
        assert [words in said for words in ("private", "recorded words", "more recorded words")] == [False, True, True]
    assert "private" not in world.cli("handoff", "1")
    world.cli("export", "--recording", "1", "--for", "pr", code=2)
    assert "the only other option is -o" in world.said


def test_the_receipts_of_a_recording_are_exported_with_it(world):
    """As JSONL it is what was recorded, from its session and from its file; a transcript of it has none."""
    make, source = Claude(), world.claude()
    parts = ("::start n.jsonl\none", "::stop", "between", "::start\ntwo", "::keep", "::stop")
    source.append(*(record for text in parts for record in (make.user(text), make.says("fine"))))
    world.once()
    path = world.home / "katod" / "app" / "n.jsonl"
    assert path.read_text().count('"kind":"recording.receipt"') == 2
    assert world.cli("export", "1", "-f", "jsonl") == path.read_text()
    assert world.cli("export", str(path), "-f", "jsonl") == path.read_text()
    assert "receipt" not in world.cli("export", str(path)) + world.cli("export", "1")


@pytest.mark.parametrize("command", ["export", "follow"])
def test_the_option_f_alone_lists_the_formats(world, command):
    """Each in one line, with its file extension; `follow` has those that can be appended to."""
    rows = world.cli(command, "-f").splitlines()
    if command == "export":
        assert rows.pop().split()[:2] == ["parquet", ".parquet"]  # of all sessions, not of one
    names = FORMATS if command == "export" else recorded_formats()
    assert [row.split()[:2] for row in rows] == [[name, FORMATS[name].suffix] for name in names]
    assert all(row.endswith(FORMATS[name].about) for name, row in zip(names, rows, strict=True))


def test_a_matrix_export_has_its_pictures_and_its_end_in_itself(world, tmp_path):
    """It says that it is an export, as a recording does not; no folder is made beside either."""
    make, source = Claude(), world.claude()
    world.config.write_text('[recording]\nauto = true\n[output]\nformat = "matrix"\n')
    world.once()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cGljdHVyZQ=="}}
    source.append(make.user([{"type": "text", "text": "Look"}, image]), make.says("I see."))
    world.once()
    source.append(make.user("Thanks"))
    world.once()
    [recorded] = world.files()
    assert recorded.name.endswith(".matrix.jsonl")
    assert world.assert_live_is_batch() == 1
    target = tmp_path / "out" / "talk.matrix.jsonl"
    target.parent.mkdir()
    world.cli("export", str(source.path), "-o", str(target))
    exported, lines = target.read_text().splitlines(), recorded.read_text().splitlines()
    assert exported[: len(lines)] == lines
    assert [json.loads(row)["type"].rpartition("claude.")[2] for row in exported[len(lines) :]] == ["session.exported"]
    assert [row for row in lines if '"base64":"' in row]
    assert list(target.parent.iterdir()) == [target]


def test_relative_links_lead_below_a_base(world, tmp_path, monkeypatch):
    """A web address or a directory, which is seen from the page, or from here for standard output."""
    world.session(1).say(user("words"), says("see [a](src/a.py)"))
    (tmp_path / "pages").mkdir()
    monkeypatch.chdir(tmp_path)

    def links(*options):
        out = world.cli("export", "latest", "-f", "html", *options)
        page = (tmp_path / "pages" / "one.html").read_text() if "-o" in options else out
        return re.findall(r'href="([^"#]*a\.py)"', page)

    assert links() == []
    assert links("--base", "https://example.org/shop") == ["https://example.org/shop/src/a.py"]
    assert links("--base", ".") == ["./src/a.py"]
    assert links("--base", "work", "-o", "pages/one.html") == ["../work/src/a.py"]


def test_a_directory_that_looks_like_another_scheme_needs_a_dot(world, tmp_path, monkeypatch):
    """The message says how it is written, and so it works."""
    world.session(1).say(user("words"), says("see [a](src/a.py)"))
    monkeypatch.chdir(tmp_path)
    world.cli("export", "latest", "-f", "html", "--base", "docs:v2/x", code=2)
    assert "for a directory of this name, write './docs:v2/x'" in " ".join(world.said.split())
    page = world.cli("export", "latest", "-f", "html", "--base", "./docs:v2/x")
    assert re.findall(r'href="([^"#]*a\.py)"', page) == ["docs%3Av2/x/src/a.py"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("-f", "html", "--base", "javascript:alert(1)"), "has another scheme than http: or https:"),
        (("-f", "html", "--base", "https://me:secret@example.org"), "must not contain a user name or password"),
        (("-f", "html", "--base", ""), "is not a directory"),
        (
            ("-f", "html", "--base", "~nosuchuser/x"),
            "'~nosuchuser/x' begins with a home directory that cannot be found",
        ),
        (("--base", "https://example.org"), "--base is for pages"),
        (("--for", "pr", "--base", "https://example.org"), "--base is for pages"),
    ],
)
def test_a_base_that_cannot_be_used_is_refused(world, options, problem):
    """Nothing is written then."""
    world.session(1).say(user("words"))
    assert world.cli("export", "latest", *options, code=2) == ""
    assert problem in world.said


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_tools_are_shown_as_the_setting_says_unless_it_is_given(world, form):
    """That is what the help says of `--tools`, whatever the format is."""
    world.session(1).say(user("words"), calls("c1", "make it"), result("c1", "made"))
    world.configure(**{"content.tools": "none"})
    assert "Default: the setting content.tools." in " ".join(world.cli("export", "--help").split())
    assert "make it" not in world.cli("export", "latest", "-f", form)
    assert "make it" in world.cli("export", "latest", "-f", form, "--tools", "summary")


@pytest.fixture
def silent(world, monkeypatch):
    """Return a session with words, and a recording of it since then, in which nothing was said yet."""
    monkeypatch.chdir(world.home)
    maker = Claude(world).say(user("hello"), says("before"))
    world.once()
    world.cli("start", "latest", "notes")
    return maker


@pytest.mark.parametrize("options", [*(("-f", name) for name in FORMATS), ("--for", "pr")], ids=" ".join)
def test_an_export_of_nothing_is_refused_in_every_format(world, silent, options):
    """No empty file is written, no folder for it is made, and no pipe takes an empty page for one."""
    path = world.outputs()[0].path
    for what in ("1", str(path)):
        assert world.cli("export", what, *options, code=1) == ""
        assert f"{what}: nothing was said in it yet" in world.said
    before = sorted(world.home.rglob("*"))
    for target in ("new", "out/", "folder/new"):
        world.cli("export", "1", *options, "-o", str(world.home / target), code=1)
        assert "nothing was said in it yet" in world.said
    assert sorted(world.home.rglob("*")) == before
    silent.say(user("words"))
    world.once()
    assert world.cli("export", "1", *options)


@pytest.mark.usefixtures("silent")
def test_what_else_renders_a_recording_refuses_one_without_words(world):
    """Its file can be shown as it is: it has a head."""
    for words in (("show", "1", "--tools", "full"), ("open", "1", "--web"), ("handoff", "1")):
        assert world.cli(*words, code=1) == ""
        assert "1: nothing was said in it yet" in world.said
    assert world.cli("show", "1")
    assert world.cli("export", "--recording", "1") == world.cli("show", "1")


def test_a_session_without_words_is_refused_alone_and_counted_among_all(world):
    """It is no failure of `katod export --all`."""
    world.claude().append(Claude().record("mode"))
    world.cli("export", "latest", "-f", "html", code=1)
    assert "latest: nothing was said in it yet" in world.said
    assert world.cli("export", "--all", "-f", "html", "-o", str(world.home / "all")) == "empty 1\n"

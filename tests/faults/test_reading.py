"""Another file in the place of a transcript: nothing shows it as what was recorded, and everything says why."""

import asyncio
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from katod.cli import app, opening
from katod.errors import KatodError
from katod.mcp.recordings import Library
from katod.mcp.tools import read_session, search_sessions
from tests.examples import mostly
from tests.serve.serving import serving
from tests.support.records import SESSION, Claude

PRECIOUS, RECORDED = "precious", "In cart.ts."
FORMATS = ("md", "jsonl")


@pytest.fixture
def made(world, request):
    """Return a world with a recording in a folder of its project, and a file of the person outside of it."""
    suffix = getattr(request, "param", "md")
    other = world.session(2)
    other.append(other.user(f"the {PRECIOUS} words"), other.says("Yes."))
    (world.home / "private").mkdir()
    world.cli("export", "00000002", "-o", str(world.home / "private" / f"t.{suffix}"))
    other.path.unlink()
    make = Claude(cwd=str(world.project))
    (world.project / "docs").mkdir()
    world.claude().append(make.user(f"::start ./docs/t.{suffix}\nWhere is the basket?"), make.says(RECORDED))
    world.once()
    assert [row.path for row in world.outputs()] == [world.project / "docs" / f"t.{suffix}"]
    return world


# -- what an agent can do to the path of a transcript -------------------------------------------------


def folder_link(path, private):
    """Its folder is replaced by a link to another one, in which a file has the same name."""
    path.parent.rename(path.parent.with_name("away"))
    path.parent.symlink_to(private.parent)
    return "docs is a symbolic link"


def hard_link(path, private):
    """It is replaced by a second name of another file."""
    path.unlink()
    os.link(private, path)
    return "has more than one hard link"


def file_link(path, private):
    """It is replaced by a link."""
    path.unlink()
    path.symlink_to(private)
    return "is not a regular file"


def another(path, private):
    """Another file, which has no other name, is moved there."""
    private.rename(path)
    return "is not the transcript that katod wrote"


ATTACKS = (folder_link, hard_link, file_link, another)


# -- what reads transcripts: each returns all that it shows and says ----------------------------------


def command(*arguments):
    """Return a reader that runs a command; `PATH` stands for the path of the transcript."""

    def read(world):
        path = str(world.outputs()[0].path)
        given = [path if word == "PATH" else word for word in arguments]
        result = CliRunner().invoke(app, given, env=world.variables)
        return f"{result.output}{result.exception or ''}"

    return read


def opened_by(*arguments):
    """Return a reader that hands the file to a program, which shows what is in it."""

    def read(world):
        shown = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VISUAL", "show")
            patch.setattr(opening, "_run", lambda words: shown.append(Path(words[-1]).read_text()) or 0)
            said = command(*arguments)(world)
        return said + "".join(shown)

    return read


def tool(call, **arguments):
    """Return a reader that calls a tool as another agent does."""

    def read(world):
        try:
            return "\n".join(call(Library(world.state), **arguments).blocks())
        except KatodError as error:
            return str(error)

    return read


def served(path):
    """Return a reader that asks the server for a page, or for what clients get."""

    def read(world):
        async def ask():
            async with serving(world) as app:
                return (await app.ask(path)).body.decode()

        return asyncio.run(ask())

    return read


REFUSING = {
    "show RECORDING": command("show", "1"),
    "show FILE": command("show", "PATH"),
    "show with other content": command("show", "1", "--tools", "full"),
    "open RECORDING": opened_by("open", "1"),
    "open SESSION": opened_by("open", SESSION),
    "open FILE": opened_by("open", "PATH"),
    "search": command("search", PRECIOUS),
    "search --in RECORDING": command("search", PRECIOUS, "--in", "1"),
    "search --in SESSION": command("search", PRECIOUS, "--in", SESSION),
    "verify": command("verify", "1"),
    "mcp read": tool(read_session, session=SESSION),
    "serve transcript": served(f"/s/{SESSION}/transcripts/1"),
}
# These read the session of the recording, or only say which recordings they left out.
ELSEWHERE = {
    "export FILE": command("export", "PATH"),
    "export --recording": command("export", "--recording", "1"),
    "handoff FILE": command("handoff", "PATH"),
    "status": command("status", "--json"),
    "doctor": command("doctor"),
    "mcp search": tool(search_sessions, query=PRECIOUS),
    "serve page": served(f"/s/{SESSION}"),
    "REST messages": served(f"/projects/app/sessions/{SESSION}/messages"),
    "REST search": served(f"/search?q={PRECIOUS}"),
}
SHOWING = {name: read for name, read in REFUSING.items() if name not in ("verify", "search", "search --in RECORDING")}


@pytest.mark.slow
@pytest.mark.fault("another file in a transcript's place")
@pytest.mark.parametrize("made", FORMATS, indirect=True)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_another_file_is_never_shown_as_the_transcript(made, attack):
    """Whatever shows transcripts, or compares them, refuses with the reason; nothing of the other file is shown."""
    [row] = made.outputs()
    reason = attack(row.path, made.home / "private" / row.path.name)
    assert PRECIOUS in row.path.read_text()
    shown = {name: read(made) for name, read in (REFUSING | ELSEWHERE).items()}
    words = f"the {PRECIOUS} words"
    assert [name for name, text in shown.items() if words in text] == []
    assert {name: shown[name] for name in REFUSING if reason not in shown[name]} == {}
    assert "changed" not in made.status()["recordings"][0]  # which would be the time of the other file
    assert '"not_searched": [\n    1\n  ]' in shown["mcp search"]


@pytest.mark.fault("another file in a transcript's place")
@pytest.mark.parametrize("made", ["jsonl", "JSONL"], indirect=True)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_no_export_is_made_of_another_file(made, attack):
    """A transcript of events is read like a session: an export or a brief of it is refused with the same reason."""
    [row] = made.outputs()
    reason = attack(row.path, made.home / "private" / row.path.name)
    for name in ("export FILE", "handoff FILE"):
        assert reason in ELSEWHERE[name](made)


# -- what people do to their transcripts ----------------------------------------------------------------


def saved(world):
    """An editor saved a new file with another line, which katod has not adopted yet."""
    path = world.outputs()[0].path
    _replace(path, path.read_bytes() + b"\nmy own words\n")


def cut(world):
    """An editor saved an older copy, without what katod wrote last, with the line ends of another system."""
    path = world.outputs()[0].path
    lines = path.read_bytes().splitlines()
    keep = [line for line in lines if b"Recording started" not in line and b"Where is" not in line]
    _replace(path, b"\r\n".join(keep[:1] if path.suffix == ".jsonl" else keep[:-1]) + f"\r\n{RECORDED}\r\n".encode())


def renamed(world):
    """It was moved to another name, and katod followed it."""
    [row] = world.outputs()
    row.path.rename(row.path.with_stem("other"))
    make = Claude(start=10)
    world.claude().append(make.says("And more."))
    world.once()
    assert world.outputs()[0].path.stem == "other"


def read_only(world):
    """Nobody may write to it any more."""
    world.outputs()[0].path.chmod(0o400)


def _replace(path, content):
    new = path.with_name("new.tmp")
    new.write_bytes(content)
    new.rename(path)


@pytest.mark.fault("another file in a transcript's place")
@pytest.mark.parametrize(
    "act", mostly((saved, renamed), (saved, cut, renamed, read_only)), ids=lambda act: act.__name__
)
def test_what_a_person_did_to_a_transcript_is_shown(made, act):
    """A renamed, edited or older copy of it is still the transcript, for everything that shows it."""
    act(made)
    shown = {name: read(made) for name, read in SHOWING.items() if name != "search --in SESSION"}
    assert {name: text for name, text in shown.items() if RECORDED not in text} == {}
    assert "cart.ts" in made.cli("search", "cart.ts", "--in", "1")

"""The shape of `katod.serve`: which room may import which, who stores an attribute, and what one request takes."""

import ast
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import katod.serve
from katod.agents import AGENTS
from katod.serve.page.reader import READ_BYTES
from tests.examples import mostly
from tests.modules import modules
from tests.serve.serving import big_session
from tests.serve.test_app import run
from tests.support.records import MAKERS, OTHER, SESSION, Codex, Gemini, says, user
from tests.test_arrows import graph

SERVE = "katod.serve"
# Each room, and the rooms that its modules may import. Modules that are in no room are for all of them, or above them.
ROOMS = {
    "index": set(),
    "access": set(),
    "feed": {"index"},
    "protocol": {"access", "feed", "index"},
    "page": {"access", "feed", "index"},
}
BASE = {"failures", "http", "worker"}  # every room may import these, which import no room
LIBRARY = {"redirect_slashes", "default"}  # attributes of Starlette that `app` sets
MOST_FILES = 18  # of katod.serve that one page of a session takes


def room(name):
    """Return the room of a module, or its name if it is in none."""
    return name.removeprefix(f"{SERVE}.").partition(".")[0]


def own(part):
    """Return the modules of a part of katod."""
    return [module for module in modules().values() if module.part == part]


@pytest.mark.form
def test_rooms_import_one_another_one_way():
    """A session is found without being followed, and followed without knowing who is sent it."""
    used = {}
    for module in own("serve"):
        others = {room(other) for other in graph()[module.name] if other.startswith(f"{SERVE}.")}
        used.setdefault(room(module.name), set()).update(others - {room(module.name), SERVE})
    assert {name: used[name] - BASE for name in ROOMS} == ROOMS
    assert {name: used[name] - BASE for name in BASE} == {name: set() for name in BASE}


@pytest.mark.form
def test_an_attribute_is_stored_by_the_module_of_its_class():
    """Other modules call a method."""
    wrong = []
    for module in own("serve"):
        stored = (node for node in module.nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
        others = {node.attr for node in stored if not (isinstance(node.value, ast.Name) and node.value.id == "self")}
        fields = {
            node.target.id
            for node in module.nodes
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        }
        wrong += [(module.name, name) for name in sorted(others - fields - LIBRARY)]
    assert wrong == []


@pytest.mark.form
def test_a_class_name_means_one_thing():
    """No class here has the name of another class of katod, so that a search for a name leads to one place."""
    found = [
        (node.name, module) for module in modules().values() for node in module.nodes if isinstance(node, ast.ClassDef)
    ]
    here = [name for name, module in found if module.part == "serve"]
    assert sorted(name for name in here if sum(name == other for other, _ in found) > 1) == []


@contextmanager
def called(files):
    """Note the files of all Python functions that are called within the block, in threads that begin in it, too."""

    def note(frame, event, _):
        if event == "call":
            files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def opened_for_a_page(world, path):
    """Return how often a file is opened for the page of its session; the list has shown the session before."""
    opened, counting = [], []

    def note(event, arguments):
        if event == "open" and counting and arguments[0] == str(path):
            opened.append(path)

    async def work(app):
        await app.ask("/")
        sys.addaudithook(note)  # it cannot be removed
        counting.append(True)
        answer = await app.ask(f"/s/{SESSION}")
        counting.clear()
        return answer

    assert run(world, work).status == 200
    return len(opened)


def test_a_page_opens_the_file_of_its_session_once(world):
    """What the page says of the session is known from the index; the file is opened for the conversation."""
    maker = world.claude()
    maker.say(user("begin here"), says("with pleasure"))
    assert opened_for_a_page(world, maker.path) == 1


@pytest.mark.slow
def test_a_page_reads_a_long_session_once(world):
    """In slices, so that others take turns, and no file is open while a client is slow; each slice opens it once."""
    path = big_session(world.claude(), 0.6).path
    assert opened_for_a_page(world, path) <= Path(path).stat().st_size // READ_BYTES + 2


def test_a_page_takes_few_files_of_the_server(world):
    """A newcomer who follows one request reads no more than these."""
    maker = world.claude()
    maker.say(user("begin here"), says("with pleasure"))
    folder, files = Path(katod.serve.__file__).parent, set()

    async def work(app):
        await app.ask("/")
        with called(files):
            await app.hub.reading.run(lambda: sys.setprofile(sys.getprofile() or threading.getprofile()))
            answer = await app.ask(f"/s/{SESSION}")
            await app.hub.reading.run(lambda: sys.setprofile(None))
        return answer

    assert run(world, work).status == 200
    assert len([file for file in files if Path(file).is_relative_to(folder)]) <= MOST_FILES


RESUMED = [make for make in MAKERS if AGENTS[make.agent].resume is not None]


@pytest.mark.parametrize("make", mostly([Gemini, Codex], RESUMED), ids=lambda make: make.__name__)
def test_a_page_has_the_command_that_resumes_its_session(world, make):
    """The same as `katod resume` prints, although the session is not read for it."""
    make(world).say(user("words"), says("answer"), user("more"))

    async def work(app):
        rows = (await app.ask("/sessions/recent")).json["sessions"]
        return (await app.ask(f"/s/{rows[0]['id']}")).body.decode()

    command = world.cli("resume", "latest").strip()
    assert f"<code>{command}</code>" in run(world, work)


@pytest.mark.slow
def test_a_session_that_another_one_started_is_resumed_by_that(world):
    """Its agent has no command of its own for it."""
    thread = world.codex(OTHER)
    thread.append(thread.meta(thread_source="subagent", parent_thread_id=SESSION), thread.user("look"))

    async def work(app):
        return (await app.ask(f"/s/{OTHER}")).body.decode()

    assert f"codex resume {SESSION}</code>" in run(world, work)


@pytest.mark.form
def test_pages_are_answered_in_one_place():
    """It takes markup only, so that no text is sent as a page."""
    answering = {module.name for module in own("serve") if "HTMLResponse" in module.called}
    assert answering == {"katod.serve.http"}

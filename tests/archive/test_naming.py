"""The names of exports; what they are made of is tested with the outputs'."""

from pathlib import Path

import pytest

from katod.archive.folder import opened
from katod.archive.manifest import Entry
from katod.archive.naming import ExportNaming
from katod.config import load
from katod.errors import TargetRefused
from katod.metadata import SessionMetadata
from katod.model import SessionKey
from katod.record.policy import Policy

KEY = SessionKey("claude", "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11")


def metadata(cwd="/home/me/app", key=KEY):
    """Return what is known of a session."""
    return SessionMetadata(key, {"title": "words", "cwd": cwd, "started": "2026-02-10T22:36:18.000Z"})


@pytest.fixture
def naming(world):
    """Return a function that returns the naming of a folder, by default beside the output directory."""
    with opened(world.home / "all") as folder:

        def make(form="markdown", **settings):
            world.configure(**settings)
            return ExportNaming(folder, Policy.of(load(world.config), (world.state,)), form)

        yield make


def test_a_name_that_was_given_is_taken(naming):
    """By an earlier export, or one of this run, in any format."""
    one = naming()
    target = one.target(metadata())
    assert target.name == "app/2026-02-10-words-6f1c2c1e.md"
    one.take(target)
    assert one.target(metadata()).name == "app/2026-02-10-words-6f1c2c1e-2.md"
    assert naming("html").target(metadata()).name == "app/2026-02-10-words-6f1c2c1e.html"


def test_a_project_keeps_its_folder(naming):
    """Whatever other projects of the same name there are; without a project, it is `no-project`."""
    one = naming()
    names = [one.target(metadata(cwd)).parts[0] for cwd in ("/srv/app", "/home/me/app", "/srv/app", "")]
    assert (names[0], names[1][:4], names[2], names[3]) == ("app", "app-", "app", "no-project")


def test_no_name_leads_into_the_output_directory(world):
    """Neither through the folder of a project nor through a template."""
    with opened(world.home) as folder:
        world.configure()
        settings = load(world.config)
        one = ExportNaming(folder, Policy.of(settings, ()), "markdown")
        assert one.target(metadata("/srv/katod")).parts[0].startswith("katod-")
        world.configure(filename="katod/{title}")
        other = ExportNaming(folder, Policy.of(load(world.config), ()), "markdown")
        with pytest.raises(TargetRefused, match="is inside the output directory"):
            other.target(metadata())


def test_a_subagent_is_beside_the_export_of_its_parent(naming):
    """By the name that the parent has; without one, it is named like a session."""
    child = SessionKey(KEY.agent, KEY.id, "a1b2")
    one = naming()
    assert one.target(metadata(key=child)).name == "app/2026-02-10-words-a1b2.md"
    one._folder.note(Entry((KEY, "markdown"), "made", [], "app/my.md"))
    assert one.target(metadata(key=child)).name == "app/my.agents/agent-a1b2.md"
    assert naming("html").target(metadata(key=child)).name == "app/2026-02-10-words-a1b2.html"


def test_a_free_name_is_no_files(naming, world):
    """A name may be an unknown file's, to see whether it is the export; the free one is not."""
    one = naming()
    path = Path(world.home / "all" / one.target(metadata()).name)
    path.parent.mkdir()
    path.write_text("mine")
    assert one.target(metadata()).path == path
    assert one.free(metadata()).name == "app/2026-02-10-words-6f1c2c1e-2.md"

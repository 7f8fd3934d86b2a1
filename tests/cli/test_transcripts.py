"""What `katod show` and `katod open` read."""

import pytest

from katod.cli.context import Context
from katod.cli.transcripts import DEFAULT, transcript
from katod.errors import SelectionError
from tests.looping import each
from tests.support.records import SESSION, Claude


@pytest.fixture
def recorded(world):
    """Return a world with a recording that was edited, of a session in which more was said before."""
    make, source = Claude(), world.claude()
    source.append(make.user("private before"), make.user("::start notes\nrecorded words"), make.says("an answer"))
    world.once()
    with (world.out / "app" / "notes.md").open("a") as file:
        file.write("\nmy own words\n")
    return world


def text(what, content=DEFAULT, **named):
    return "".join(transcript(Context(None), what, **named).markdown(Context(None), content))


@each("what", ["1", "{out}/app/notes.md", ""])
def test_a_recording_is_its_file(recorded, what):
    """As it is now, with the person's edits: by its number, by its path, or because it is the only one that runs."""
    found = text(what.format(out=recorded.out))
    assert found == (recorded.out / "app" / "notes.md").read_text()
    assert "my own words" in found


def test_a_session_is_all_of_it(recorded):
    """Nothing is left out, unless its transcript is wanted."""
    assert ["private before" in text(what) for what in (SESSION, f"claude:{SESSION[:5]}")] == [True, True]
    assert "private before" not in text(SESSION, recorded=True)
    assert transcript(Context(None), SESSION, recorded=True).file == recorded.out / "app" / "notes.md"


def test_other_content_of_a_recording_comes_from_its_session(recorded):
    """What was recorded, with what the file lacks, and without the edits."""
    recorded.claude().append(Claude(start=9).thinks("Hm, words."))
    recorded.once()
    found = text("1", DEFAULT | {"thinking": True})
    assert [words in found for words in ("Hm, words.", "private", "my own words")] == [True, False, False]


def test_lines_are_shown_as_markdown(world):
    """A transcript of events, and one whose file is not made yet, is rendered."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start log.jsonl\nrecorded words"), make.says("an answer"))
    world.once()
    found = transcript(Context(None), "1")
    assert found.file == world.out / "app" / "log.jsonl"
    assert "\n# recorded words\n" in text("1")


def test_a_recording_without_a_file_yet_is_rendered(world):
    """Its words are still to be typed."""
    world.claude().append(Claude().user("before"), Claude(start=3).user("::start"))
    world.once()
    assert transcript(Context(None), "1").file is None


def test_a_file_that_is_gone_says_so(recorded):
    """And what prints it again."""
    (recorded.out / "app" / "notes.md").unlink()
    with pytest.raises(SelectionError, match="no longer exists") as caught:
        text("1")
    assert "--recording 1" in caught.value.hint


def test_any_markdown_file_is_shown_but_no_page_is_made_of_it(world):
    """A transcript from elsewhere can be read, but katod knows nothing more about it."""
    path = world.home / "other.md"
    path.write_text("# other\n")
    assert text(str(path)) == "# other\n"
    with pytest.raises(SelectionError, match="not a transcript that katod knows"):
        transcript(Context(None), str(path)).rendered(Context(None), "html", DEFAULT)


def test_an_agents_file_is_shown_as_a_session(world):
    """Wherever it is."""
    path = world.home / "x.jsonl"
    world.claude().append(Claude().user("words")).path.rename(path)
    assert "\n# words\n" in text(str(path))


def test_a_page_is_opened_itself(world):
    """An exported page is what the browser shows; as text, it is nothing that katod can show."""
    page = world.home / "x.html"
    page.write_text("<!DOCTYPE html>")
    found = transcript(Context(None), str(page))
    assert found.own(DEFAULT, web=True) == page
    world.cli("show", str(page), code=1)
    assert "is not a transcript that katod knows" in world.said

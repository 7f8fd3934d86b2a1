"""`katod rename`, `star` and `label`: kept by one writer, shown everywhere, frozen in recordings, gone with the session."""

import orjson
import pytest

from tests.support.records import OTHER, Claude, says, user
from tests.support.world import World

NAME = "The login page"


@pytest.fixture
def maker(world: World) -> Claude:
    return world.claude().say(user("Add a form"), says("Done."))


def listed(world: World, *options: str) -> list[dict[str, object]]:
    return [orjson.loads(line) for line in world.cli("sessions", "--json", *options).splitlines()]


def test_a_session_is_called_as_its_person_says(world: World, maker: Claude) -> None:
    """In lists and in searches, before what its agent calls it; without a title, it is as before."""
    maker.write({"type": "custom-title", "customTitle": "By the agent", "sessionId": maker.session})
    assert "is called 'The login page'" in world.cli("rename", "latest", "The", "login page")
    assert [row["title"] for row in listed(world)] == [NAME]
    assert NAME in world.cli("search", "--all", "--json", "form")
    assert "(By the agent · app) has no title of yours" in world.cli("rename", "latest")
    assert [row["title"] for row in listed(world)] == ["By the agent"]


def test_the_status_calls_recordings_as_their_person_says(world: World, maker: Claude) -> None:
    """Running and ended ones, and those that `::keep` wrote; without a title, as they were called before."""
    maker.say(user("::start\nfirst words"), says("Yes."), user("::keep kept"), user("::stop"))
    maker.say(user("::start other\nmore words"), says("Yes."))
    world.once()

    def titles() -> list[str]:
        row = world.status()
        return [one["title"] for one in (*row["recordings"], *row["ended"])]

    before = titles()
    assert NAME not in before
    world.cli("rename", "1", NAME)
    assert titles() == [NAME] * len(before)
    assert NAME in world.cli("status")
    world.cli("rename", "1")
    assert titles() == before


def test_the_status_calls_sessions_that_wait_as_their_person_says(world: World, maker: Claude) -> None:
    """Those that are not recorded."""
    maker.put(maker.calls("t1", "AskUserQuestion", questions=[{"question": "Which?", "options": []}]))
    world.cli("rename", maker.session, NAME)
    assert [row["title"] for row in world.status()["blocked"]] == [NAME]


def test_a_search_in_transcripts_calls_them_as_their_person_says(world: World, maker: Claude) -> None:
    """Also those that were begun under another title."""
    maker.say(user("::start\nzebra"), says("Yes."))
    world.once()
    world.cli("rename", "1", NAME)
    found = [orjson.loads(line) for line in world.cli("search", "--json", "zebra").splitlines()]
    assert {row["title"] for row in found} == {NAME}


def test_sessions_are_chosen_by_star_and_labels(world: World, maker: Claude) -> None:
    """Those that lack one are not even opened."""
    Claude(world, OTHER).say(user("something else"), says("yes"))
    first = maker.session
    assert world.cli("star", first) == f"claude:{first} (Add a form · app) has a star\n"
    assert " has the labels auth, urgent" in world.cli("label", first, "Auth", "#urgent")
    assert [row["session"] for row in listed(world, "--starred")] == [first]
    assert [row["session"] for row in listed(world, "--label", "auth", "--label", "#Urgent")] == [first]
    assert listed(world, "--label", "auth", "--label", "x") == []
    [row] = listed(world, "--starred")
    assert (row["starred"], row["labels"]) == (True, ["auth", "urgent"])
    assert " has no star" in world.cli("star", first, "--remove")
    assert " has no labels" in world.cli("label", first, "auth", "urgent", "--remove")
    assert listed(world, "--starred") == []


def test_a_label_of_nothing_is_refused(world: World, maker: Claude) -> None:
    """And nothing is kept."""
    world.cli("label", maker.session, "--", "#", code=1)
    assert "labels" not in listed(world)[0]


def test_labels_that_are_too_many_are_named(world: World, maker: Claude) -> None:
    """The first ones are kept, and what was left out is said."""
    world.cli("label", maker.session, *(f"l{number}" for number in range(22)), code=1)
    assert "at most 20 labels, so these were left out: l20, l21" in world.said
    assert len(listed(world)[0]["labels"]) == 20


def test_a_recording_keeps_what_was_said_when_it_began(world: World, maker: Claude) -> None:
    """Its title names the file, its labels are tags; what is said later changes neither."""
    for words in (("rename", "latest", NAME), ("label", "latest", "auth"), ("star", "latest")):
        world.cli(*words)
    maker.say(user("::start"), says("Yes."))
    world.once()
    world.cli("rename", "latest", "Another title")
    world.cli("label", "latest", "more")
    maker.say(user("Go on"), says("Yes."))
    world.once()
    [(name, text)] = world.written().items()
    assert "the-login-page" in name
    assert 'title: "The login page"' in text
    assert 'tags: [katod, claude-code, "auth"]\nstarred: true\n' in text
    assert world.cli("export", "--recording", "1", "-o", "-") == text


def test_a_name_that_is_typed_comes_first(world: World, maker: Claude) -> None:
    """It is the name of the recording."""
    world.cli("rename", "latest", NAME)
    maker.say(user("::start notes"), says("Yes."))
    world.once()
    [(name, text)] = world.written().items()
    assert name == "notes.md"
    assert 'title: "notes"' in text


def test_exports_have_what_is_said_now(world: World, maker: Claude) -> None:
    """One that is up to date is written again when that changes."""
    folder = world.home / "all"
    world.cli("export", "--all", "-o", str(folder))
    [path] = folder.glob("app/*.md")
    world.cli("rename", maker.session, NAME)
    world.cli("label", maker.session, "auth")
    assert "updated 1" in world.cli("export", "--all", "-o", str(folder))
    assert 'title: "The login page"' in path.read_text()
    assert '"auth"]' in path.read_text()
    assert "unchanged 1" in world.cli("export", "--all", "-o", str(folder))
    assert f"<h1>{NAME}</h1>" in world.cli("export", maker.session, "-f", "html", "-o", "-")


def test_own_words_are_found_and_choose(world: World, maker: Claude) -> None:
    """A search finds a session by its title or a label, and searches only those with a star or with labels."""
    Claude(world, OTHER).say(user("Add a form, too"), says("yes"))
    world.cli("rename", maker.session, "Zebra crossing")
    world.cli("label", maker.session, "Foo,Bar", "auth")
    world.cli("star", maker.session)
    for words in (("zebra",), ("#auth",), ("zebra", "auth"), ("none", "OR", "zebra")):
        [row] = [orjson.loads(found) for found in world.cli("search", "--json", *words).splitlines()]
        assert (row["speaker"], row["snippet"]) == ("Title", "Zebra crossing #foo-bar #auth")
        assert "--find" not in row["open"]
    for chosen in (("--starred",), ("--label", "auth"), ("--label", "Foo,Bar", "--label", "#AUTH")):
        found = world.cli("search", "--all", "--json", "form", *chosen).splitlines()
        assert {orjson.loads(row)["title"] for row in found} == {"Zebra crossing"}
    world.cli("search", "--all", "form", "--label", "x", code=1)
    assert "Zebra crossing" in world.cli("search", "--in", maker.session, "--json", "form")
    world.cli("search", "form", "OR", code=2)


def test_words_of_a_session_that_is_gone_can_be_forgotten(world: World, maker: Claude) -> None:
    """Also if they were said after it was forgotten."""
    world.cli("forget", maker.session, "--yes")
    world.cli("rename", maker.session, "Zanzibar")
    maker.path.unlink()
    world.cli("forget", maker.session, "--yes")
    assert not any(b"Zanzibar" in path.read_bytes() for path in world.state.rglob("*") if path.is_file())


def test_words_of_another_encoding_are_kept_as_far_as_they_can_be(world: World, maker: Claude) -> None:
    """What is no character becomes a question mark."""
    assert "is called 'a?b'" in world.cli("rename", maker.session, "a\udcffb")


def test_an_auto_recording_has_the_persons_title(world: World, maker: Claude) -> None:
    """If it is there before katod reads the session."""
    world.configure(auto=True)
    world.cli("rename", maker.session, "Zebra crossing")
    [name] = world.written()
    assert "zebra-crossing" in name


def test_what_was_said_is_forgotten(world: World, maker: Claude) -> None:
    """Also of a session of which katod knows nothing else, as its files are gone."""
    world.cli("rename", maker.session, "Zanzibar")
    world.cli("forget", maker.session, "--yes")
    assert [row["title"] for row in listed(world)] == ["Add a form"]
    assert not any(b"Zanzibar" in path.read_bytes() for path in world.state.rglob("*") if path.is_file())


def test_a_session_that_is_excluded_has_its_persons_words(world: World, maker: Claude) -> None:
    """They are the person's own, and say nothing of what is in the session."""
    world.config.write_text("[recording]\nexclude = ['/home/me']\n")
    world.cli("star", maker.session)
    world.cli("label", maker.session, "auth")
    assert [row["labels"] for row in listed(world, "--starred")] == [["auth"]]

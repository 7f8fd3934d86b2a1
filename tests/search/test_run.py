"""Whole searches: order, limits, and what is found twice."""

import os
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import FoundSession, find_sessions
from katod.discover.roots import find_roots
from katod.model import Stat
from katod.search.query import Query
from katod.search.run import Search, Terms
from katod.search.since import since_seconds, until_seconds
from katod.search.transcriptfiles import TranscriptFile, existing, transcripts_below
from tests.examples import examples
from tests.support.records import OpenCode, OpenCode2, says, user


def _found():
    return list(find_sessions(find_roots(Settings(), AGENTS), {}).values())


def _session(world, number, text, at):
    """Write a session whose file changed so many seconds after 2026."""
    session = world.session(number)
    session.append({**session.user(text), "timestamp": f"2026-01-01T00:{at:02}:00.000Z"})
    os.utime(session.path, (1_767_225_600 + 60 * at,) * 2)
    return session


def test_the_newest_hits_come_first(world):
    """Sessions are ordered by their newest hit, whatever was said in them afterwards."""
    for number, at in ((1, 10), (2, 30), (3, 20)):
        _session(world, number, "a needle", at)
    matches = Search(Query(["needle"])).run(_found())
    assert [match.place.key.id[:8] for match in matches] == ["00000002", "00000003", "00000001"]


def test_files_older_than_what_is_shown_are_not_opened(world, monkeypatch):
    """A hit is not newer than its file: once enough was found, the rest is left alone, and that is said."""
    for number, at in ((1, 10), (2, 30), (3, 20)):
        _session(world, number, "a needle", at)
    for terms, opened in ((Terms(most=2), 2), (Terms(most=5), 3), (Terms(most=2, order="best"), 3)):
        search, seen = Search(Query(["needle"]), terms), []
        hits = search._hits
        monkeypatch.setattr(search, "_hits", lambda place, hits=hits, seen=seen: seen.append(place) or hits(place))
        assert [match.place.key.id[:8] for match in search.run(_found())][:2] == ["00000002", "00000003"]
        assert len(seen) == opened
        assert search.is_complete is (terms.most == 5)


def test_what_was_said_before_a_time_is_left_out(world):
    """The hits count, not only the files."""
    session = _session(world, 1, "an old needle", 10)
    session.append({**session.user("something new"), "timestamp": "2026-01-01T00:40:00.000Z"})
    assert Search(Query(["needle"]), Terms(1_767_225_600 + 60 * 20)).run(_found()) == []
    assert len(Search(Query(["new"]), Terms(1_767_225_600 + 60 * 20)).run(_found())) == 1


@pytest.mark.slow
def test_a_session_and_its_transcript_show_a_hit_once(world):
    """What is in both is shown once; what a person wrote into the transcript, and what is only in the session, too."""
    session = world.claude()
    session.append(session.user("a needle before"), session.user("::start notes\na needle recorded"))
    session.append(session.says("Yes."))
    world.once()
    [path] = world.files()
    path.write_text(path.read_text() + "\nMy needle.\n")
    places = [*existing(world.outputs()), *_found()]
    matches = Search(Query(["needle"])).run(places)
    assert sum(len(match.hits) for match in matches) == 3
    assert {hit.snippet for match in matches for hit in match.hits} == {
        "a needle before",
        "a needle recorded",
        "Yes. My needle.",
    }


def test_a_fork_shows_a_copied_message_once(world):
    """A fork has the records of its parent, with their ids."""
    session = world.session(1)
    record = session.user("a needle")
    session.append(record)
    fork = world.session(2)
    fork.append(record | {"sessionId": fork.session})
    assert len(Search(Query(["needle"])).run(_found())) == 1


def test_sessions_in_databases_are_asked_for_in_sql(world, monkeypatch):
    """Only sessions with a row for each word are read; a database that cannot be read is a problem, and no more."""
    for name, maker in (("0001aaaa", OpenCode), ("0002aaaa", OpenCode)):
        maker(world, name).say(user(f"a needle 100%_ {name}"), says("In the haystack."))
    opened = []
    own = Search._hits
    monkeypatch.setattr(Search, "_hits", lambda self, place: opened.append(place) or own(self, place))
    matches = Search(Query(["0002AAAA", "100%_"])).run(_found())
    assert [match.place.key.id for match in matches] == ["ses_0002aaaa"]
    assert len(opened) == 1


def test_the_second_generation_of_a_database_is_searched(world):
    """Its messages are rows of another table."""
    OpenCode2(world, "0001aaaa").say(user("a needle"), says("Here."))
    assert len(Search(Query(["needle"])).run(_found())) == 1


def test_a_database_that_is_damaged_does_not_end_a_search(world):
    """It is named, and the rest is searched."""
    OpenCode(world, "0001aaaa").say(user("a needle"), says("Here."))
    _session(world, 1, "a needle", 10)
    found = _found()
    database = world.home / ".local/share/opencode/opencode.db"
    database.write_bytes(b"no database")
    search = Search(Query(["needle"]))
    assert len(search.run(found)) == 1
    assert list(search.problems) == [str(database)]


def test_only_wanted_matches_count(world):
    """The limit is one of matches that are wanted."""
    for number, at in ((1, 10), (2, 30)):
        _session(world, number, "a needle", at)
    wants = lambda place, _about: place.key.id.startswith("00000001")  # noqa: E731
    assert len(Search(Query(["needle"]), Terms(most=1), wants).run(_found())) == 1


def test_nothing_is_searched_in_an_empty_folder(tmp_path):
    """There is nothing to find, and nothing to complain about."""
    search = Search(Query(["needle"]))
    assert search.run(transcripts_below(tmp_path)) == []
    assert search.is_complete


def test_what_is_left_out_hides_nothing(world):
    """A copy in a project that is not wanted, or an older one, does not count as found."""
    session = world.session(1)
    record = {**session.user("a needle"), "timestamp": "2026-01-01T00:10:00.000Z"}
    session.append(record)
    fork = world.session(2)
    fork.append(record | {"sessionId": fork.session})
    wants = lambda place, _about: place.key.id.startswith("00000001")  # noqa: E731
    assert len(Search(Query(["needle"]), wants=wants).run(_found())) == 1


def test_what_was_said_twice_but_recorded_once_is_found_twice(world):
    """Each occurrence in a transcript stands for one in its session."""
    session = world.claude()
    session.append(session.user("a needle"), session.user("::start notes\na needle"))
    world.once()
    matches = Search(Query(["needle"])).run([*existing(world.outputs()), *_found()])
    assert sum(match.total for match in matches) == 2


def test_the_best_matches_come_first_if_they_are_wanted(world):
    """Words that stand for themselves, close together, and were said: they count more than being new."""
    _session(world, 1, "the red basket", 10)
    _session(world, 2, f"a basketful {'so ' * 100} infrared", 20)
    query = Query(["basket", "red"])
    assert [match.place.key.id[:8] for match in Search(query).run(_found())] == ["00000002", "00000001"]
    best = Search(query, Terms(order="best")).run(_found())
    assert [match.place.key.id[:8] for match in best] == ["00000001", "00000002"]


def test_only_what_was_said_is_found_if_that_is_wanted(world):
    """What tools were given and returned is left out."""
    session = world.claude()
    session.append(session.user("a needle"), session.runs("c1", "find needle"), session.result("c1", "needle"))
    assert Search(Query(["needle"])).run(_found())[0].total == 3
    assert Search(Query(["needle"]), Terms(said=True)).run(_found())[0].total == 1


def test_of_many_hits_only_some_are_kept(world):
    """All are counted; the newest of each kind are shown."""
    session = world.claude()
    session.append(*(session.user(f"needle {number}") for number in range(10)))
    [match] = Search(Query(["needle"]), Terms(each=2)).run(_found())
    assert (match.total, [hit.snippet for hit in match.hits]) == (10, ["needle 9", "needle 8"])


def test_a_transcript_says_of_a_long_turn_only_when_it_began(world):
    """What was said hours later stands under the same heading: the time that is shown is the one that counts."""
    (world.home / "notes").mkdir()
    path = world.home / "notes" / "notes.md"
    path.write_text(
        '---\ntitle: "n"\ndate: 2026-01-01\nagent: zot\nsession: n\n---\n\n## You · 10:00 · Go\n\n### Claude · 10:01\n\nneedle\n'
    )
    for minute, found in ((10, 1), (11, 1), (12, 0)):
        oldest = 1_767_225_600 + 36_000 + 60 * (minute - 10)  # from 10:00 on
        matches = Search(Query(["needle"]), Terms(oldest)).run(transcripts_below(path.parent))
        assert [hit.time[11:16] for match in matches for hit in match.hits] == ["10:01"] * found, minute


def test_what_was_said_again_later_is_not_taken_for_what_was_recorded(world):
    """What is in two transcripts, or was said at another time in the same words, hides nothing else."""
    session = world.claude()
    session.append(session.user("::start rec\na needle"), session.says("One."), session.user("::keep kept"))
    session.append(session.says("Kept."), session.user("::stop"))
    again = {**session.user("a needle"), "timestamp": "2026-06-20T09:00:00.000Z"}
    session.append(again)
    world.once()
    assert len(world.files()) == 2
    for places in ([*existing(world.outputs()), *_found()], [*_found(), *existing(world.outputs())]):
        search = Search(Query(["needle"]))
        hits = [hit for match in search.search(places) for hit in match.hits]
        assert "2026-06-20T09:00:00.000Z" in [hit.time for hit in hits]


def test_what_stands_under_a_telling_key_is_not_shown(world):
    """A password among a tool's arguments is redacted, as in a transcript, though its name is not searched."""
    session = world.claude()
    session.append(session.calls("c1", "connect", host="needle", password="Tr0ub4dor-and-3"))
    [match] = Search(Query(["needle"])).run(_found())
    assert "needle" in match.hits[0].snippet
    assert "Tr0ub4dor" not in match.hits[0].snippet


def test_no_part_of_a_secret_is_shown_wherever_it_is_cut(world):
    """Redaction sees the whole text, before anything of it is chosen."""
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    session = world.claude()
    session.append(session.user(f"needle {token} {'so ' * 5000} {token} needle other"))
    for words in (["needle", "other"], ["c3D4"], ["other"]):
        [match] = Search(Query(words)).run(_found())
        assert not any(token[at : at + 6] in match.hits[0].snippet for at in range(len(token) - 6))


def test_a_search_says_how_far_it_is(world, monkeypatch):
    """How many files there are, and how many of them were searched, while one of them is."""
    for number, at in ((1, 10), (2, 30), (3, 20)):
        _session(world, number, "a needle", at)
    search, seen = Search(Query(["needle"])), []
    hits = search._hits
    monkeypatch.setattr(
        search, "_hits", lambda place: seen.append((search.progress.searched, search.progress.places)) or hits(place)
    )
    assert search.progress == (0, 0)
    search.run(_found())
    assert seen == [(0, 3), (1, 3), (2, 3)]


def test_what_was_said_comes_first_if_that_is_wanted(world):
    """Before newer sessions in which only a tool has it; and no file is left out because those were found first."""
    _session(world, 1, "a needle", 10)
    _session(world, 3, "a needle", 5)
    other = world.session(2)
    records = (other.user("go"), other.runs("c1", "ls"), other.result("c1", "needle"))
    other.append(*({**record, "timestamp": "2026-01-01T00:30:00.000Z"} for record in records))
    os.utime(other.path, (1_767_225_600 + 60 * 30,) * 2)
    for most, order, expected in ((0, "said", "132"), (1, "said", "1"), (2, "said", "13"), (1, "newest", "2")):
        matches = Search(Query(["needle"]), Terms(order=order, most=most)).run(_found())
        assert "".join(match.place.key.id[7] for match in matches) == expected


def test_hits_that_were_said_come_first_if_that_is_wanted(world):
    """Each kind is in the order of time, the newest first."""
    session = world.claude()
    session.append(
        session.user("needle 1"),
        session.says("needle 2"),
        session.runs("c1", "needle 3"),
        session.result("c1", "needle 4"),
    )
    for order, expected in (("said", "2143"), ("newest", "4321")):
        [match] = Search(Query(["needle"]), Terms(order=order)).run(_found())
        assert "".join(hit.snippet[-1] for hit in match.hits) == expected


def test_a_limit_may_be_one_of_sessions(world):
    """Then all matches of a session count as one, in the session itself and in its transcripts."""
    session = world.claude()
    session.append(
        session.user("::start notes\na needle recorded"), session.user("::stop"), session.user("a needle after")
    )
    world.once()
    _session(world, 2, "a needle", 10)
    places = [*existing(world.outputs()), *_found()]
    for most, by_session, expected in ((1, True, 2), (1, False, 1), (2, True, 3), (2, False, 2)):
        search = Search(Query(["needle"]), Terms(most=most, by_session=by_session))
        matches = search.run(places)
        assert (len(matches), search.is_complete) == (expected, expected == 3)
    assert len({match.session for match in matches[:2]}) == 1


def test_matches_of_one_moment_are_in_the_order_of_their_names(world):
    """A search that is repeated has the same results, wherever its files were found first."""
    for number in (2, 1, 3):
        _session(world, number, "a needle", 10)
    for found in (_found(), _found()[::-1]):
        matches = Search(Query(["needle"])).run(found)
        assert [match.place.key.id[7] for match in matches] == ["1", "2", "3"]


def test_one_of_several_words_is_enough(world):
    """In databases, where each is asked for in SQL, and in files; the words beside them have to be there, too."""
    OpenCode(world, "0001aaaa").say(user("a red basket"), says("a needle"))
    _session(world, 4, "a red basket", 10)
    for words, found in (
        (["red", ("needle", "basket")], {"opencode": 1, "claude": 1}),
        ([("needle", "basket")], {"opencode": 2, "claude": 1}),
        (["red", ("needle", "absent")], {}),
        ([("absent", "red"), ("needle", "basket"), "a"], {"opencode": 1, "claude": 1}),
    ):
        matches = Search(Query(words)).run(_found())
        assert {match.place.key.agent: match.total for match in matches} == found


def test_what_was_said_after_a_time_is_left_out(world):
    """A session is found by what was said before; in a transcript, by the heading above it."""
    session = _session(world, 1, "an old needle", 10)
    session.append({**session.user("a new needle"), "timestamp": "2026-01-01T00:40:00.000Z"})
    path = world.home / "notes" / "notes.md"
    path.parent.mkdir()
    path.write_text(
        '---\ntitle: "n"\ndate: 2026-01-01\nagent: zot\nsession: n\n---\n\n## You · 00:15 · a needle\n\n## You · 00:45 · a needle\n'
    )
    places = [*_found(), *transcripts_below(path.parent)]
    for minutes, found in ((10, 0), (11, 1), (16, 2), (41, 3), (46, 4)):
        matches = Search(Query(["needle"]), Terms(until=1_767_225_600 + 60 * minutes)).run(places)
        assert sum(match.total for match in matches) == found


_RECORDED = Path(__file__).parents[2] / "fixtures/golden/claude/plain-turn.jsonl"
_TIMES = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["1772442000", "2026-02-30", "abcdefghij", "2026-W10-1", "0001-01-01", "9999-12-31", "2026-03-02"]),
    st.from_regex("[0-9]{4}[-0-9W]{1,6}", fullmatch=True),
)


@examples(20, 300)
@given(_TIMES, st.sampled_from(["", "Asia/Tokyo", "America/Los_Angeles"]))
def test_no_time_of_a_record_ends_a_search(tmp_path_factory, said, zone):
    """In a session or in a transcript of events: the other records, and this one, are found."""
    folder = tmp_path_factory.mktemp("odd")
    path = folder / "00000001-1111-4111-8111-111111111111.jsonl"
    rows = [
        {"type": "user", "uuid": f"u{at}", "sessionId": path.stem, "timestamp": time, "cwd": "/x", "version": "2.1.0",
         "message": {"role": "user", "content": f"needle {at}"}}
        for at, time in enumerate([said, "2026-03-02T09:00:00.000Z"])
    ]  # fmt: skip
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    identity = AGENTS["claude"].named(path)
    session = FoundSession(identity.key)
    session.files.append((str(path), identity, Stat(path.stat().st_size, 2 * 10**18, 0, 0)))
    lines = folder / "recorded.jsonl"
    events = [orjson.loads(line) for line in _RECORDED.read_bytes().splitlines()]
    events[1]["time"] = said
    lines.write_bytes(b"".join(orjson.dumps(event) + b"\n" for event in events))
    transcript = TranscriptFile(lines, 2 * 10**18, lambda: lines.open("rb"))
    for place, word, total in ((session, "needle", 2), (transcript, "forgets", 1)):
        [match] = Search(Query([word]), Terms(zone=zone)).run([place])
        assert match.total == total


def _untimed(world, name="notes", text="needle"):
    """Return the transcript of an agent that records no times, written on the first of August in Berlin."""
    folder = world.home / "untimed"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.md"
    head = f"---\ntitle: n\ndate: 2026-08-01\nagent: cursor\nsession: {name}\ntags: [katod, cursor]\n---\n\n# n\n"
    path.write_text(f"{head}\nCursor · 2026-08-01\n\n## You · {text}\n\n### Cursor\n\nthe {text}\n")
    os.utime(path, (datetime(2026, 7, 31, 23, tzinfo=UTC).timestamp(),) * 2)
    return folder


@pytest.mark.whole
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "Pacific/Kiritimati"])
def test_of_a_day_without_times_the_day_alone_is_known(world, zone):
    """It is shown so, and is chosen as that day in every zone, also where it began after its file changed."""
    folder, query = _untimed(world), Query(["needle"])
    for since, until, found in (
        (None, None, 2),
        ("2026-08-01", "2026-08-01", 2),
        ("2026-08-02", None, 0),
        (None, "2026-07-31", 0),
    ):
        terms = Terms(since_seconds(since, zone), until_seconds(until, zone), zone=zone)
        times = [hit.time for match in Search(query, terms).run(transcripts_below(folder)) for hit in match.hits]
        assert times == ["2026-08-01"] * found, (since, until)


def test_a_day_that_its_file_cannot_know_is_that_of_the_file(world):
    """What is in a file is not newer than it."""
    folder, query = _untimed(world), Query(["needle"])
    path = folder / "notes.md"
    path.write_text(path.read_text().replace("2026-08-01", "2036-08-01"))
    os.utime(path, (datetime(2026, 7, 31, 23, tzinfo=UTC).timestamp(),) * 2)
    for until, found in (("2026-07-30", 0), ("2026-08-01", 1)):
        terms = Terms(until=until_seconds(until, "UTC"), zone="UTC")
        assert len(Search(query, terms).run(transcripts_below(folder))) == found


@pytest.mark.whole
@pytest.mark.parametrize("is_newer", [True, False])
def test_a_note_that_quotes_a_message_hides_nothing(world, is_newer):
    """It is shown as the note that it is, and the message once, whichever of both files changed last."""
    session = world.claude()
    session.append(session.user("go"), session.says("the needle is there"))
    path = world.home / "notes/a.md"
    path.parent.mkdir()
    world.cli("export", session.session, "-o", str(path))
    path.write_text(path.read_text().replace("\n## You", "\nthe needle is there\n\n## You", 1))
    os.utime(path, (session.path.stat().st_mtime + (100 if is_newer else -100),) * 2)
    matches = Search(Query(["needle"])).run([*transcripts_below(path.parent), *_found()])
    assert sorted(hit.speaker for match in matches for hit in match.hits) == ["Claude", "Note"]

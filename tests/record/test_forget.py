"""What the ledger knows of sessions that are forgotten, and what is deleted of it."""

from dataclasses import replace
from pathlib import Path

from katod.model import Options
from katod.record.forget import Remains, delete_transcripts, make_tombstones
from katod.record.outputfile import output_path
from katod.store.rows import OutputRow
from katod.write.remove import why_not_removed
from tests.support.records import OTHER, Claude, says, user


def row(session, name, folder="/out", **options):
    stem = name.partition(".")[0]
    beside = replace(Options(), assets=f"{stem}.assets", subagents_folder=f"{stem}.agents", **options)
    return OutputRow(0, session, Path(folder), Path(folder, name), "markdown", 1, beside, {"metadata": {}})


def recorded(parts, *makers):
    """Return the session of each, recorded to a file of the world."""
    found = []
    for number, maker in enumerate(makers):
        maker.say(user("hello"), says("yes"))
        [source] = parts.sweep()
        session = parts.ledger.session(source.session)
        output = parts.ledger.add_output(row(session.id, f"n{number}.md", str(parts.world.home)))
        output.path.write_text("words")
        parts.ledger.save_output(output._replace(ino=1))
        found.append(session)
    return found


def test_only_what_is_of_a_session_goes(parts):
    """All rows of one session are deleted, those of another stay; commands that were carried out are remembered."""
    first, second = recorded(parts, Claude(parts.world), Claude(parts.world, OTHER))
    parts.ledger.add_applied(["command"])
    remains = Remains.of([first], parts.ledger)
    sources = make_tombstones(remains, parts.ledger, parts.catalog)
    assert [source.session for source in sources] == [first.id]
    assert [session.id for session in parts.ledger.sessions()] == [second.id]
    assert [output.session for output in parts.ledger.outputs()] == [second.id]
    assert [source.session for source in parts.catalog.sources.values()] == [second.id]
    assert parts.ledger.is_applied("command")
    assert parts.ledger.tombstones.of_session(first.key)
    assert not parts.ledger.tombstones.of_session(second.key)
    assert parts.sweep() == []


def test_transcripts_that_katod_never_made_stay(parts):
    """A file that has the name of an output before katod wrote to it belongs to somebody else."""
    [session] = recorded(parts, Claude(parts.world))
    [output] = parts.ledger.outputs()
    output = parts.ledger.save_output(output._replace(ino=0))
    delete_transcripts(Remains.of([session], parts.ledger))
    assert output.path.exists()
    assert why_not_removed(output_path(output)) == ""


def test_folders_that_others_use_stay(parts):
    """Two transcripts of one name share the folder for attachments; nobody shares that of sub-agents."""
    own, others = row(1, "n.md"), row(2, "n.jsonl")
    assert [place.path.name for place in Remains([], [], [own], []).folders()] == ["n.agents", "n.assets"]
    assert [place.path.name for place in Remains([], [], [own], [others]).folders()] == ["n.agents"]


def test_a_file_that_knows_a_session_has_one_of_these_words(parts):
    """The id of the session, the path of a source, or that of an output."""
    [session] = recorded(parts, Claude(parts.world))
    words = Remains.of([session], parts.ledger).words
    [source] = parts.catalog.sources.values()
    assert sorted(words) == sorted(
        text.encode() for text in (session.key.id, source.path, str(parts.world.home / "n0.md"))
    )


def test_a_path_is_looked_for_as_it_is_on_disk():
    """Also one whose name is no text."""
    assert Remains([], ["/s/a\udcff.jsonl"], [], []).words == [b"/s/a\xff.jsonl"]

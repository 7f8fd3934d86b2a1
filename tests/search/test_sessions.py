"""Searches in the agents' own files: the hits are those of reading everything."""

import os
import random
from functools import partial
from pathlib import Path

import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import FoundSession, find_sessions
from katod.discover.roots import find_roots
from katod.errors import SourceError
from katod.events import DECISION_RESPONSE, is_printed
from katod.log import EventLog
from katod.model import Stat
from katod.record.export import Stretch, replay
from katod.search import sessions as searched
from katod.search.folding import fold
from katod.search.outputs import search_transcript
from katod.search.query import Query
from katod.search.sessions import search_session
from katod.search.spoken import BETWEEN, words_of
from katod.search.transcriptfiles import TranscriptFile
from tests.examples import mostly
from tests.oracle.corpus import corpus_folder, corpus_sources, fixture_sources
from tests.support.records import (
    MAKERS,
    OF_EACH_NATURE,
    RELATIVES,
    SESSION,
    Claude,
    CodexLegacy,
    Copilot,
    calls,
    result,
    says,
    user,
)  # fmt: skip

_NEEDLES = int(os.environ.get("KATOD_NEEDLES", "60"))
_MOST_HITS = 500
_LARGEST = 4_000_000  # bytes of a session of which everything is read


def _hits(found, *words):
    return [(hit.speaker, hit.text) for hit in _all_hits(found, Query(words))]


def _all_hits(found, query):
    return list(filter(None, search_session(found, query)))


def _only():
    [found] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    return found


@pytest.mark.parametrize("maker", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_messages_calls_and_results_are_found(world, maker):
    """In every agent's files, with the speaker; words of two events do not match together."""
    said = [user("Where is the Basket?"), says('In the \u201ccart\u201d, as \\path\\ and "quote".'), says("Gone.")]
    if "result" not in maker.ABSENT:
        said += [calls("c1", "make"), result("c1", "src/basket.ts:1:naïve"), says("Found it.")]
    maker(world).say(*said)
    found = _only()
    label = AGENTS[maker.agent].label
    assert ("You", "Where is the Basket?") in _hits(found, "basket", "where")
    assert [speaker for speaker, _ in _hits(found, '"quote"', "\\PATH\\")] == [label]
    assert _hits(found, "basket", "gone") == []
    if "result" not in maker.ABSENT:
        assert any(speaker.startswith(f"{label} ▸") for speaker, _ in _hits(found, "make"))
        assert [text for _, text in _hits(found, "NAÏVE")] == ["src/basket.ts:1:naïve"]


def test_each_event_is_found_once(world):
    """Records that the agent writes again, and sessions of several files, do not double a hit."""
    session = world.claude()
    record = session.user("only once")
    session.append(record, record)
    assert len(_hits(_only(), "once")) == 1


def test_the_last_line_need_not_be_complete_on_disk(world):
    """A record without its newline is found if it is whole, and a torn one is left out."""
    session = world.claude()
    session.append(session.user("one"))
    path = session.path
    whole = path.read_bytes()
    path.write_bytes(whole.rstrip(b"\n") + b'\n{"type":"user","message":{"role":"user","content":"one more')
    assert len(_hits(_only(), "one")) == 1


def test_a_result_that_stands_in_another_file_is_found(world):
    """Claude Code writes long results beside the session; the line only says where."""
    session = world.claude()
    folder = session.path.with_suffix("") / "tool-results"
    folder.mkdir(parents=True)
    (folder / "t1.txt").write_text("a needle in the long result")
    spilled = f"<persisted-output>\nOutput too large. Full output saved to: {folder}/t1.txt\n</persisted-output>"
    session.say(user("go"), calls("c1", "make"), result("c1", spilled))
    assert [text for _, text in _hits(_only(), "needle")] == ["a needle in the long result"]


def _with(found, path):
    """Return a session with another file before its own ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found.files.insert(0, (str(path), AGENTS[found.key.agent].named(path), Stat(0, 0, 0, 0)))
    return found


def test_a_file_that_cannot_be_read_is_an_error_after_the_hits_of_the_others(world):
    """The caller notes it, shows the hits, and goes on with the other sessions."""
    world.claude().say(user("a needle"))
    found = _with(_only(), world.home / "other/folder.jsonl")
    (world.home / "other/folder.jsonl").mkdir()
    hits = filter(None, search_session(found, Query(["needle"])))
    assert [hit.text for hit in (next(hits),)] == ["a needle"]
    with pytest.raises(SourceError):
        next(hits)


def test_a_file_that_is_gone_has_no_hits(world):
    """Agents move and delete their files: the others of the session are searched, and nothing is wrong."""
    world.claude().say(user("a needle"))
    assert len(_hits(_with(_only(), world.home / "other/gone.jsonl"), "needle")) == 1
    found = _only()
    world.session(1).path.parent.joinpath(f"{found.key.id}.jsonl").unlink()
    assert _hits(found, "needle") == []


# -- the oracle: everything is read and compared ------------------------------------------------------


def _read(agent, path):
    """Return a session file as found on disk, the text of each of its events, and the answers to questions.

    From a line alone, an answer may not be told from the result of the call that asked: it is found, but there.
    """
    identity = AGENTS[agent].named(Path(path))
    found = FoundSession(identity.key)
    found.files.append((str(path), identity, Stat(0, 0, 0, 0)))
    texts, answers, ids = {}, set(), set()
    for event, _ in replay(identity.key, [Stretch(str(path), identity)], EventLog(), skip_missing=True):
        ids.add(event.id)
        if event.kind == DECISION_RESPONSE:
            answers.add(words_of(event))
        elif words := words_of(event):
            texts[words] = fold(words)
    return found, texts, answers, ids


def _needle(chance, texts):
    """Return a piece of a text, mostly one with characters that are written in several ways, in another case."""
    text = chance.choice([part for part in chance.choice(texts).split(BETWEEN) if part] or ["none"])
    special = [at for at, char in enumerate(text[:20_000]) if not char.isascii() or char in "\"'\\/<>&\n\t"]
    length = chance.choice([2, 3, 5, 8, 13, 30])
    at = chance.choice(special) - chance.randrange(length) if special and chance.random() < 0.6 else None
    at = chance.randrange(len(text)) if at is None else max(0, at)
    piece = text[at : at + length].strip()
    return piece.swapcase() if chance.random() < 0.5 else piece


def _compare(sources, needles, seed):
    """Compare the hits of so many queries; return how many there were. What is nearly everywhere is left out."""
    chance = random.Random(seed)
    sessions = [_read(source.agent, source.path) for source in sources]
    sessions = [session for session in sessions if session[1]]
    matched = 0
    while needles:
        own = list(chance.choice(sessions)[1])
        words = [_needle(chance, own) for _ in range(chance.choice([1, 1, 2, 3]))]
        query = Query(word for word in words if len(word) > 1)
        expected = [
            {text for text, folded in texts.items() if all(word in folded for word in query.words)} - answers
            for _, texts, answers, _ in sessions
        ]
        if not query.words or sum(map(len, expected)) > _MOST_HITS:
            continue
        for (found, _, answers, ids), wanted in zip(sessions, expected, strict=True):
            hits = _all_hits(found, query)
            assert {hit.text for hit in hits} - answers == wanted, (found.files, query.words)
            # Gemini may write its history again under other ids: a whole reading knows that, a single line does not.
            leads = [hit for hit in hits if hit.event and found.key.agent != "gemini"]
            assert [hit.event for hit in leads if hit.event not in ids and hit.text not in answers] == [], (
                found.files,
                query.words,
            )
            matched += len(wanted)
        needles -= 1
    return matched


def test_hits_are_those_of_reading_every_fixture():
    """Needles with quotes, backslashes and letters of any script, in any case, alone and together."""
    assert _compare(fixture_sources()[::5], 12, seed=1) > 10


def test_a_command_for_the_shell_is_found_as_it_is_printed():
    """In each agent that records some; the sign before it is in no record."""
    found = set()
    for source in fixture_sources():
        if b"! " not in (data := Path(source.path).read_bytes()) and (b"shell" in data or b"bash" in data):
            session, texts, _, _ = _read(source.agent, source.path)
            for text in (text for text in texts if text.startswith("! ")):
                assert text in {hit.text for hit in _all_hits(session, Query([text]))}
                found.add(source.agent)
    assert len(found) > 3, found


def test_a_prompt_that_is_recorded_twice_is_one_hit(world):
    """Codex writes it as what the model gets, and as what the person said; only the latter is an event."""
    maker = CodexLegacy(world)
    maker.say(user("x" * 100_000), says("Yes."))  # what is below is not read with the beginning
    for words in ("Where is the basket?", "And the cart?", "::stop", "::start\nGo on with the rest"):
        block = {"type": "input_text", "text": words}
        given = maker.record("response_item", {"type": "message", "role": "user", "content": [block]})
        maker.append(given, maker.user(words), maker.says(f"{words} There."))
    found = _only()
    assert [speaker for speaker, _ in _hits(found, "basket")] == ["You", "Codex"]
    assert [(speaker, text) for speaker, text in _hits(found, "sto") if speaker == "You"] == []
    assert [text for speaker, text in _hits(found, "rest") if speaker == "You"] == ["Go on with the rest"]
    whole = {event.id for event, _ in replay(found.key, [Stretch(*found.files[0][:2])], EventLog())}
    assert {hit.event for hit in _all_hits(found, Query(["the"]))} <= whole


@pytest.mark.parametrize(
    "maker", mostly((*OF_EACH_NATURE, Copilot), (*MAKERS, *RELATIVES)), ids=lambda maker: maker.__name__
)
def test_each_hit_is_one_event_of_the_session(world, monkeypatch, maker):
    """So a result leads to a message on its page, and counts once, whichever records of the agent have the words."""
    monkeypatch.setattr(searched, "_HEAD", 1)  # as in a long session, each line is read alone
    said = [user("begin here"), user("which words?"), says("these words")]
    if "result" not in maker.ABSENT:
        said += [
            calls("c1", "make words"),
            result("c1", "words made"),
            calls("c2", "make words"),
            result("c2", "words made"),
        ]
    maker(world).say(*said, says("more words"), user("some words more"), says("words"))
    found = _only()
    whole = [event for event, _ in replay(found.key, [Stretch(*found.files[0][:2])], EventLog())]
    hits = _all_hits(found, Query(["words"]))
    expected = [event.id for event in whole if "words" in words_of(event) and is_printed(event)]
    assert sorted(hit.event for hit in hits if hit.event) == sorted(set(expected))


def test_a_prompt_that_waits_for_its_turn_is_one_hit_whatever_is_between(world):
    """Claude Code writes it when it is typed, and again when it is sent: only the latter is an event."""
    maker = world.claude().say(user("x" * 100_000), says("I begin."))
    typed = {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": "2026-02-10T22:40:00.000Z",
        "sessionId": SESSION,
    }
    maker.write({**typed, "content": "where is the basket?"})
    maker.say(says("A basket is here."), says("Is that the basket?"), user("where is the basket?"), says("The basket!"))
    found = _only()
    whole = {event.id for event, _ in replay(found.key, [Stretch(*found.files[0][:2])], EventLog())}
    hits = _all_hits(found, Query(["basket"]))
    assert [hit.text for hit in hits].count("where is the basket?") == 1
    assert {hit.event for hit in hits} <= whole


@pytest.mark.slow
def test_hits_are_those_of_reading_real_sessions():
    """The same for every third real session."""
    sources = [source for source in corpus_sources()[::3] if os.path.getsize(source.path) < _LARGEST]
    # VS Code may write an answer in pieces: a phrase that spans two of them stands nowhere in the file.
    sources = [source for source in sources if "insert" not in Path(source.path).name]
    if not sources:
        pytest.skip(f"no real sessions in {corpus_folder()}")
    assert _compare(sources, _NEEDLES, seed=random.randrange(10**6)) > _NEEDLES


def test_context_for_the_model_is_found_as_such_and_leads_into_no_transcript(world):
    """What an editor told the agent was said neither by the person nor by the agent, and no transcript prints it."""
    session = world.claude()
    parts = ["<ide_opened_file>The user opened the file cart.ts in the IDE.</ide_opened_file>", "Look at the cart."]
    session.append(session.user([{"type": "text", "text": part} for part in parts]))
    found = {hit.speaker: bool(hit.event) for hit in _all_hits(_only(), Query(["cart"]))}
    assert found == {"You": True, "Claude ▸ context": False}
    assert world.cli("search", "--all", "opened the file").rstrip().endswith(f"\tkatod show {_only().key.id[:8]}")
    assert world.cli("search", "--all", "at the cart").rstrip().endswith(""" --find '"at the cart"'""")


@pytest.mark.parametrize("form", ["session", "markdown", "html", "jsonl"])
def test_words_between_agents_are_found_as_those_of_who_said_them(world, form):
    """In sessions and in transcripts of all forms: a teammate is neither the person nor the assistant."""
    maker = Claude(world)
    maker.say(user("Go on."), says("I wait."))
    for records in maker.between("The basket is done.").values():
        maker.put(*records)
    maker.say(says("Thanks."))
    if form == "session":
        hits = _hits(_only(), "basket")
    else:
        path = world.home / f"talk.{'md' if form == 'markdown' else form}"
        world.cli("export", str(maker.path), "-f", form, "-o", str(path))
        _, found = search_transcript(TranscriptFile(path, 0, partial(open, path, "rb")), Query(["basket", "done"]))
        hits = [(hit.speaker, hit.text) for hit in filter(None, found)]
    speakers = {speaker for speaker, _ in hits} - {"Claude ▸ notification"}
    assert speakers == {"reviewer", "tester", "Review", "▸ Summary", "worker"}

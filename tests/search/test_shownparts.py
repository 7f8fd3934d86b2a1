"""Which command shows a hit: it is run on all fixtures, and has to find what it is printed for."""

from dataclasses import replace
from functools import cache

import orjson
import pytest

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.found import FoundSession, find_sessions
from katod.discover.roots import find_roots
from katod.log import EventLog
from katod.model import Stat
from katod.record.export import Stretch, render_all, replay
from katod.search import run
from katod.search import sessions as searched
from katod.search.folding import fold
from katod.search.hits import ShowView
from katod.search.query import Query
from katod.search.run import Search, Terms
from katod.search.sections import messages, place_in, sections_of
from katod.search.spoken import words_of
from katod.search.transcriptfiles import TranscriptFile
from katod.tail.reader import SourceFile
from tests.examples import mostly
from tests.golden.cases import FIXTURES, PLAIN, cases
from tests.support.records import (
    MAKERS,
    OF_EACH_NATURE,
    Copilot,
    GeminiDocument,
    calls,
    result,
    says,
    user,
)

_BASE = replace(PLAIN, exported=False, attachments="name")
VIEWS = (
    ShowView("", _BASE),
    ShowView("--thinking", replace(_BASE, thinking=True)),
    ShowView("--tools full", replace(_BASE, tools="full")),
)


def _words(event):
    """Return some words of an event to look for: the first, the longest, and the last."""
    words = [word for word in fold(words_of(event)).split() if len(word) > 2]
    return {words[0], max(words, key=len), words[-1]} if words else set()


def _session(case):
    """Return a case as a session on the disk."""
    identities = [AGENTS[case.agent].named(path) for path in case.paths]
    found = FoundSession(identities[0].key)
    for path, identity in zip(case.paths, identities, strict=True):
        found.files.append((str(path), identity, Stat(path.stat().st_size, 2 * 10**18, 0, 0)))
    return found


def _lines(case, folder, form=".jsonl"):
    """Return a case as a recording, in JSONL or in another form."""
    path = folder / f"recording{form}"
    path.write_bytes(case.render(form))
    return TranscriptFile(path, 2 * 10**18, lambda: path.open("rb"))


def _shower(case):
    """Return what `katod show` shows of a case, by the options that are typed."""

    @cache
    def shown(typed):
        options = next(view.options for view in VIEWS if view.typed == typed)
        return [list(message) for message in messages(sections_of(render_all(case.events(), "markdown", options)))]

    return shown


def _hits(place, word):
    """Return the hits of one word in a place, each with its query."""
    query = Query([word])
    return [(query, hit) for match in Search(query, Terms(views=lambda: VIEWS)).run([place]) for hit in match.hits]


def _is_found(query, shown):
    return any(place_in(message, query) is not None for message in shown)


@pytest.mark.parametrize("case", mostly(cases()[:1], cases()), ids=str)
def test_the_command_below_a_hit_finds_it(case, tmp_path):
    """Of a session and of its recording in JSONL, with the options that are printed; if there are any, they help."""
    words = sorted({word for event, _ in case.events() for word in _words(event)})
    shown = _shower(case)
    for place in (_session(case), _lines(case, tmp_path)):
        for query, hit in (found for word in words for found in _hits(place, word)):
            assert hit.shown_by is None or _is_found(query, shown(hit.shown_by)), (query.words, hit)


@pytest.mark.parametrize("case", mostly(cases()[:1], cases()), ids=str)
@pytest.mark.parametrize("form", [".md", ".full.md"])
def test_a_transcript_is_shown_as_it_is(case, form, tmp_path):
    """What is found in it is found in what is shown, without options."""
    words = sorted({word for event, _ in case.events() for word in _words(event)})
    shown = [list(message) for message in messages(sections_of([case.render(form).decode()]))]
    place = _lines(case, tmp_path, form)
    for query, hit in (found for word in words for found in _hits(place, word)):
        assert (hit.shown_by, _is_found(query, shown)) == ("", True), (query.words, hit)


@pytest.mark.parametrize(
    ("name", "word", "shown"),
    [
        ("message-in-records", "percentage", "--thinking"),
        ("api-error-retries", "overloaded", None),
        ("unknown-records", "hologram", None),
        ("sidechain-in-main", "look.", None),
        ("tool-declined", "rejection", None),
        ("tool-declined", "orders_2020", "--tools full"),
        ("ide-context", "ide_selection", None),
        ("plain-turn", "cart", ""),
    ],
)
def test_a_hit_is_shown_by_what_prints_it(name, word, shown, tmp_path):
    """By an option that prints it, and by none if no option does."""
    [case] = [case for case in cases() if str(case) == f"claude/{name}"]
    for place in (_session(case), _lines(case, tmp_path)):
        [match] = Search(Query([word]), Terms(views=lambda: VIEWS)).run([place])
        assert shown in {hit.shown_by for hit in match.hits}


def test_of_too_many_results_no_command_is_promised_to_find_one(monkeypatch, tmp_path):
    """Their calls, which decide as well, are not looked for; what has no call is shown as before."""
    [case] = [case for case in cases() if str(case) == "claude/tool-declined"]
    query, terms = Query(["orders_2020"]), Terms(views=lambda: VIEWS)
    [before] = Search(query, terms).run([_lines(case, tmp_path)])
    monkeypatch.setattr(run, "_MOST_CALLS", 0)
    [match] = Search(query, terms).run([_lines(case, tmp_path)])
    assert any(hit.call and hit.shown_by == "--tools full" for hit in before.hits)
    for now, then in zip(match.hits, before.hits, strict=True):
        assert now == (then._replace(shown_by=None) if then.call else then)


def test_a_hit_without_a_view_is_looked_for_in_none():
    """Only the command line shows commands."""
    [case] = [case for case in cases() if str(case) == "claude/api-error-retries"]
    [match] = Search(Query(["overloaded"])).run([_session(case)])
    assert {hit.shown_by for hit in match.hits} == {""}


# -- results, of which the call decides -----------------------------------------------------------------


def _only():
    [found] = find_sessions(find_roots(Settings(), AGENTS), {}).values()
    return found


def _shown_by(found, word):
    """Return with which options the hits of a word are shown."""
    return [hit.shown_by for _, hit in _hits(found, word)]


def _filled(maker):
    """Begin a session with more than the part of it that is always read."""
    maker.say(user("begin"), *(says(f"part {number} of it: {'so ' * 800}") for number in range(40)))
    return maker


@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda make: make.__name__)
def test_a_result_is_shown_in_full_wherever_it_is(world, make):
    """In every agent's files, also behind the part that is read as a whole, and where calls have no ids."""
    if "result" in make.ABSENT:
        return
    maker = _filled(make(world))
    maker.say(calls("call-1", "make it"), result("call-1", "the needle"))
    maker.say(calls("call-2", "make more"), result("call-2", "another needle"), says("done"))
    assert _shown_by(_only(), "needle") == ["--tools full"] * 2


def test_the_result_of_a_call_that_is_not_printed_is_not_shown(world):
    """Nor is one whose call is not among the records near it: it is not certain to be."""
    maker = _filled(world.claude())
    maker.append(
        maker.calls("toolu_1", "TodoWrite", todos=[]), maker.result("toolu_1", "needle 1"),
        maker.runs("toolu_2", "toolu_1"), maker.result("toolu_2", "needle 2"),
        maker.calls("toolu_3", "ToolSearch", query="toolu_2"), maker.result("toolu_3", "needle 3"),
        maker.result("toolu_4", "needle 4"),
    )  # fmt: skip
    found = _only()
    for number, shown in ((1, None), (2, "--tools full"), (3, None), (4, None)):
        assert _shown_by(found, f"needle {number}") == [shown], number


def test_a_result_that_is_recorded_before_its_call_is_shown_as_one_behind_it(world, monkeypatch):
    """Claude Code did so at times, one or two records before; the call decides here, too, if it is not too far away."""
    monkeypatch.setattr(searched, "_NEAR", (300, 3000))
    maker = _filled(world.claude())
    maker.append(
        maker.result("toolu_1", "needle 1"), maker.runs("toolu_1", "ls"),
        maker.result("toolu_2", "needle 2"), maker.says("toolu_2"), maker.runs("toolu_2", "x" * 1000),
        maker.result("toolu_3", "needle 3 " + "x" * 4000), maker.runs("toolu_3", "ls"),
        maker.result("toolu_4", "needle 4"), maker.calls("toolu_4", "TodoWrite", todos=[]),
        maker.result("toolu_5", "needle 5"), maker.runs("toolu_5", "x" * 4000),
    )  # fmt: skip
    found = _only()
    for number, shown in ((1, "--tools full"), (2, "--tools full"), (3, "--tools full"), (4, None), (5, None)):
        assert _shown_by(found, f"needle {number}") == [shown], number


def test_the_call_of_the_last_result_of_the_beginning_is_found_behind_that(world):
    """The beginning of a session is read as a whole, and may end between a result and its call."""
    maker = world.claude().say(user("begin"))
    maker.append(maker.result("toolu_1", f"needle {'so ' * 8000}"), maker.runs("toolu_1", "x" * 30000))
    assert _shown_by(_only(), "needle") == ["--tools full"]


def test_the_lines_that_are_looked_at_may_be_cut(world, monkeypatch):
    """A call is found in lines that are longer than what is looked at first, and in none that is cut."""
    monkeypatch.setattr(searched, "_NEAR", (300, 3000))
    monkeypatch.setattr(searched, "_NEXT", 300)
    maker = _filled(world.claude())
    for number, size in enumerate((10, 200, 2000, 4000)):
        maker.append(maker.runs(f"toolu_{number}", "x" * size), maker.result(f"toolu_{number}", f"needle {number}"))
    found = _only()
    shown = [_shown_by(found, f"needle {number}") for number in range(4)]
    assert shown == [["--tools full"], ["--tools full"], ["--tools full"], [None]]


@pytest.mark.parametrize(("tool", "shown"), [("write_todos", None), ("run_shell_command", "--tools full")])
def test_a_call_that_its_agent_gave_no_id_decides_as_well(tmp_path, tool, shown):
    """It is known by the name of its record, in which its result is, too."""
    path = tmp_path / "chats" / "session-2026-02-10T22-36-5a1c0f3e.jsonl"
    path.parent.mkdir()
    rows = [orjson.loads(line) for line in (FIXTURES / "gemini/plain.jsonl").read_bytes().splitlines()]
    for call in (call for row in rows for call in row.get("toolCalls", [])):
        response = {"functionResponse": {"id": "x", "name": tool, "response": {"output": "okapi"}}}
        call |= {"name": tool, "args": {"todos": []}, "result": [response], "status": "success"}
        call.pop("id", None)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    identity = AGENTS["gemini"].named(path)
    found = FoundSession(identity.key)
    found.files.append((str(path), identity, Stat(path.stat().st_size, 2 * 10**18, 0, 0)))
    assert set(_shown_by(found, "okapi")) == {shown}
    if shown:
        options = next(view.options for view in VIEWS if view.typed == shown)
        whole = render_all(replay(identity.key, [Stretch(str(path), identity)], EventLog()), "markdown", options)
        assert "okapi" in "".join(whole)


def test_the_calls_of_results_are_looked_for_where_they_are(world, monkeypatch):
    """The rest of a session is not read for them again, however many results there are."""
    maker = _filled(world.claude())
    for number in range(30):
        maker.append(maker.runs(f"toolu_{number}", "ls"), maker.result(f"toolu_{number}", "needle"))
        maker.append(*(maker.says(f"{number}: {'so ' * 8000}") for _ in range(6)))
    found, read = _only(), []
    own = SourceFile._pread
    monkeypatch.setattr(
        SourceFile, "_pread", lambda file, size, at: [data := own(file, size, at), read.append(len(data))][0]
    )
    costs = []
    for terms in (Terms(), Terms(views=lambda: VIEWS)):
        read.clear()
        [match] = Search(Query(["needle"]), terms).run([found])
        costs.append(sum(read))
    assert {hit.shown_by for hit in match.hits} == {"--tools full"}
    assert costs[1] - costs[0] < 32 * 70_000 < costs[0] * 0.6


@pytest.mark.parametrize("make", [Copilot, GeminiDocument])
def test_a_session_that_was_read_as_a_whole_is_not_read_again(world, monkeypatch, make):
    """What it has said of its calls is known by then; a result without one is not looked for."""
    make(world).say(user("go"), calls("call-1", "make"), result("call-1", "the needle"), says("done"))
    found, replays = _only(), []
    own = searched.replay
    monkeypatch.setattr(searched, "replay", lambda *given: replays.append(given) or own(*given))
    assert _shown_by(found, "needle") == ["--tools full"]
    assert len(replays) == 1

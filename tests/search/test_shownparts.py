"""Which command shows a hit: it is run on all fixtures, and has to find what it is printed for."""

from dataclasses import replace
from functools import cache

import pytest

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.model import Stat
from katod.record.export import render_all
from katod.search import run
from katod.search.folding import fold
from katod.search.hits import ShowView
from katod.search.query import Query
from katod.search.run import Search, Terms
from katod.search.sections import messages, place_in, sections_of
from katod.search.spoken import words_of
from katod.search.transcriptfiles import TranscriptFile
from tests.examples import mostly
from tests.golden.cases import PLAIN, cases

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


def test_of_too_many_results_no_command_is_promised_to_find_one(monkeypatch):
    """Their calls, which decide as well, are not looked for; what has no call is shown as before."""
    [case] = [case for case in cases() if str(case) == "claude/tool-declined"]
    query, terms = Query(["orders_2020"]), Terms(views=lambda: VIEWS)
    [before] = Search(query, terms).run([_session(case)])
    monkeypatch.setattr(run, "_MOST_CALLS", 0)
    [match] = Search(query, terms).run([_session(case)])
    assert any(hit.call and hit.shown_by == "--tools full" for hit in before.hits)
    for now, then in zip(match.hits, before.hits, strict=True):
        assert now == (then._replace(shown_by=None) if then.call else then)


def test_a_hit_without_a_view_is_looked_for_in_none():
    """Only the command line shows commands."""
    [case] = [case for case in cases() if str(case) == "claude/api-error-retries"]
    [match] = Search(Query(["overloaded"])).run([_session(case)])
    assert {hit.shown_by for hit in match.hits} == {""}

"""A search in the sessions that are served, with results as CodingBridge has them. For the searching thread."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from katod.agents import AGENTS
from katod.discover.found import FoundSession
from katod.formats.stream import bridge
from katod.formats.text.ownlines import SIGN
from katod.search.folding import fold
from katod.search.query import Query
from katod.search.run import Match, Search, ShownHit, Terms

_EACH: Final = 3  # hits of each kind in a session
_WIDTH: Final = 200
_KINDS: Final = {
    "thinking": "thinking", "result": "tool_result", "error": "system", "context": "system", "notification": "system",
}  # fmt: skip
_YOU: Final = "You"
Fields = dict[str, Any]


class FoundRows(NamedTuple):
    """The sessions that were found, and what could not be searched, each with the reason."""

    rows: list[Fields]
    problems: list[str]


def search(words: str, places: Iterable[FoundSession], projects: dict[str, str]) -> Iterator[FoundRows | None]:
    """Yield None while it goes on, and at last the sessions that have all words, the best matches first.

    `projects` has their paths, by UUID.
    """
    query = Query(words.split())
    job = Search(query, Terms(order="best", each=_EACH, width=_WIDTH))
    for matches in job.steps(job.possible(places)):
        if matches is None:
            yield None
        else:
            problems = [f"{path}: {problem}" for path, problem in job.problems.items()]
            yield FoundRows([row for match in matches if (row := _row(match, query, projects))], problems)


def _row(match: Match, query: Query, projects: dict[str, str]) -> Fields | None:
    if not isinstance(match.place, FoundSession):
        return None
    name = bridge.session_uuid(match.place.key)
    label = AGENTS[match.place.key.agent].label
    return {
        "sessionId": name,
        "projectPath": projects.get(name, ""),
        "score": round(match.score, 3),
        "timestamp": next((time for hit in match.hits if (time := bridge.moment(hit.time))), bridge.UNDATED),
        "snippets": [_snippet(hit, query, label) for hit in match.hits],
    }


def _snippet(hit: ShownHit, query: Query, label: str) -> Fields:
    folded = fold(hit.snippet)
    at, length = min(((folded.find(word), len(word)) for word in query.words if word in folded), default=(0, 0))
    return {"type": _kind(hit.speaker, label), "text": hit.snippet, "matchStart": at, "matchLength": length}


def _kind(speaker: str, label: str) -> str:
    """Return the type of the message that a hit is in, by its speaker."""
    if speaker == _YOU:
        return "user"
    if speaker != label and not speaker.startswith(f"{label} {SIGN}"):
        return "system"  # words between agents
    part = speaker.removeprefix(label).replace(SIGN, "").strip()
    return _KINDS.get(part, "tool_use") if part else "assistant"

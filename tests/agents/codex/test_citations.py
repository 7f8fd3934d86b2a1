"""Codex: what the model appends about its memory is no part of its answer."""

from katod import events as ev
from tests.looping import each
from tests.support.records import Codex, CodexLegacy
from tests.support.translated import payloads, translated

CITED = "Done.\n\n<oai-mem-citation>\n<citation_entries>\nMEMORY.md:1-28|note=[old]\n</citation_entries>\n</oai-mem-citation>"


@each("form", [Codex, CodexLegacy])
def test_a_citation_is_kept_beside_the_answer(form):
    """The answer is what the client shows; the rest is an event of its own."""
    make = form()
    events = translated("codex", make.meta(), make.says(CITED))
    assert [row["text"] for row in payloads(events, ev.ASSISTANT_MESSAGE)] == ["Done."]
    [kept] = [row for row in payloads(events, ev.PROVIDER_INFO) if row.get("subtype") == "memory-citation"]
    assert "MEMORY.md:1-28" in kept["text"]
    assert len({event.id for event in events}) == len(events)

"""Words between agents: who says them, and how a transcript shows them. Pure."""

import re
from collections.abc import Callable
from typing import Final

from katod import events as ev
from katod.agents import AGENTS
from katod.events import Event
from katod.formats.text.ownlines import SIGN, UNSEEN
from katod.formats.transcript.content import Delegation, Inline, Prose
from katod.metadata import cut_at_word, first_words

TASK: Final = "Task"
SUMMARY: Final = "Summary"
SUBAGENT: Final = "Sub-agent"
# Who says words of a kind, if the agent does not name anybody.
_NAMES: Final = {
    ev.Between.TASK: TASK,
    ev.Between.DELEGATED: TASK,
    ev.Between.PEER: "Agent",
    ev.Between.TEAMMATE: "Teammate",
    ev.Between.SUMMARY: SUMMARY,
    ev.Between.BRANCH: SUMMARY,
}
_UNSHOWN: Final = re.compile(f"[{SIGN}{UNSEEN}]")  # in names: katod's sign, and what would make two look alike
_TEXTS: Final = {ev.AGENT_END: "result", ev.COMPACTION: "summary"}  # other events have a `text`
_WORDS: Final = 60  # characters that are visible
_LONGEST_NAME: Final = 60
_LONGEST_START: Final = 4000  # characters, from which the visible words are taken
_MARKS: Final = "#*>-_` "  # of Markdown, at the beginning of a line


def speaker_of(event: Event, say: Callable[[str], str]) -> str:
    """Return who says words between agents, without secrets as `say` knows them; empty for all other events.

    Agents choose their names, so one that is called like the person or an assistant of katod's is not named.
    """
    if ev.is_summary(event):
        return SUMMARY
    if event.kind == ev.AGENT_END:
        unnamed = SUBAGENT
    elif ev.is_between(event):
        unnamed = _NAMES[event.payload["subtype"]]
    else:
        return ""
    name = " ".join(_UNSHOWN.sub("", say(event.payload.get("speaker", ""))).split())[:_LONGEST_NAME]
    return unnamed if not name or name.casefold() in _taken() else name


def _taken() -> set[str]:
    return {"you", TASK.casefold(), SUMMARY.casefold(), *(spec.label.casefold() for spec in AGENTS.values())}


def folded(event: Event, say: Callable[[str], str], shorten: Callable[[str], str]) -> list[Delegation]:
    """Return words between agents as a collapsed block, none if there are none. Only reports are shortened."""
    payload, is_report = event.payload, event.kind == ev.AGENT_END
    text = say(payload.get(_TEXTS.get(event.kind, "text")) or "")
    if not text.strip():
        return []
    preview = payload.get("summary", "") if event.kind == ev.SYSTEM_MESSAGE else ""
    about = f"· {_visible(say(preview)) or _visible(text)}".rstrip()
    notes = (say(payload["status"]),) if is_report and payload.get("status") else ()
    parts = (Prose(shorten(text) if is_report else text),)
    return [Delegation(speaker_of(event, say), (Inline("text", about),), notes, parts)]


def _visible(text: str) -> str:
    """Return the first words of a text in Markdown."""
    lines = (line.lstrip(_MARKS).rstrip("*_` ") for line in text[:_LONGEST_START].split("\n"))
    line = next(filter(None, lines), "")
    return first_words(line, _WORDS) or cut_at_word(" ".join(line.split()), _WORDS)

"""Why a format does not have what is in the events: by where it is in them."""

import re
from typing import Final

from tests.formats.native.finding import TRANSCRIPT

_IDS: Final = r"id$|source\.|session\.(?:id|subagent|parent)$|turn$|.*toolCallId|.*decisionId"
# For each format, what begins like one of these is left out for this reason; the first one counts.
REASONS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "atif": (
        (_IDS, "In a trajectory, only calls and sub-agents have ids of the agent's."),
        (r"turn\.|provider\.|config\.change|session\.start time", "It says nothing of the work."),
        (r"assistant\.thinking encrypted", "What nobody can read is not reasoning."),
        (r"\S+ time$", "A step has one time, that of its first part."),
    ),
    TRANSCRIPT: (
        (_IDS, "Ids are not for reading."),
        (r"\S+ time$", "Times are shown for messages, and where much time has passed."),
        (r"usage ", "Tokens are shown as one sum for each turn."),
        (
            r"system\.|provider\.|agent\.|config\.change|turn\.|session\.start",
            "The client says it, and nobody in the conversation.",
        ),
        (r"user\.kato-command", "Commands are carried out, not shown."),
        (r"assistant\.", "It is a detail of something that is shown."),
    ),
}


def reason(name: str, place: str) -> str:
    """Return why a format has nothing of an event's field, empty if that is not known."""
    return next((why for begins, why in REASONS.get(name, ()) if re.match(begins, place)), "")


def all_reasons() -> list[str]:
    """Return all reasons, in the order of their numbers."""
    return [why for rows in REASONS.values() for _, why in rows]

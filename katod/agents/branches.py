"""Conversations that are trees of records: where one goes on from an earlier place than its last. Pure."""

from typing import Any, Final

from katod.agents.fields import digest, text_of

_MOST: Final = 64  # prompts behind which a person may go back
_SHORT: Final = 8


def rewound() -> dict[str, str]:
    """Return the payload of a note that the person went back."""
    return {"text": "Conversation rewound", "subtype": "rollback"}


class Branches:
    """Which prompt was the first behind each record; of too many, the oldest are forgotten."""

    __slots__ = ("_prompts",)

    def __init__(self, kept: dict[str, str] | None = None) -> None:
        """Start with none, or go on from `state()`."""
        self._prompts: dict[str, str] = dict(kept or {})

    def state(self) -> dict[str, str]:
        """Return the state to resume from, as JSON: hashes of ids."""
        return dict(self._prompts)

    def goes_back(self, prompt: Any, parent: Any) -> bool:
        """Take the id of a prompt, and that of the record it follows; return whether another prompt followed that.

        A prompt that follows no record begins a conversation.
        """
        if not text_of(prompt) or not text_of(parent):
            return False
        own = digest(prompt)[:_SHORT]
        first = self._prompts.setdefault(digest(parent)[:_SHORT], own)
        if len(self._prompts) > _MOST:
            del self._prompts[next(iter(self._prompts))]
        return first != own

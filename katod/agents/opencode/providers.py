"""OpenCode: which provider answers, and where that changed. Pure."""

from typing import Any, Final

from katod.agents.fields import text_of
from katod.model import LONGEST_NAME

_MOST: Final = 16


class Providers:
    """The latest messages whose provider differs from the one before.

    A document may repeat messages that were read before: each of them is again a change, or again none.
    """

    def __init__(self, state: list[list[str]] | None = None) -> None:
        self._changes: list[list[str]] = state or []  # place of the message, provider; in order

    def state(self) -> list[list[str]]:
        """Return this as JSON."""
        return self._changes

    def change(self, info: dict[str, Any]) -> dict[str, Any]:
        """Return the payload of a change to the provider of a message, empty if there is none."""
        place, provider = _place(info), text_of(info.get("providerID"))
        if not all(0 < len(name) <= LONGEST_NAME for name in (place, provider)):
            return {}
        self._renumber(place)
        before = next((name for at, name in reversed(self._changes) if at < place), "")
        is_forgotten = bool(self._changes) and place < self._changes[0][0]
        if provider == before or is_forgotten:
            return {}
        if all(at != place for at, _ in self._changes):
            self._changes = sorted([*self._changes, [place, provider]])[-_MOST:]
        payload = {"what": "modelProvider", "before": before, "after": provider}
        return {name: value for name, value in payload.items() if value}

    def _renumber(self, place: str) -> None:
        """Keep the last provider alone when OpenCode 2 goes on with a session: it orders messages by their numbers."""
        if self._changes and self._changes[-1][0].isdecimal() != place.isdecimal():
            self._changes = [["", self._changes[-1][1]]]


def _place(info: dict[str, Any]) -> str:
    """Return what orders messages: their number in OpenCode 2, otherwise their id."""
    number = info.get("seq")
    return f"{number:020}" if isinstance(number, int) and number >= 0 else text_of(info.get("id"))

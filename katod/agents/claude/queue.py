"""Claude Code: texts queued while the agent works, matched by their words with the records that they become.

A person's text or a task of the client is enqueued. It leaves the queue by `dequeue` (a `user` record has its words),
by `remove` (a `queued_command` has them, or no record does), or by `popAll` (back into the editor). `dequeue` and
`remove` do not say which text leaves, its record may come before them or much later, and many tasks never leave.
"""

from typing import Any, Final, NamedTuple

import orjson

from katod.agents.claude.text import ENVELOPES, classify, texts_of
from katod.agents.fields import digest, text_of

_MOST: Final = 64


class Item(NamedTuple):
    """A queued text: a hash of its words; the text, empty for a task of the client; the time of its record."""

    words: str
    text: str
    time: str


class Leaving(NamedTuple):
    """A `dequeue` or `remove` whose text is not known yet; the hash of its words if it names them."""

    operation: str
    time: str
    words: str


class Queue:
    """Decides which queued texts have no record of their own. Each text is either released or met, whichever is first.

    Without such a record, a removed text is released by the first answer that is dated after its removal. If it was
    released too early, its record is recognised when it comes.
    """

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._waiting = [Item(*row) for row in state.get("waiting", [])]
        self._leaving = [Leaving(*row) for row in state.get("leaving", [])]
        self._ahead: int = state.get("ahead", 0)  # texts met before they left the queue
        self._released: list[str] = state.get("released", [])

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, empty if there is none."""
        rows = {
            "waiting": list(map(list, self._waiting)), "leaving": list(map(list, self._leaving)),
            "ahead": self._ahead, "released": self._released,
        }  # fmt: skip
        return {name: value for name, value in rows.items() if value}

    def has_pending(self) -> bool:
        """Return whether a person's text is waiting for a later record to decide about it."""
        return any(item.text for item in self._waiting)

    def holds_latest(self) -> bool:
        """Return whether the text that was queued last is a person's, and waits."""
        return bool(self._waiting and self._waiting[-1].text)

    def has_texts(self) -> bool:
        """Return whether a record may contain a text that is or was queued."""
        return bool(self._waiting or self._released)

    def operate(self, record: dict[str, Any]) -> list[Item]:
        """Apply an `enqueue`, `dequeue`, `remove` or `popAll`; return the oldest texts if too many are waiting."""
        operation, time = record.get("operation"), text_of(record.get("timestamp"))
        text = "\n".join(texts_of(record.get("content")))
        if operation == "enqueue":
            self._waiting.append(Item(_hash_words(text), "" if _is_task(text) else text, time))
        elif operation == "popAll":
            self._waiting = [item for item in self._waiting if not item.text]
        elif operation in ("dequeue", "remove"):
            self._leave(Leaving(operation, time, _hash_words(text) if text else ""))
        return self._overflow()

    def meet(self, text: str, operation: str, *, queued: bool) -> bool:
        """Note a record with these words, of the kind that follows the operation; return whether they were released.

        `queued` says that the record is certainly from the queue: otherwise a person may have typed the words again.
        """
        words = _hash_words(text)
        if item := next((item for item in self._waiting if item.words == words), None):
            self._waiting.remove(item)
            self._ahead += not self._settle(words, operation)
            return False
        if words in self._released:
            was_recorded = self._settle(words, operation) or queued
            if was_recorded:
                self._released.remove(words)
            return was_recorded
        if any(row.operation == operation == "dequeue" for row in self._leaving):
            self._settle("", operation)
            if not _is_task(text):  # otherwise its place in the queue was taken for that of another task
                self._drop_oldest()  # the record has other words than the queue
        return False

    def empty(self) -> list[Item]:
        """Return a person's texts that are still waiting when the person types a prompt: the queue is empty then."""
        for leaving in self._leaving:
            if leaving.operation == "dequeue":
                self._drop_oldest()
        self._leaving, self._ahead = [], 0
        rest, self._waiting = self._waiting, [item for item in self._waiting if not item.text]
        return self._release(rest)

    def decide(self, time: str) -> list[Item]:
        """Return the texts removed before this time, that of an answer: no record of their own will come."""
        due = [row for row in self._leaving if row.operation == "remove" and (not time or row.time < time)]
        for leaving in due:
            self._leaving.remove(leaving)
        return self._release([item for leaving in due if (item := self._take(leaving)) is not None])

    def finish(self) -> list[Item]:
        """Return the texts that are still waiting, as the source is complete."""
        rest, self._waiting = self._waiting, []
        return self._release(rest)

    def _leave(self, leaving: Leaving) -> None:
        if not self._waiting and not self._ahead:
            return
        here = not leaving.words or any(item.words == leaving.words for item in self._waiting)
        if self._ahead and not (leaving.words and here):
            self._ahead -= 1
        elif here:
            self._leaving = [*self._leaving, leaving][-_MOST:]

    def _settle(self, words: str, operation: str) -> bool:
        """Forget what made a text leave the queue; return whether there was anything."""
        likely = sorted(
            (row for row in self._leaving if row.words in ("", words)),
            key=lambda row: (not row.words, row.operation != operation),
        )
        for row in likely[:1]:
            self._leaving.remove(row)
        return bool(likely)

    def _take(self, removal: Leaving) -> Item | None:
        """Take what was most likely removed: the text with these words, else the oldest that a person typed.

        A text released too early is recognised later, but one that is not released would be lost.
        """
        items = [item for item in self._waiting if not removal.words or item.words == removal.words]
        taken = next((item for item in items if item.text), items[0] if items else None)
        if taken is not None:
            self._waiting.remove(taken)
        return taken

    def _drop_oldest(self) -> None:
        oldest = next((item for item in self._waiting if item.text), None)
        if oldest is not None:
            self._waiting.remove(oldest)

    def _overflow(self) -> list[Item]:
        oldest, self._waiting = self._waiting[:-_MOST], self._waiting[-_MOST:]
        return self._release(oldest)

    def _release(self, items: list[Item]) -> list[Item]:
        typed = [item for item in items if item.text]
        self._released = [*self._released, *(item.words for item in typed)][-_MOST:]
        return typed


def _hash_words(text: str) -> str:
    return digest(" ".join(classify(text).text.removeprefix("! ").split()))


def _is_task(text: str) -> bool:
    """Return whether a queued text is a task of the client: in one of its envelopes, or JSON with a `task_id`."""
    if not text.strip() or classify(text).subtype in ENVELOPES.values():
        return True
    if not text.lstrip().startswith("{"):
        return False
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return isinstance(value, dict) and "task_id" in value

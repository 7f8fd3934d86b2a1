"""Claude Code: which text blocks of `user` records were typed, and what of them was pasted.

The client marks pastes from 2.1.330 on: one of more than 800 characters, or with three line breaks or more, becomes a
`<pasted_content id="9e96">` element inside the typed text. The id is the same for all pastes of a session, and no page
can know it: a closing tag with another id is content.

Texts that are queued while the agent works are matched by their words with the records that they become (`Queue`). A
person's text or a task of the client is enqueued. It leaves the queue by `dequeue` (a `user` record has its words),
by `remove` (a `queued_command` has them, or no record does), or by `popAll` (back into the editor). `dequeue` and
`remove` do not say which text leaves, its record may come before them or much later, and many tasks never leave.
"""

import re
from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.agents.fields import dicts_of, digest, text_of
from katod.model import Span, TypedText
from katod.tail.decode import loads

# The client puts two line breaks before a paste; without them it still counts as one, as nothing in it may command.
_OPENING: Final = re.compile(r'(?:\n\n)?<pasted_content id="([0-9a-f]{1,16})">\n?')
# Explicit marks of who sent the prompt, from about 2.1.161 on. If present, they decide.
PERSON_SOURCES: Final = frozenset({"typed", "queued", "suggestion_accepted", "sdk"})
PERSON_ORIGIN: Final = "human"
_PEER: Final = "peer"
# The plan that a person accepted, in the record with which the client starts to carry it out.
PLAN: Final = "planContent"
# Marks of records that the client wrote in the user's name.
NOT_A_PERSON: Final = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", PLAN)

# Envelopes around text that nobody typed, and their kind.
ENVELOPES: Final = {
    "<local-command-stdout>": "local-command-output",
    "<local-command-stderr>": "local-command-output",
    "<local-command-caveat>": "caveat",
    "Caveat: The messages below": "caveat",
    "<bash-stdout>": "shell-output",
    "<bash-stderr>": "shell-output",
    "<task-notification>": "task-notification",
    "<teammate-message": "teammate-message",
    "<system-reminder>": "reminder",
    "<user-memory-input>": "memory",
    "<ide_opened_file>": "ide-context",
    "<ide_selection>": "ide-context",
}
INTERRUPTED: Final = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")
_INTERRUPTION: Final = "[Request interrupted by user"
REMINDER: Final = "<system-reminder>"
REMINDER_END: Final = "</system-reminder>"
_TAG: Final = re.compile(r"<[a-z][a-z0-9_-]*[ >]")
_SHELL: Final = re.compile(r"<bash-input>(.*?)</bash-input>", re.DOTALL)


_ABOVE_SUMMARY: Final = ("This session is being continued", "<")
_SUMMARY_HEAD: Final = 4000  # characters
_MOST: Final = 64


def unwrap(text: str) -> TypedText:
    """Return the text of a prompt without the client's tags, and what of it is pasted.

    A paste ends with the last closing tag of its id before the next opening tag of that id, or with the text. Tags of
    other ids are content: a page cannot know the id.
    """
    if "<pasted_content" not in text:
        return TypedText(text)
    pieces: list[str] = []
    pasted: list[Span] = []
    size = at = 0
    while opening := _OPENING.search(text, at):
        following = text.find(f'<pasted_content id="{opening[1]}">', opening.end())
        end, after = _end(text, opening, following if following >= 0 else len(text))
        before, content = text[at : opening.start()], text[opening.end() : end]
        gap = "\n\n" if before or pieces else ""
        pieces += [before, gap, content]
        begin = size + len(before) + len(gap)
        size = begin + len(content)
        pasted.append((begin, size))
        at = after
    rest = text[at:].lstrip("\n")
    return TypedText("".join([*pieces, rest and f"\n\n{rest}"]), tuple(pasted))


def _end(text: str, opening: re.Match[str], limit: int) -> tuple[int, int]:
    """Return where the content of a paste ends, and where the text after its closing tag begins."""
    closing = f'\n</pasted_content id="{opening[1]}">'
    end = text.rfind(closing, opening.end() - 1, limit)
    return (limit, limit) if end < 0 else (max(end, opening.end()), end + len(closing))


class TextClass(NamedTuple):
    """The classification of a text block: the text, its subtype if it is not plain text, and what its form shows.

    `plain` is true for text in the form that people type; `shape` is true if the form alone is sufficient evidence.
    `pasted` are the parts of the text that the client marks as pasted; the marks themselves are not in the text.
    """

    text: str
    subtype: str = ""
    plain: bool = True
    shape: bool = True
    pasted: tuple[Span, ...] = ()

    @property
    def payload(self) -> dict[str, Any]:
        """The payload of the message that this is."""
        payload: dict[str, Any] = {"text": self.text}
        if self.subtype:
            payload["subtype"] = self.subtype
        if self.pasted:
            payload["pasted"] = list(map(list, self.pasted))
        return payload


def classify(text: str) -> TextClass:
    """Classify a text block of a user record by its form."""
    if (typed := unwrap(text)).pasted:
        return TextClass(typed.text, shape=classify(_outside(typed)).shape, pasted=typed.pasted)
    head = text.lstrip()
    if head.startswith(_INTERRUPTION):
        return TextClass(text, plain=False, shape=False)  # longer than the client's text: shown, but not as typed
    if not head.startswith(("<", "Caveat: ")):
        return TextClass(text)
    if head.startswith(("<command-name>", "<command-message>")):
        return TextClass(_slash_command(text), "slash-command", plain=False, shape=False)
    shell = _SHELL.match(head)
    if shell:
        return TextClass(f"! {shell[1].strip()}", "shell", plain=False, shape=False)
    for opening, subtype in ENVELOPES.items():
        if head.startswith(opening):
            return TextClass(text, subtype, plain=False, shape=False)
    return TextClass(text, shape=not _TAG.match(head))


def _outside(typed: TypedText) -> str:
    """Return what of a text is not pasted."""
    bounds = [0, *(at for span in typed.pasted for at in span), len(typed.text)]
    return "".join(typed.text[begin:end] for begin, end in zip(bounds[::2], bounds[1::2], strict=True))


def is_person(record: dict[str, Any], *, subagent: bool) -> bool | None:
    """Return whether a person sent this record, None if only the form of the text can tell."""
    if subagent or any(record.get(flag) for flag in NOT_A_PERSON) or _answers_a_call(record):
        return False
    source, origin = record.get("promptSource"), record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if source is None and kind is None:
        return None
    return (source is None or source in PERSON_SOURCES) and kind in (None, PERSON_ORIGIN)


def _answers_a_call(record: dict[str, Any]) -> bool:
    """Return whether a record contains a tool's result: nothing else in it is the user's either."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else ()
    return "toolUseResult" in record or any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks
    )


def other_sender(record: dict[str, Any]) -> str:
    """Return who sent a record that is marked as not a person's, empty if it is not marked."""
    source, origin = record.get("promptSource"), record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if isinstance(kind, str) and kind != PERSON_ORIGIN:
        return ev.Between.PEER if kind == _PEER else kind
    return source if isinstance(source, str) and source not in PERSON_SOURCES else ""


def cut_reminder(text: str) -> tuple[str, str]:
    """Split off a reminder that the client appended to a text."""
    at = text.find(REMINDER)
    return (text, "") if at <= 0 else (text[:at].rstrip(), text[at:])


def texts_of(content: Any) -> list[str]:
    """Return the texts of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return [content]
    return [text_of(row.get("text")) for row in dicts_of(content) if row.get("type") == "text"]


def _slash_command(text: str) -> str:
    name, args = _element(text, "command-name"), _element(text, "command-args")
    shown = f"/{name.strip().lstrip('/')}" if name is not None else ""
    return f"{shown} {(args or '').strip()}".strip()


def _element(text: str, name: str) -> str | None:
    """Return the text of the first element with this name, None if there is none."""
    inner = text.partition(f"<{name}>")[2]
    said, end, _ = inner.partition(f"</{name}>")
    return said if end else None


def summary_line(text: str) -> str:
    """Return the first line of a compaction's summary that is about the conversation, empty if there is none.

    The client's own lines, and the headings of the form that it asks for, are not.
    """
    lines = (line.strip() for line in text[:_SUMMARY_HEAD].split("\n"))
    about = (line for line in lines if line and not line.startswith(_ABOVE_SUMMARY) and not line.endswith(":"))
    return next(about, "")


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
        """Return a person's texts that are still waiting when the user types a prompt: the queue is empty then."""
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
        value = loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and "task_id" in value

"""What is known about a conversation so far, and the first words in it that say something, which name it. Pure.

It is collected from all events of the conversation, recorded or not.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from katod import events as ev
from katod.events import Event
from katod.model import LONGEST_NAME, SessionKey
from katod.paths import name_of

if TYPE_CHECKING:
    from katod.receipt import RecordTally
import re

# Far more than a title shows: a secret that is cut here could no longer be recognised as one.
LONGEST_TITLE: Final = 400
# In typed text: pictures and files that a client inserts.
_MARKUP: Final = re.compile(r"!\[[^\]]*\]\([^)\s]*\)|\[(?:Image|Pasted text) #?[0-9]+[^\]]*\]|(?<![\w/])@(?=[\w./~-])")
_ITEM: Final = re.compile(r"\A(?:[-*+•]|[0-9]{1,3}[.)])\s+")
# An element that a program put around or before the words: a name with its closing tag.
_ELEMENT: Final = re.compile(r"\s*<([a-z][\w-]{0,60})(?:\s[^<>]{0,400})?>.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_PLACE: Final = re.compile(r"(?:\w+:)?//\S+|(?:~|\.{1,2}|[a-z]:)?[/\\]\S*|[\w.-]+(?:[/\\][\w.-]+)+", re.IGNORECASE)
_PLAN: Final = re.compile(r"(?:please )?implement (?:the|this) (?:following )?plan\W*", re.IGNORECASE)
# What a client has another agent review before it permits a call: the conversation so far, whose first prompt is in it.
_REVIEW: Final = "The following is the Codex agent history"
_REVIEWED: Final = re.compile(
    r"The following is the Codex agent history[^\n]*\n+>>> TRANSCRIPT START\n+\[[0-9]+\] user: ([^\n]*)"
)
_WORD: Final = re.compile(r"[^\W\d_]+")
_COMMAND: Final = "::"
_WRITTEN_BREAK: Final = "\\n"
_ESCAPED: Final = re.compile(r"\s*<[a-z][\w-]{0,60}>\\n")  # an element that a program sent with its line breaks escaped
# A line of nothing but these answers or pushes on, whatever the conversation is about.
_IDLE: Final = frozenset({
    "again", "ahead", "and", "commit", "continue", "do", "done", "fine", "go", "good", "great", "it", "next",
    "no", "nope", "now", "ok", "okay", "on", "please", "proceed", "push", "resume", "retry", "start", "sure", "thank",
    "thanks", "that", "then", "this", "try", "warmup", "yeah", "yep", "yes", "you",
})  # fmt: skip
_MOST_CALLS: Final = 256
_FEWEST: Final = 12  # events: fewer prove nothing
# What a sub-agent was given is what its own session is about.
_SLASH: Final = "slash-command"  # one with arguments names a session of which nothing else does
_TELLING: Final = 5  # words of a slash command that say what it is about, itself included
_SUBTYPES_WITHOUT_TITLE: Final = frozenset({"slash-command", "shell", "context", *ev.BETWEEN}) - {ev.Between.TASK}


def title_of(text: str, longest: int = LONGEST_TITLE) -> str:
    """Return the first line of what a person typed that says something, cut at a word; empty if none does.

    No line says anything that is a command or resembles one, a bare address or path, a tag, or consists of words such
    as "yes" and "commit". What a program wrote around the words counts only if there are no others, and the heading of
    a plan instead of the request to carry it out. A conversation that is reviewed is called by its first prompt.
    """
    if "\n" not in text and _WRITTEN_BREAK in text and _ESCAPED.match(text):
        text = text.replace(_WRITTEN_BREAK, "\n")
    if reviewed := reviewed_in(text):
        return cut_at_word(f"Review: {reviewed}", longest)
    begin = 0
    while around := _ELEMENT.match(text, begin):
        begin = around.end()
    return cut_at_word((_saying(text[begin:]) if begin else "") or _saying(text), longest)


def reviewed_in(text: str) -> str:
    """Return the first prompt of the conversation that a text gives to a reviewer, empty if it gives none."""
    found = _REVIEWED.match(text) if text.startswith(_REVIEW) else None
    return _plain(found[1]) if found else ""


def first_words(text: str, longest: int) -> str:
    """Return the first line of what a person typed, without markers of images and files, cut at a word."""
    line = next((line for line in map(_plain, text.split("\n")) if line), "")
    return cut_at_word(line, longest)


def heading_of(text: str, longest: int) -> str:
    """Return the heading of a message; one that is only markup has that as its heading."""
    return first_words(text, longest) or cut_at_word(" ".join(text.split()), longest)


def cut_at_word(line: str, longest: int) -> str:
    """Return a line, cut after a word with an ellipsis if it is longer; a word that is too long alone is cut.

    With the ellipsis, it has at most `longest` characters.
    """
    if len(line) <= longest:
        return line
    head = line[:longest]
    words = head[: head.rfind(" ", longest // 3) + 1] or head[:-1]
    return f"{words.rstrip(' ,;:.-')}…"


def _plain(line: str) -> str:
    return " ".join(_MARKUP.sub("", line).strip().lstrip("#>").rstrip("\\").split())


def _saying(text: str) -> str:
    """Return the first line that says something, without what makes it an item of a list."""
    lines = (_ITEM.sub("", _plain(line), 1) for line in text.split("\n"))
    return next((line for line in lines if _says_something(line)), "")


def _says_something(line: str) -> bool:
    if line.startswith(_COMMAND) or any(form.fullmatch(line) for form in (_PLACE, _TAG, _PLAN)):
        return False
    words = _WORD.findall(line.casefold())
    return any(word not in _IDLE and (len(word) > 1 or not word.isascii()) for word in words)


class SessionStart(NamedTuple):
    """Where and how a session began, as far as its agent records it."""

    cwd: str = ""
    branch: str = ""
    version: str = ""
    parent: str = ""
    origin: str = ""
    draft: str = ""  # a title of words that nobody is known to have typed here, such as those that a fork copied
    session: str = ""  # its whole id, of which a path may have only the beginning


class SessionNames(NamedTuple):
    """What a session is called, and what the user says of it."""

    title: str = ""  # the first words that say something, or the name of a recording
    named: str = ""  # by the person or the agent, in the agent, of the whole session: for lists alone
    own: str = ""  # by the user, in katod
    labels: tuple[str, ...] = ()
    starred: bool = False


class SessionMetadata:
    """Names, start, model and open calls: what the head of a transcript and its tool results need."""

    __slots__ = ("calls", "key", "last", "model", "names", "start", "started", "tally", "time")

    def __init__(
        self, key: SessionKey, state: dict[str, Any] | None = None, tally: "RecordTally | None" = None
    ) -> None:
        """Go on from a state; `tally` counts the records, if all events pass here as they are read."""
        state = state or {}
        self.key = key
        self.names = SessionNames(
            state.get("title", ""), state.get("named", ""), state.get("own", ""), tuple(state.get("labels", ())),
            state.get("starred", False),
        )  # fmt: skip
        self.start = SessionStart(*(state.get(name, "") for name in SessionStart._fields))
        self.model: str = state.get("model", "")
        self.started: str = state.get("started", "")
        self.time: str = state.get("time", "")
        self.last: str = state.get("last", "")
        self.calls: dict[str, str] = state.get("calls", {})
        self.tally = tally

    def state(self) -> dict[str, Any]:
        """Return the metadata as JSON, without what is unknown."""
        row: dict[str, Any] = self.names._asdict() | {"labels": list(self.names.labels)}
        row |= {name: getattr(self, name) for name in ("model", "started", "time", "last")}
        row |= self.start._asdict() | {"calls": self.calls}
        return {name: value for name, value in row.items() if value}

    @property
    def title(self) -> str:
        """What the session is about, empty if that is not known yet."""
        return self.names.own or self.names.title

    @property
    def cwd(self) -> str:
        """The session's first working directory."""
        return self.start.cwd

    @property
    def best_title(self) -> str:
        """The title, or a draft of it."""
        return self.title or self.start.draft

    @property
    def list_title(self) -> str:
        """What a list calls the session: its name, else its title, else its project and the day on which it began."""
        return (
            self.names.own or self.names.named or self.best_title or f"{name_of(self.cwd)} {self.started[:10]}".strip()
        )

    def set_named(self, name: str) -> None:
        """Set the name that the person or the agent gave the session."""
        self.names = self.names._replace(named=name)

    def rename(self, title: str) -> None:
        """Set the title, whatever it was."""
        self.names = self.names._replace(title=title)

    def set_plan(self, words: str) -> None:
        """Set the title, if there is none, to the heading of a plan that the conversation begins with."""
        if not self.title and (title := title_of(words)):
            self.rename(title)

    def set_title(self, words: str, event: Event) -> None:
        """Set the title, if there is none, to what these words say, which are those of a message before it is split."""
        subtype = event.payload.get("subtype")
        is_apart = subtype in _SUBTYPES_WITHOUT_TITLE and not reviewed_in(words)
        if self.title or (is_apart and subtype != _SLASH) or not (title := title_of(words)):
            return
        if (not is_apart and self._is_said_here(event)) or (subtype == _SLASH and len(title.split()) >= _TELLING):
            self.rename(title)
        else:
            self._draft(title, is_better=not is_apart)

    def _is_said_here(self, event: Event) -> bool:
        return event.typed or bool(self.key.subagent or self.start.origin)

    def _draft(self, title: str, *, is_better: bool) -> None:
        """Set a draft of the title, if there is none, or if this one is better than a slash command."""
        before = self.start.draft
        if not before or (is_better and before.startswith("/")):
            self.start = self.start._replace(draft=title)

    def observe(self, event: Event) -> None:
        """Update the metadata with one event; events come in the order of the conversation."""
        kind = event.kind
        self.last = event.id
        if event.time:
            self.time = event.time
            if not self.started:
                self.started = event.time
        if event.session.subagent != self.key.subagent:
            return
        if event.model:
            self.model = event.model
        if kind == ev.TOOL_CALL:
            self._open(event.payload)
        elif kind == ev.SESSION_START:
            self._begin(event)

    def close(self, event: Event) -> None:
        """Forget a call once its result has been printed everywhere."""
        if event.kind == ev.TOOL_RESULT:
            self.calls.pop(event.payload["toolCallId"], None)

    def observed(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events in the order of the conversation; the metadata includes each while it is being processed."""
        for event in events:
            self.observe(event)
            yield event
            self.close(event)

    def called(self, call: str) -> str:
        """Return the name of the tool of an open call, `tool` if the call is unknown."""
        return self.calls.get(call, "tool")

    def fold(self, event: Event) -> None:
        """Update the metadata with an event that is not printed."""
        self.observe(event)
        self.close(event)

    def _open(self, payload: dict[str, Any]) -> None:
        if len(call := payload["toolCallId"]) <= LONGEST_NAME:
            self.calls[call] = payload["name"][:LONGEST_NAME]
        if len(self.calls) > _MOST_CALLS:
            del self.calls[next(iter(self.calls))]

    def _begin(self, event: Event) -> None:
        payload = event.payload
        given = SessionStart(
            payload.get("cwd", ""), payload.get("branch", ""), payload.get("cliVersion", ""), event.session.parent,
            payload.get("origin", ""), "", event.session.id,
        )  # fmt: skip
        self.start = SessionStart(*(known or new for known, new in zip(self.start, given, strict=True)))


class Counts(NamedTuple):
    """How many events were translated, and how many of them are records that katod does not know."""

    events: int = 0
    raw: int = 0

    def plus(self, events: list[Event]) -> "Counts":
        """Return the counts with these events added."""
        return Counts(self.events + len(events), self.raw + [event.kind for event in events].count(ev.PROVIDER_RAW))

    @property
    def is_strange(self) -> bool:
        """Whether most records are not understood."""
        return self.events >= _FEWEST and self.raw * 2 > self.events


# The events of a session in order, each with the metadata at that point.
Replay = Iterable[tuple[Event, SessionMetadata]]

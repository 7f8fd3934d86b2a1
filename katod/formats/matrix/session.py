"""What the format `matrix` knows of a session so far: its thread, its turns and its settings. Pure."""

from base64 import b64encode
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

from katod import events as ev
from katod.agents.answers import Answers
from katod.agents.fields import decoded
from katod.events import Event
from katod.formats.matrix.imagesize import head_of, size_of
from katod.formats.matrix.lines import (
    REFERENCE,
    Draft,
    Picture,
    ProtocolEvent,
    timestamp_of,
    transaction,
    transaction_of,
)
from katod.formats.matrix.places import directory
from katod.formats.matrix.sums import Sums
from katod.formats.matrix.values import Content, Path, clean, cleaned
from katod.formats.redact.redactor import redact_json
from katod.lifecycle import NO_PROMPTS, Lifecycle
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.states import AT_WORK

_ENVIRONMENT: Final = (("client_version", "cliVersion"),)
_ABOUT: Final = (
    ("branch", "branch"), ("commit", "commit"), ("repository", "repository"), ("model_provider", "modelProvider"),
    ("permission_mode", "permissionMode"), ("sandbox", "sandbox"), ("effort", "effort"), ("origin", "origin"),
)  # fmt: skip
_UNSAID: Final = ev.BETWEEN - {ev.Between.TASK} | {"context"}  # of messages that are no prompts
_STOPS: Final = frozenset({"end_turn", "tool_use", "max_tokens", "stop_sequence"})
_LONGEST_KEPT: Final = 8_000  # characters of the last text of a turn, in case it is interrupted


@dataclass(slots=True)
class Turns:
    """The prompt that is being answered, and the last text of the answer."""

    number: int = 0
    prompt: str = ""  # its transaction; empty if what is being answered is no prompt
    prompt_id: str = ""
    response: str = ""
    message: str = ""  # the id of the message that the response is of
    text: str = ""
    blocked: bool = False  # whether it was said that the request was refused
    summarized: int = 0  # the number of the last turn in a summary

    def refuse(self) -> bool:
        """Note that the request was refused; return whether that was not known, as a client may record it twice."""
        is_new, self.blocked = not self.blocked, True
        return is_new

    def summarize(self) -> int:
        """Note that all turns until now were summarized; return how many that are."""
        count, self.summarized = self.number - self.summarized, self.number
        return count

    def end(self) -> None:
        """Forget the last text: a turn that has ended cannot be interrupted."""
        self.text = ""


@dataclass(slots=True)
class SessionSettings:
    """What the session used when that was last recorded, to find what changes."""

    model: str = ""
    announced: bool = False  # whether the agent itself said that the model changes
    branch: str = ""
    servers: list[str] = field(default_factory=list)
    todos: list[Any] = field(default_factory=list)  # the agent's list of things to do

    def announce_model(self) -> None:
        """Note that the agent said that the model changes."""
        self.announced = True

    def use_model(self, model: str) -> bool:
        """Note the model of an answer; return whether it changed and nobody had said so."""
        changes = bool(self.model) and not self.announced
        self.model, self.announced = model, False
        return changes

    def switch(self, branch: str) -> bool:
        """Note the branch; return whether it is another one."""
        changes = bool(branch) and branch != self.branch
        self.branch = branch or self.branch
        return changes

    def list_todos(self, items: list[tuple[str, bool]]) -> list[tuple[str, bool]] | None:
        """Note the list of things to do; return the one before it, None if there was none."""
        before = [(text, bool(done)) for text, done in self.todos] or None
        self.todos = [[text, done] for text, done in items]
        return before


@dataclass(slots=True)
class Session:
    """The thread of a session, the state of its room, and its settings."""

    id: str = ""
    root: str = ""
    last: str = ""  # the id of the last event
    started: int = 0
    whole: bool = False  # whether everything since the beginning was seen: otherwise, nothing can be counted
    status: str = ""  # of the room, with the model
    lifecycle: Lifecycle | dict[str, Any] = field(default_factory=dict)  # what was kept of it, until it is needed
    settings: SessionSettings = field(default_factory=SessionSettings)

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Session":
        """Return the session, given its state."""
        return cls(**state | {"settings": SessionSettings(**state.get("settings", {}))})

    def note(self, event: Event) -> None:
        """Note that an event was printed, as the last one."""
        self.last = event.id

    def miss(self) -> None:
        """Note that a part may be missing after the start: nothing is counted from now on."""
        if self.root:
            self.whole = False


class EventContext(NamedTuple):
    """One event, its payload without secrets, what is known when it comes, and of its agent."""

    event: Event
    payload: Content
    metadata: SessionMetadata
    options: Options
    client: str
    answers: Answers

    @property
    def is_own(self) -> bool:
        """Whether this is of the session itself, not of a sub-agent that speaks in its file."""
        return self.event.session.subagent == self.metadata.key.subagent

    @property
    def session_id(self) -> str:
        """The id of the session; that of a sub-agent that has a file of its own is its own."""
        return self.metadata.key.subagent or self.event.session.id

    def text(self, name: str) -> str:
        """Return a text of the payload, empty if it has none of this name."""
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    def ids(self, turns: Turns | None = None) -> Content:
        """Return what tells which session and prompt this is of."""
        return ids_of(self, turns.prompt_id if turns else "")


def ids_of(context: EventContext, prompt_id: str = "") -> Content:
    """Return the ids of the session, of a sub-agent that speaks in its file, and of the prompt."""
    found = {
        "session_id": context.session_id,
        "katod_subagent": "" if context.is_own else context.event.session.subagent,
        "prompt_id": prompt_id,
    }
    return {name: value for name, value in found.items() if value}


def state_of(part: Turns | Session | SessionSettings) -> dict[str, Any]:
    """Return a part of the state as JSON, without what is empty."""
    row = {one.name: getattr(part, one.name) for one in fields(part)}
    if isinstance(row.get("lifecycle"), Lifecycle):
        row["lifecycle"] = row["lifecycle"].kept()
    if isinstance(row.get("settings"), SessionSettings):
        row["settings"] = state_of(row["settings"])
    return {name: value for name, value in row.items() if value}


# -- the start, and the state of the room ------------------------------------------------------------


def begun(context: EventContext, session: Session) -> list[Draft]:
    """Return the start of the session, which is the first line whatever the first event is."""
    is_start = context.event.kind == ev.SESSION_START and context.is_own
    ref, subagent = context.event.session, context.metadata.key.subagent
    key = SessionKey(ref.agent, ref.id, subagent)
    session.id, session.root = context.session_id, transaction(f"{key}#session.start")
    session.whole = is_start
    given = dict(context.payload) if is_start else _known(context)
    content = ids_of(context) | _fields(context, given) | (timestamp_of(context.event) if is_start else {})
    content.pop("katod_subagent", None)
    session.started = content.get("timestamp", 0)
    session.settings.model = content.get("model", "")
    return [Draft("session.start", content)]


def _known(context: EventContext) -> Content:
    """Return what a recording that begins later knows of the start."""
    start = context.metadata.start
    known = {"cwd": start.cwd, "branch": start.branch, "cliVersion": start.version, "origin": start.origin}
    redacted: Content = redact_json(known) if context.options.redact else known
    return redacted


def _fields(context: EventContext, given: Content) -> Content:
    ref = context.event.session
    environment = {"client": context.client} | _named(given, _ENVIRONMENT)
    parent = ref.id if context.metadata.key.subagent else given.get("parent") or ref.parent
    about = {"agent": ref.agent} | ({"parent": parent} if parent else {}) | _named(given, _ABOUT)
    model = context.event.model or context.metadata.model
    where = {"working_directory": directory(given["cwd"], context.options)} if given.get("cwd") else {}
    return ({"model": model} if model else {}) | where | {"environment": environment, "katod_session": about}


def _named(given: Content, names: tuple[tuple[str, str], ...]) -> Content:
    return {name: given[key] for name, key in names if isinstance(given.get(key), str) and given[key]}


def doing(context: EventContext, session: Session) -> list[Draft]:
    """Return the state of the room after an event; nothing is said of it before anything happens."""
    if not isinstance(session.lifecycle, Lifecycle):
        subagent, usage_ends = context.metadata.key.subagent, context.answers.usage_is_last
        session.lifecycle = Lifecycle(subagent, session.lifecycle, usage_ends=usage_ends)
    is_new = bool(session.lifecycle.take(context.event))
    is_working = session.lifecycle.state in AT_WORK
    if not is_new or not (session.status or is_working):
        return []
    return active(context, session, "running" if is_working else "idle")


def active(context: EventContext, session: Session, status: str) -> list[Draft]:
    """Return the state of the room, if it or the model changes; that of a sub-agent would replace its parent's."""
    now = f"{status} {session.settings.model}"
    if session.status == now or not context.is_own or context.metadata.key.subagent:
        return []
    session.status = now
    known = {"started_at": session.started, "model": session.settings.model}
    content = ids_of(context) | {name: value for name, value in known.items() if value} | {"status": status}
    return [Draft("session.active", content, part=status, derived=True)]


# -- prompts and answers -------------------------------------------------------------------------------


def prompted(context: EventContext, session: Session, turns: Turns) -> list[Draft]:
    """Return a prompt with what is attached to it; commands of the client are none."""
    subtype = context.text("subtype")
    if not context.is_own or subtype in _UNSAID:
        return []
    if subtype in NO_PROMPTS:
        turns.prompt = turns.prompt_id = turns.response = turns.text = ""
        return _mcp_prompt(context)
    _turn(context, turns)
    files = [row for row in context.payload.get("attachments", ()) if isinstance(row, dict)]
    content = context.ids(turns) | ({"turn": turns.number} if session.whole else {})
    content |= {"role": "user", "text": context.text("text")} | _listed(files) | _kind(subtype)
    reply = turns.prompt = transaction_of(context.event)
    attached = [_attached(context, turns, reply, n, row) for n, row in enumerate(files)]
    return [Draft("prompt", content, at=("text",)), *attached]


def _turn(context: EventContext, turns: Turns) -> None:
    event = context.event
    turn = event.turn if event.turn != turns.prompt_id else ""  # what was typed in one turn are several prompts
    turns.number += 1
    turns.prompt_id = turn or event.source.get("providerEventId") or event.id
    turns.response = turns.message = turns.text = ""
    turns.blocked = False


def responded(context: EventContext, session: Session, turns: Turns) -> Draft:
    """Return a text of the model, which answers the prompt."""
    if not context.is_own:
        return Draft("response", context.ids() | _spoken(context), at=("text",))
    turns.response, turns.message = transaction_of(context.event), context.event.source.get("messageId", "")
    turns.text = context.text("text") if len(context.text("text")) <= _LONGEST_KEPT else ""
    number = {"turn": turns.number} if session.whole and turns.number else {}
    return Draft("response", context.ids(turns) | _spoken(context) | number, reply=turns.prompt, at=("text",))


def _spoken(context: EventContext) -> Content:
    stop, phase = context.text("stopReason"), context.text("phase")
    content: Content = {"text": context.text("text")} | ({"katod_phase": phase} if phase else {})
    return content | ({"stop_reason" if stop in _STOPS else "katod_stop_reason": stop} if stop else {})


def _kind(subtype: str) -> Content:
    return {"katod_subtype": subtype} if subtype else {}


def _mcp_prompt(context: EventContext) -> list[Draft]:
    name, _, given = context.text("text").partition(" ")
    words = name.removeprefix("/").split("__")
    if words[0] != "mcp" or len(words) < 3:
        return []
    content = context.ids() | {"mcp_server": words[1], "prompt_name": "__".join(words[2:])}
    return [Draft("mcp.prompt.used", content | ({"arguments": {"text": given}} if given else {}))]


def _listed(files: list[Content]) -> Content:
    """Return what the prompt says of its attachments."""
    lists: dict[str, list[Content]] = {}
    for row in files[:64]:
        name = {"image": "images", "document": "documents"}.get(row.get("type", ""), "attachments")
        lists.setdefault(name, []).append(described(row))
    return lists


def described(row: Content) -> Content:
    """Return type, size, hash and name of an attachment."""
    names = (("media_type", "mediaType"), ("filename", "name"), ("size_bytes", "bytes"), ("sha256", "sha256"))
    return {name: row[key] for name, key in names if row.get(key) not in (None, "")}


def size(context: EventContext, row: Content) -> Content:
    """Return width and height of a picture that the event carries."""
    data = next((blob[2] for blob in context.event.blobs if blob[0] == row.get("sha256")), "")
    found = size_of(decoded(head_of(data))) if data and row.get("type") == "image" else None
    return {"width": found[0], "height": found[1]} if found else {}


def _attached(context: EventContext, turns: Turns, reply: str, number: int, row: Content) -> Draft:
    name = "input.image" if row.get("type") == "image" else "input.document"
    content = context.ids(turns) | described(row) | size(context, row)
    return Draft(name, content, f"attachment.{number}", reply, pictures=pictures(context, row, ("sha256",)))


def pictures(context: EventContext, row: Content, at: Path) -> tuple[Picture, ...]:
    """Return the data of an attachment if the event carries it and it is to be saved."""
    if context.options.attachments != "save":
        return ()
    found = [blob for blob in context.event.blobs if blob[0] == row.get("sha256")][:1]
    return tuple(_picture(at, *blob) for blob in found)


def _picture(at: Path, digest: str, media: str, data: str) -> Picture:
    """Return the data that the hash is of: what an agent wrote need not be valid base64."""
    content = decoded(data)
    return Picture(at, digest, clean(media), b64encode(content).decode(), len(content))


def interrupted(context: EventContext, turns: Turns) -> list[Draft]:
    """Return that a turn was aborted, with the last text of it."""
    partial = {"partial_text": turns.text} if turns.text else {}
    content = context.ids(turns) | partial | timestamp_of(context.event)
    return [Draft("response.interrupted", content, reply=turns.response or turns.prompt, at=("partial_text",))]


def exported(session: Session) -> ProtocolEvent:
    """Return that katod exported the session; who asked for it, when and where to is not said in the file itself."""
    relates = {"rel_type": "m.thread", "event_id": REFERENCE + session.root}
    content = {"session_id": session.id, "format": "matrix", "katod_source": {"event": session.last}}
    txn = transaction(f"{session.last}#session.exported")
    return ProtocolEvent(txn, "session.exported", cleaned(content) | {"m.relates_to": relates})


def ended(context: EventContext, session: Session, turns: Turns, sums: Sums) -> list[Draft]:
    """Return the end of the session, which the agent recorded."""
    time = timestamp_of(context.event).get("timestamp")
    content = context.ids() | ({"reason": context.text("reason")} if context.text("reason") else {})
    if time and session.started and time >= session.started:
        content["duration_ms"] = time - session.started
    if session.whole:
        content |= sums.totals() | {"turns": turns.number}
    return [Draft("session.end", content)]

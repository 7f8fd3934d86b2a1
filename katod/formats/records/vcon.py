"""vCon: a conversation container of the IETF, with the verifiable agent record in it, byte for byte.

Members are those of draft-ietf-vcon-vcon-core-04, as the JSON Schema of its working group has them; parties, trace and
file changes are as in draft-howe-vcon-agent-session-00.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple
from uuid import UUID

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.models import provider_of
from katod.agents.spec import SPAWNED
from katod.events import Event
from katod.formats.protocol import Spool
from katod.formats.records.agentrecord import UNKNOWN, AgentRecord
from katod.formats.records.changes import changed_files, relative
from katod.formats.rows import Fields, Items, compact, recorded_time, row_of, timestamp
from katod.metadata import title_of
from katod.model import Options

# The schema of the record in `analysis`.
_SCHEMA: Final = "https://datatracker.ietf.org/doc/draft-birkholz-verifiable-agent-conversations/00/"
_UNDATED: Final = "1970-01-01T00:00:00Z"  # `start` may not be absent
# What is said in the dialog, and which field has the words.
_SPOKEN: Final = {
    ev.USER_MESSAGE: "text", ev.USER_COMMAND: "line", ev.DECISION_RESPONSE: "freeText", ev.ASSISTANT_MESSAGE: "text",
    ev.DECISION_PROMPT: "prompt",
}  # fmt: skip
_UNSAID: Final = ev.BETWEEN - {ev.Between.TASK}  # by who prompts; a task comes from the agent that prompts a sub-agent
_PERSON: Final = 0
_AGENT: Final = 1
_MOST_PARTIES: Final = 100
_MOST_RANGES: Final = 20  # of one change that are listed
_MOST_CALLS: Final = 256


class _Party(NamedTuple):
    """An agent or a sub-agent, and the first model that spoke for it."""

    number: int
    model: str


class Vcon:
    """Makes a vCon of one session: its words as dialog, the record as analysis, file changes as attachments."""

    def __init__(self, options: Options, spool: Callable[[], Spool]) -> None:
        self._options = options
        self._record = AgentRecord(options, spool)
        self._dialog = Items(spool())
        self._changes = Items(spool())
        self._parties: dict[str, _Party] = {}  # by sub-agent; the agent itself has no name
        self._calls: dict[
            str, int
        ] = {}  # the turn of each call without a result; of too many, the oldest are forgotten
        self._subject = ""
        self._time = ""

    def take(self, event: Event) -> None:
        """Take up the next event."""
        row, line = row_of(event, redact=self._options.redact)
        self._record.take_row(event, row, line)
        self._time = timestamp(event.time) or self._time
        speaker = self._party(event)
        if row["kind"] in _SPOKEN and row["payload"].get("subtype") not in _UNSAID:
            self._say(row, speaker)
        elif row["kind"] == ev.TOOL_CALL:
            self._calls[row["payload"]["toolCallId"]] = self._turn
            if len(self._calls) > _MOST_CALLS:
                del self._calls[next(iter(self._calls))]
        elif row["kind"] == ev.TOOL_RESULT:
            self._attach(row, speaker)

    @property
    def _turn(self) -> int:
        """The last turn of the dialog; what comes before anything is said belongs to the first one."""
        return max(self._dialog.count - 1, 0)

    def _attach(self, row: Fields, speaker: int) -> None:
        """Add the changes of files that a result says, to the turn that made the call."""
        turn = self._calls.pop(row["payload"]["toolCallId"], self._turn)
        about = {"purpose": "agent_file_change", "party": speaker, "dialog": turn} | self._start(row)
        for change in _changes(row["payload"], self._record.about.start.get("cwd", "")):
            body = {"mediatype": "application/json", "encoding": "json", "body": compact(change)}
            self._changes.add(compact(about | body))

    def _party(self, event: Event) -> int:
        """Return the number of who acts: all sub-agents above the limit are the last one."""
        subagent = event.session.subagent
        if subagent not in self._parties and len(self._parties) < _MOST_PARTIES:
            self._parties[subagent] = _Party(_AGENT + len(self._parties), "")
        party = self._parties.get(subagent) or self._parties[next(reversed(self._parties))]
        if event.model and not party.model and subagent in self._parties:
            self._parties[subagent] = party = party._replace(model=event.model)
        return party.number

    def _say(self, row: Fields, speaker: int) -> None:
        kind, text = row["kind"], _words(row)
        if kind.startswith("user."):
            if kind == ev.USER_MESSAGE:
                self._subject = self._subject or title_of(text)
            listener, speaker = speaker, _PERSON if speaker == _AGENT else _AGENT
        else:
            listener = _PERSON if speaker == _AGENT else _AGENT
        turn = {"parties": [speaker, listener], "originator": speaker, "mediatype": "text/plain", "encoding": "none"}
        self._dialog.add(compact({"type": "text", "body": text} | turn | self._start(row)))

    def _start(self, row: Fields) -> Fields:
        """Return when something was said: `start` is required, so where an agent records no time, that is said."""
        if recorded := recorded_time(row):
            return {"start": recorded}
        return {"start": self._time or _UNDATED, "meta": {"time_source": "derived" if self._time else "none"}}

    def pieces(self) -> Iterator[str]:
        """Yield the vCon."""
        about = self._record.about
        assert about.last is not None
        head = {
            "uuid": _uuid8(about.last.id), "created_at": self._time or _UNDATED, "extensions": ["agent_session"],
            "subject": self._subject, "parties": self._all_parties(),
        }  # fmt: skip
        yield compact(head).removesuffix("}")
        yield ',"dialog":['
        yield from self._dialog.pieces()
        yield '],"analysis":['
        yield from self._analysis()
        yield '],"attachments":['
        yield from self._changes.pieces() if self._dialog.count else ()  # each belongs to a turn, and here is none
        yield "]}"

    def _analysis(self) -> Iterator[str]:
        """Yield the only analysis: the record as a string, of the model that the agent's party names."""
        model = self._about_agent(*next(iter(self._parties.items())))
        head = {
            "type": "agent_trace", "dialog": list(range(self._dialog.count)), "vendor": model["provider"],
            "product": model["model_id"], "schema": _SCHEMA, "encoding": "json", "mediatype": "application/json",
            "body": "",
        }  # fmt: skip
        yield compact(head).removesuffix('"}')
        for piece in self._record.pieces():
            yield compact(piece)[1:-1]
        yield '"}'

    def _all_parties(self) -> list[Fields]:
        """Return the parties: who prompts, the agent, and its sub-agents."""
        about = self._record.about
        assert about.first is not None
        ref = about.first.session
        name = AGENTS[ref.agent].product
        bot = {"role": "agent", "type": "bot", "name": name, "validation": "system"}
        is_started = ref.subagent or about.start.get("origin") == SPAWNED
        prompting: Fields = {"role": "agent", "type": "bot", "name": name} if is_started else {"type": "person"}
        return [
            prompting,
            *(bot | {"meta": {"agent_session": self._about_agent(*one)}} for one in self._parties.items()),
        ]

    def _about_agent(self, subagent: str, party: _Party) -> Fields:
        about = self._record.about
        start, provider = about.start, provider_of(party.model)
        if party.number == _AGENT:
            provider = about.provider
        names = (("cwd", "cwd"), ("vcs_branch", "branch"), ("vcs_commit", "commit"))
        where = {name: start[key] for name, key in names if start.get(key)}
        parent = about.first.session.id if subagent and about.first else ""
        return (
            {"model_id": party.model or UNKNOWN, "provider": provider or UNKNOWN}
            | {"recording_agent": self._options.recorder or "katod"}
            | ({"environment": where} if where else {})
            | ({"parent_agent_id": parent, "agent_id": subagent} if parent else {})
        )


def _words(row: Fields) -> str:
    """Return what is said; an answer to a question may be chosen, typed, or both."""
    payload = row["payload"]
    words = [*payload.get("selections", ()), payload.get(_SPOKEN[row["kind"]])]
    return ", ".join(word for word in words if isinstance(word, str) and word)


def _changes(payload: Fields, cwd: str) -> Iterable[Fields]:
    """Yield what a tool changed: one for each range of lines, or one for a file if they are not known, or are many."""
    for file in changed_files(payload):
        ranges = file.ranges if 0 < len(file.ranges) <= _MOST_RANGES else [None]
        change = {"path": relative(file.path, cwd), "contributor": "agent", "operation": file.change}
        change |= {"content_hash": _hash(file.after)} if file.after else {}
        yield from (change | ({"line_range": lines} if lines else {}) for lines in ranges)


def _hash(digest: str) -> str:
    """Return a SHA-256 in the form of vCon: the algorithm, and base64 for URLs."""
    return f"sha256-{urlsafe_b64encode(bytes.fromhex(digest)).decode().rstrip('=')}"


def _uuid8(name: str) -> str:
    """Return the UUID of version 8 that a name determines."""
    digest = bytearray(sha256(f"katod:vcon:{name}".encode("utf-8", "replace")).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return str(UUID(bytes=bytes(digest)))

"""The verifiable agent record of draft-birkholz-verifiable-agent-conversations-00, which a signature can be made of.

The document is the canonical form of its JSON as that draft's own tool makes it: keys sorted by code point, no spaces,
nothing escaped that need not be, no newline in the end. So what is signed are the bytes of the file.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.answers import Parts
from katod.agents.models import provider_of
from katod.events import Event
from katod.formats.protocol import Spool
from katod.formats.records.attribution import Attribution
from katod.formats.records.entryids import EntryIds
from katod.formats.records.recordentries import EXTRA, entry_of, token_usage
from katod.formats.rows import Fields, Items, recorded_time, row_of
from katod.model import Options
from katod.text import slug

VERSION: Final = "3.0.0-draft"
UNKNOWN: Final = "unknown"  # the draft's word for a model or a provider that nobody names
_OF_MODEL: Final = ("assistant", "reasoning", "tool-call")  # types of entries that a model makes
_MOST_HELD: Final = 256  # entries after an answer, until its usage is known
_LARGEST_HELD: Final = 4_000_000  # bytes of their events
_MOST_MODELS: Final = 100
_MOST_SPEAKERS: Final = 1000  # sub-agents whose model is remembered
_ENDS_ANSWERS: Final = (ev.TURN_START, ev.TURN_END, ev.ERROR)


class AgentRecord:
    """Makes the record of one session: an entry for each event, in their order."""

    def __init__(self, options: Options, spool: Callable[[], Spool]) -> None:
        self._options = options
        self._entries = Items(spool())
        self._answer = _Answer(lambda entry: self._entries.add(canonical(entry)))
        self._names = EntryIds()
        self.about = RecordHead()

    def take(self, event: Event) -> None:
        """Take up the next event."""
        self.take_row(event, *row_of(event, redact=self._options.redact))

    def take_row(self, event: Event, row: Fields, line: bytes) -> None:
        """Take up the next event, given its JSON form, which may be redacted, as a value and as a line."""
        self.about.take(event, row)
        entry = self._named(row, event)
        if row["kind"] == ev.USAGE and row["payload"].get("scope") == "message":
            self._names.join(entry["id"], self._answer.use(entry, row))
        else:
            self._names.join(self._answer.add(entry, row, len(line)), entry["id"])

    def _named(self, row: Fields, event: Event) -> Fields:
        """Return the entry of an event, with its id and that of its parent."""
        entry = entry_of(row)
        entry["id"], parent = self._names.of(event)
        if entry["type"] in _OF_MODEL and event.model:
            entry["model-id"] = event.model
        return entry | ({"parent-id": parent} if parent else {})

    def pieces(self) -> Iterator[str]:
        """Yield the record."""
        self._answer.settle()
        head, _, tail = canonical(self.about.record(self._options)).partition('"entries":[]')
        yield f'{head}"entries":['
        yield from self._entries.pieces()
        yield f"]{tail}"


def canonical(value: Any) -> str:
    """Return JSON in the form that is signed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class _Answer:
    """Holds the last answer and what follows it, until its usage is known: that comes later in most agents' files."""

    def __init__(self, write: Callable[[Fields], None]) -> None:
        self._write = write
        self._held: list[Fields] = []
        self._size = 0
        self._whose = ("", "")

    def add(self, entry: Fields, row: Fields, size: int) -> str:
        """Write an entry, or hold it; `size` is that of its event. Return the entry in whose place it is."""
        if entry["type"] == "assistant" and self._waits_for_words(row):
            return self._speak(entry)
        if entry["type"] in ("user", "assistant") or row["kind"] in _ENDS_ANSWERS or self._is_full:
            self.settle()
        if entry["type"] == "assistant":
            self._whose = _whose(row)
        if self._held or entry["type"] == "assistant":
            self._held.append(entry)
            self._size += size
        else:
            self._write(entry)
        return str(entry["id"])

    def _speak(self, entry: Fields) -> str:
        """Put the words of an answer in place of the entry that has only its usage."""
        bare = self._held[0]
        entry[EXTRA]["usage"] = bare[EXTRA]["event"]
        if entry.get("parent-id") == bare["id"]:
            entry |= {"parent-id": bare.get("parent-id")}
        whole = entry | {"token-usage": bare["token-usage"]}
        self._held[0] = {name: value for name, value in whole.items() if value is not None}
        return str(bare["id"])

    @property
    def _is_full(self) -> bool:
        return len(self._held) >= _MOST_HELD or self._size >= _LARGEST_HELD

    def use(self, entry: Fields, row: Fields) -> str:
        """Add usage to the answer that it is of; an answer without words is an entry without content.

        Return the id of the entry that has it.
        """
        if not self._held or "token-usage" in self._held[0] or not self._is_same(row):
            del entry["event-type"], entry["data"]
            self.settle()
            self._held = [entry | {"type": "assistant"} | _model(row)]
            self._whose = _whose(row)
        else:
            self._held[0][EXTRA]["usage"] = row["id"]
        self._held[0]["token-usage"] = token_usage(row["payload"])
        return str(self._held[0]["id"])

    def _is_same(self, row: Fields) -> bool:
        """Return whether an event is of the answer that is held: of the same message, where messages have names."""
        return _whose(row) == self._whose

    def _waits_for_words(self, row: Fields) -> bool:
        """Return whether only the usage of an answer is held, and this event is of the same answer."""
        is_bare = len(self._held) == 1 and "content" not in self._held[0]
        return is_bare and bool(self._whose[1]) and self._is_same(row)

    def settle(self) -> None:
        """Write what is held."""
        for entry in self._held:
            self._write(entry)
        self._held, self._size = [], 0


def _whose(row: Fields) -> tuple[str, str]:
    """Return who answers, and in which message, where messages have names."""
    is_named = AGENTS[row["session"]["agent"]].answers.parts is Parts.NAMED
    return row["session"].get("subagent", ""), row["source"].get("messageId", "") if is_named else ""


def _model(row: Fields) -> Fields:
    return {"model-id": row["model"]} if "model" in row else {}


class RecordHead:
    """What a record says of the session as a whole."""

    def __init__(self) -> None:
        self.start: Fields = {}
        self._models: dict[str, None] = {}
        self._speaking: dict[str, str] = {}  # the model of each sub-agent, and of the session itself
        self.first: Event | None = None
        self.last: Event | None = None
        self.count = 0
        self.times: list[str] = ["", ""]
        self.files = Attribution()

    def take(self, event: Event, row: Fields) -> None:
        """Take up one event; its payload is that of the row, which may be redacted."""
        self.first = self.first or event
        self.last = event
        self.count += 1
        if event.model:
            self._note_model(event.session.subagent, event.model)
        if event.kind == ev.SESSION_START and event.session.subagent == self.first.session.subagent:
            self.start = row["payload"] | self.start
        elif event.kind == ev.CONFIG_CHANGE:
            self._note_setting(event, row["payload"])
        elif event.kind == ev.TOOL_CALL and event.payload.get("input") == row["payload"].get("input"):
            self.files.call(event.payload)  # a hash of lines with a secret would tell whether a guess of it is right
        elif event.kind == ev.TOOL_RESULT:
            self.files.take(row["payload"], self._speaking.get(event.session.subagent, ""))
        self._note_time(row)

    def _note_model(self, speaker: str, model: str) -> None:
        if len(self._models) < _MOST_MODELS:
            self._models[model] = None
        if speaker in self._speaking or len(self._speaking) < _MOST_SPEAKERS:
            self._speaking[speaker] = model

    def _note_setting(self, event: Event, payload: Fields) -> None:
        """Note a setting of the session that was not known when it began, under the name that it has there."""
        is_late = "before" not in payload and "what" in payload
        if is_late and event.session.subagent == self.first.session.subagent:  # type: ignore[union-attr]
            self.start.setdefault(payload["what"], payload.get("after"))

    def _note_time(self, row: Fields) -> None:
        time = recorded_time(row)
        self.times[0] = self.times[0] or time
        self.times[1] = time if row["kind"] == ev.SESSION_END else ""  # it goes on if anything follows

    @property
    def models(self) -> list[str]:
        """The models that answered, each once, in their order."""
        return [*self._models]

    @property
    def provider(self) -> str:
        """Who provides the first model: as the agent says, else by the model's name."""
        return self.start.get("modelProvider", "") or provider_of(self.models[0] if self.models else "")

    def record(self, options: Options) -> Fields:
        """Return the record without entries."""
        assert self.first is not None
        assert self.last is not None
        ref = self.first.session
        vcs, recorder = self._vcs(), options.recorder.partition(" ")
        record: Fields = {
            "version": VERSION, "id": str(uuid5(NAMESPACE_URL, f"katod:{self.last.id}")), "session": self._session(vcs),
            "recording-agent": {"name": "katod"} | ({"version": recorder[2]} if recorder[2] else {}),
        }  # fmt: skip
        extra = {name: value for name, value in ref._asdict().items() if value and name != "id"}
        extra |= {"session": ref.id, "events": self.count, "last": self.last.id, "redacted": options.redact}
        optional = {"vcs": vcs, "file-attribution": self.files.record(self.start.get("cwd", ""))}
        return record | {name: value for name, value in optional.items() if value} | {EXTRA: extra}

    def _session(self, vcs: Fields) -> Fields:
        ref = self.first.session  # type: ignore[union-attr]
        where = {"working-dir": self.start["cwd"]} | ({"vcs": vcs} if vcs else {}) if self.start.get("cwd") else {}
        session = {
            "session-start": self.times[0], "session-end": self.times[1], "environment": where,
            "format": "autonomous" if ref.subagent else "",
        }  # fmt: skip
        known: Fields = {name: value for name, value in session.items() if value}
        own = ref.subagent or self.start.get("id") or ref.id
        return known | {"session-id": own, "agent-meta": self._agent(), "entries": []}

    def _agent(self) -> Fields:
        agent = AGENTS[self.first.session.agent]  # type: ignore[union-attr]
        meta: Fields = {
            "model-id": self.models[0] if self.models else UNKNOWN, "model-provider": self.provider or UNKNOWN,
            "cli-name": agent.program or slug(agent.product),
        }  # fmt: skip
        optional = {
            "cli-version": self.start.get("cliVersion"),
            "models": self.models if len(self.models) > 1 else None,
        }
        return meta | {name: value for name, value in optional.items() if value}

    def _vcs(self) -> Fields:
        names = (("revision", "commit"), ("branch", "branch"), ("repository", "repository"))
        known = {name: self.start[key] for name, key in names if self.start.get(key)}
        return {"type": "git"} | known if known else {}

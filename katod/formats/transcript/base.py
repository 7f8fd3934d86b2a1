"""From events to the content of a transcript: the same for every form in which people read it.

Append-only: what an event gives depends on what came before it alone, and `state()` is all that has to be remembered.
"""

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.toolcalls import words_of_refusal
from katod.agents.tooltable import ToolEntry as KnownTool
from katod.agents.tooltable import is_silent, tool
from katod.events import Event
from katod.formats.redact.redactor import redact
from katod.formats.text.ownlines import MARKS
from katod.formats.text.when import When
from katod.formats.transcript import pictures, todos
from katod.formats.transcript.between import folded
from katod.formats.transcript.calls import Call, OpenCallTable, WaitingCalls, edit_size, shown_name
from katod.formats.transcript.content import (
    AgentHeading,
    AskedQuestion,
    Attachment,
    ChosenAnswer,
    Code,
    Fold,
    Footer,
    Head,
    Inline,
    Line,
    Link,
    MarkLine,
    Note,
    Outcome,
    PassedTime,
    Person,
    Piece,
    Prose,
    Quoted,
    Thinking,
    ToolLine,
)  # fmt: skip
from katod.formats.transcript.results import (
    commits,
    committed,
    compacted,
    count_lines,
    is_commit,
    notes_about,
    outcome,
    output_of,
    shortened,
    took,
)  # fmt: skip
from katod.formats.transcript.toolview import View, command_of
from katod.formats.transcript.turn import PAUSE, LastHeading, TurnTally, short_model
from katod.formats.transcript.typed import typed_parts
from katod.metadata import SessionMetadata, cut_at_word, heading_of
from katod.model import Mark, Options
from katod.paths import name_of
from katod.text import slug

TITLE: Final = 80
_WORDS: Final = 60  # characters of a message in its heading
YOU: Final = "You"
_CHANGES: Final = {"model": "Model", "title": "Title"}
_CLEARING: Final = frozenset({"/clear", "/new", "/reset"})
_ACCEPTED: Final = "Plan accepted"
_CLEARED: Final = "Conversation cleared: a new session begins"
# What never comes between a question and its answer.
_AFTER_ANSWERS: Final = frozenset({ev.USER_MESSAGE, ev.ASSISTANT_MESSAGE, ev.TURN_END, ev.ERROR, ev.COMPACTION})
_OF_RANGES: Final = frozenset(
    {"started", "stopped", "paused", "resumed", "excluded", "refused", "unfinished", "rescued"}
)
_ENDS: Final = frozenset({"stopped", "paused", "excluded"})
_SHORT: Final = 200  # characters
_LONGEST_START: Final = 4000  # characters, from which the words for a heading are taken
Pieces = list[Piece]


class Transcript:
    """Turns the events of a recording into content, with its state between them."""

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._base = options
        self._options = options.with_switches(dict(state.get("switches", ())))
        self._when = When(options.time_zone)
        self._place = LastHeading(*state.get("place", ()))
        self._turn = TurnTally(state.get("turn"))
        self._waiting = WaitingCalls.of(state)
        self._known = OpenCallTable(state.get("known"))
        self._asked: dict[str, Any] = state.get("asked", {})  # open questions by id; the list of things to do

    def state(self) -> dict[str, Any]:
        """Return the state to resume from, as JSON."""
        switches: list[list[Any]] = []
        if self._options.thinking != self._base.thinking:
            switches.append(["thinking", self._options.thinking])
        if self._options.tools != self._base.tools:
            switches.append(["tools", self._options.tools == "full"])
        row = {
            "place": self._place.state(), "turn": self._turn.state(), "known": self._known.state(),
            "asked": self._asked, "switches": switches, **self._waiting.state(),
        }  # fmt: skip
        return {name: value for name, value in row.items() if value}

    # -- what is not an event -------------------------------------------------------------------------

    def head(self, metadata: SessionMetadata, time: str) -> Head:
        """Return the head of the transcript."""
        self._place.begin(self._when.day(time))
        agent, key, start = AGENTS[metadata.key.agent], metadata.key, metadata.start
        words = " ".join(self._redact(metadata.best_title).split())
        project = self._redact(name_of(metadata.cwd))
        stamp = self._when.stamp(time, "")
        return Head(
            cut_at_word(words, TITLE) or f"{project} {stamp}".strip() or f"Conversation with {agent.label}",
            slug(agent.product), self._redact(f"{agent.product} {start.version}".strip()), self._redact(metadata.model),
            project, self._redact(start.branch), agent.whole_id(key.id, start.session), key.subagent, start.parent,
            self._when.day(time), f"{stamp} ({self._base.time_zone})" if stamp else "",
            metadata.names.labels, metadata.names.starred,
        )  # fmt: skip

    def mark(self, mark: Mark) -> Pieces:
        """Return a mark. A range's switches apply from its first mark on."""
        # Other marks are printed live only, and change nothing else.
        pieces = self.pause() if mark.kind in _OF_RANGES else []
        if mark.kind in ("started", "resumed"):
            self._options = self._base.with_switches(dict(mark.switches))
            self._turn = self._turn.following() if mark.kind == "resumed" else TurnTally()
        stamp = self._when.stamp(mark.time, self._place.day) if mark.time else ""
        self._place.interrupt()
        used = self._turn.used if mark.kind in _ENDS else ""
        return [*pieces, MarkLine(MARKS[mark.kind], stamp, mark.text or (used and f"· {used}"))]

    def pause(self) -> Pieces:
        """Return the pending text and the end of the turn: nothing follows for now."""
        pieces: Pieces = [*self._waiting.flush(), *self._late()]
        turn, self._turn = self._turn, self._turn.following()
        if footer := turn.footer():
            pieces.append(Footer(footer, turn.files))
        if pieces:
            self._place.at_line()
        return pieces

    def event(self, event: Event, metadata: SessionMetadata) -> Pieces:
        """Return the text of one event; events of a sub-agent are not part of its parent's transcript."""
        if event.session.subagent != metadata.key.subagent:
            return []
        handler = self._HANDLERS.get(event.kind)
        late = self._late() if event.kind in _AFTER_ANSWERS else []
        return [*late, *handler(self, event, metadata)] if handler is not None else late

    def open_todos(self) -> list[str]:
        """Return the open items of the agent's latest list."""
        return [self._redact(text) for text, done in self._asked.get("todos", ()) if not done]

    # -- the user -----------------------------------------------------------------------------------

    def _user(self, event: Event, metadata: SessionMetadata) -> Pieces:
        payload, subtype = event.payload, event.payload.get("subtype")
        if not ev.is_printed(event):
            return []
        if ev.is_between(event):
            return self._between(event, metadata)
        text = payload["text"].strip("\n").rstrip()
        if subtype == "slash-command" and text in _CLEARING:
            return [*self.pause(), *self._note(_CLEARED)]
        heading = heading_of(self._redact(text[:_LONGEST_START]), _WORDS)
        said = typed_parts(text, payload.get("pasted", ()), heading, self._redact)
        attached = self._attachments(event, metadata)
        if not (said or attached or heading):
            return []
        person = Person(YOU, self._stamp(event), heading, bool(heading) and not said)
        pieces = [*self.pause(), person, *said, *attached]
        self._at(event, YOU, self._place.model)
        self._place.at_line()
        return pieces

    def _answer(self, event: Event, _: SessionMetadata) -> Pieces:
        payload, questions = event.payload, self._asked.get("questions", {})
        key = questions.get(payload["decisionId"], "") if len(questions) > 1 else ""
        chosen = ", ".join(self._redact(choice) for choice in payload["selections"])
        said = self._redact(payload.get("freeText", ""))
        return [*self._flushed(), ChosenAnswer(key, " · ".join(part for part in (chosen, said) if part))]

    def _between(self, event: Event, metadata: SessionMetadata) -> Pieces:
        """Return words between agents, collapsed. Whoever speaks next is named again."""
        blocks = folded(event, self._redact, lambda text: shortened(text, self._options.max_result))
        said: Pieces = [*blocks, *self._attachments(event, metadata)]
        if not said:
            return []
        before = self.pause() if event.kind == ev.USER_MESSAGE else self._flushed()
        self._turn.pass_time(self._when.seconds(event.time if event.kind == ev.USER_MESSAGE else ""))
        self._place.interrupt()
        return [*before, *said]

    # -- the agent ------------------------------------------------------------------------------------

    def _assistant(self, event: Event, metadata: SessionMetadata) -> Pieces:
        prose = Prose(self._redact(event.payload["text"]))
        if event.payload.get("phase") == "plan":
            return self._in_turn(event, metadata, Note(_ACCEPTED), prose)
        return self._in_turn(event, metadata, prose)

    def _thinking(self, event: Event, metadata: SessionMetadata) -> Pieces:
        text = event.payload["text"]
        if not self._options.thinking or not text:
            return []
        return self._in_turn(event, metadata, Thinking(self._redact(text)))

    def _prompt(self, event: Event, metadata: SessionMetadata) -> Pieces:
        payload = event.payload
        questions: dict[str, str] = self._asked.get("questions", {})
        call = payload["decisionId"].rpartition(":")[0]
        if next(iter(questions), "").rpartition(":")[0] != call:  # all open questions belong to one call
            questions = {}
        key = questions[payload["decisionId"]] = self._redact(payload["decisionKey"])
        self._asked |= {"questions": questions, "open": True}
        options = tuple(
            (self._redact(option["label"]), self._redact(option.get("description", "")))
            for option in payload["options"]
        )
        return self._in_turn(event, metadata, AskedQuestion(key, self._redact(payload["prompt"]), options))

    # -- tools ----------------------------------------------------------------------------------------

    def _call(self, event: Event, metadata: SessionMetadata) -> Pieces:
        payload = event.payload
        call, known, server = payload["toolCallId"], tool(payload["name"]), payload.get("server", "")
        name = self._redact(shown_name(payload["name"], server))
        if is_silent(payload["name"], metadata.key.agent, server):
            return []
        view = View(self._redact, metadata.cwd)
        size = edit_size(payload)
        about = self._todo(payload) if known.items else view.about(payload, *size)
        self._turn.add("tools", int(bool(about) or known.family != "execute"))
        self._turn.pass_time(self._when.seconds(event.time))
        edits = view.edits(payload, *size)
        plain, may_commit = self._redact(shown_name(payload["name"])), is_commit(command_of(payload.get("input")))
        self._known.add(call, Call(plain, about, may_commit, edits, self._redact(server)))
        if self._options.tools == "none" or self._says_nothing(known, about):
            return []
        if self._options.tools == "full":
            body = view.body(payload)
            heading = self._heading(event, metadata)
            return [*heading, *self._waiting.held.add(call, name, about, body)]
        return self._tool_line(event, metadata, call, payload["name"], ToolLine(name, about), tells=bool(known.items))

    def _says_nothing(self, known: KnownTool, about: Line) -> bool:
        """Return whether a call has no line: a list in which nothing changed, a command that is only looked after."""
        return not about and (bool(known.items) or (known.family == "execute" and self._options.tools != "full"))

    def _todo(self, payload: dict[str, Any]) -> Line:
        """Return the changes of the to-do list."""
        rows = todos.items_of(payload.get("input"), tool(payload["name"]))
        now = [(self._redact(text), done) for text, done in rows]
        before = [(text, bool(done)) for text, done in self._asked["todos"]] if "todos" in self._asked else None
        self._asked["todos"] = [[text, done] for text, done in now]
        return todos.changes(before, now)

    def _result(self, event: Event, metadata: SessionMetadata) -> Pieces:
        payload = event.payload
        call = self._known.take(payload["toolCallId"]) or Call(metadata.called(payload["toolCallId"]))
        if is_silent(call.name, metadata.key.agent, call.server):
            return []
        made = self._count_result(event, call)
        if self._options.tools == "none" or (tool(call.name).items and not call.about):
            return []
        if self._options.tools == "full":
            return self._folded(event, metadata, call)
        ran = tool(call.name).family == "execute"
        tells = outcome(payload, self._redact, ran=ran) or committed(made, self._redact)
        came = tells or took(payload, tool(call.name).family)
        return self._came(event, metadata, call, came, tells=bool(tells)) if came else []

    def _count_result(self, event: Event, call: Call) -> list[tuple[str, str]]:
        """Count a result in its turn, and the edits of its call if it went well; return the commits that it tells."""
        payload = event.payload
        self._turn.pass_time(self._when.seconds(event.time))
        for edit in call.edits if ev.went_well(payload) else ():
            self._turn.edit(*edit)
        made = commits(output_of(payload["text"])) if call.commits else []
        self._turn.add("commits", len(made))
        return made

    def _came(self, event: Event, metadata: SessionMetadata, call: Call, came: Line, *, tells: bool) -> Pieces:
        """Return the outcome of a call: with its line if that waits or is the last one, else with its line again."""
        name = event.payload["toolCallId"]
        if self._place.line and self._place.line == name:
            return [Outcome(came)]
        if self._waiting.run.answer(name, came, tells=tells):
            return []
        line = ToolLine(self._redact(call.shown), call.about, came)
        return self._tool_line(event, metadata, "", call.name, line, tells=True)  # it was shown before

    def _tool_line(
        self, event: Event, metadata: SessionMetadata, call: str, name: str, line: ToolLine, *, tells: bool = False
    ) -> Pieces:
        """Return the line of a call, nothing if it waits for the end of its run."""
        headed = self._heading(event, metadata)
        printed = self._waiting.run.add(call, name, line, tells=tells)
        if headed or printed:
            self._place.at_line((call or "-") if printed == [line] else "-")
        return [*headed, *printed]

    def _folded(self, event: Event, metadata: SessionMetadata, call: Call) -> Pieces:
        """Return a call with its result, or a late result alone."""
        payload = event.payload
        text = payload["text"]
        shown = self._redact(words_of_refusal(text) if payload.get("denied") else output_of(text))
        notes = notes_about(payload, shown)
        result = Code(shortened(shown, self._options.max_result), "text") if shown.strip() else None
        if payload.get("status") == "launched":
            result = None
        printed = self._waiting.held.answer(payload["toolCallId"], notes, result)
        attached = self._attachments(event, metadata)
        if printed is None:
            about = (*call.about, Inline("text", "result"))
            fold = Fold(self._redact(call.shown), about, notes, (result,) if result else ())
            return self._in_turn(event, metadata, fold, *attached)
        return [*printed, *(self._waiting.held.flush() if attached else ()), *attached]

    # -- everything else --------------------------------------------------------------------------------

    def _system(self, event: Event, metadata: SessionMetadata) -> Pieces:
        subtype, text = event.payload.get("subtype"), event.payload["text"]
        if ev.is_between(event):
            return self._between(event, metadata)
        if subtype == "shell-output" and (shown := self._redact(output_of(text))).strip():
            output = Quoted(f"Output: {count_lines(shown)}", shortened(shown, self._options.max_result))
            return [*self._flushed(), output]
        if subtype == "rollback":  # what follows is printed alike if the agent's file has lost what was taken back
            ended = self.pause()
            self._place.forget_model()
            return [*ended, *self._note(text)]
        return self._note(text) if subtype in ev.NOTED else []

    def _turn_end(self, event: Event, _: SessionMetadata) -> Pieces:
        """Return the end of a turn; some agents record an end for each request to the model, without a duration."""
        self._turn.pass_time(self._when.seconds(event.time))
        if event.payload["reason"] == "aborted":
            return [*self._note("Interrupted"), *self.pause()]
        return self.pause() if "durationMs" in event.payload else []

    def _error(self, event: Event, _: SessionMetadata) -> Pieces:
        return [] if "retry" in event.payload else self._note(f"Error: {event.payload['message']}")

    def _compaction(self, event: Event, metadata: SessionMetadata) -> Pieces:
        return [*self._note(compacted(event.payload)), *self._between(event, metadata)]

    def _change(self, event: Event, _: SessionMetadata) -> Pieces:
        payload = event.payload
        what = _CHANGES.get(payload["what"])
        if what is None:
            return []
        before = f"{payload['before']} → " if payload.get("before") and what == "Model" else ""
        said = f"{what}: {before}{payload['after']}"
        if what == "Title" and "open" in self._asked:  # never between a question and its answer
            self._asked["late"] = self._redact(said)
            return []
        return self._note(said)

    def _late(self) -> Pieces:
        """Return the title that the session got while a question was open; whatever follows is no answer any more."""
        self._asked.pop("open", None)
        return [*self._flushed(), Note(self._asked.pop("late"))] if "late" in self._asked else []

    def _usage(self, event: Event, _: SessionMetadata) -> Pieces:
        if self._options.usage and event.payload.get("scope") != "session":
            tokens, cost = (event.payload.get(name) for name in ("input", "output")), event.payload.get("costUsd")
            whole = sum(number for number in tokens if isinstance(number, int))
            self._turn.use(whole, cost if isinstance(cost, int | float) else 0.0)
        return []

    def _agent_end(self, event: Event, metadata: SessionMetadata) -> Pieces:
        """Return the report of a sub-agent: one that came as a message always, others as configured."""
        options, some = self._options, self._options.tools != "none"
        is_told = "speaker" in event.payload or options.tools == "full" or (options.subagent_reports and some)
        pieces = self._between(event, metadata) if is_told else []
        folder = options.subagents_folder  # an export has none: there is no transcript that it could name
        if some and folder and options.subagents and AGENTS[metadata.key.agent].separate_subagents:
            name = slug(event.payload["subagent"].removeprefix("agent-"), 100)
            pieces += self._waiting.flush()
            pieces.append(Link("sub-agent", "transcript", f"{folder}/agent-{name}.md"))
        return pieces

    # -- shared helpers ---------------------------------------------------------------------------------

    def _redact(self, text: str) -> str:
        if not self._base.redact:
            return text
        return _redacted(text) if len(text) <= _SHORT else redact(text)

    def _in_turn(self, event: Event, metadata: SessionMetadata, *pieces: Piece, line: str = "") -> Pieces:
        """Return content of the agent's turn, with a heading or a time before it where one is due."""
        flushed = self._flushed()
        headed = self._heading(event, metadata)
        self._place.at_line(line)
        return [*flushed, *headed, *pieces]

    def _heading(self, event: Event, metadata: SessionMetadata) -> Pieces:
        place, speaker = self._place, AGENTS[metadata.key.agent].label
        model = short_model(event.model) if event.model else place.model
        changed = place.model and model != place.model  # one that was not known yet is named in the next heading
        if speaker != place.speaker or changed or self._day(event) != place.day:
            agent = AgentHeading(speaker, model if model != place.model else "", self._stamp(event))
            self._at(event, speaker, model)
            return [*self._waiting.flush(), agent]
        seconds = self._when.seconds(event.time)
        self._turn.pass_time(seconds)
        before = place.pass_time(seconds)
        if not before or seconds - before <= PAUSE:
            return []
        return [*self._waiting.flush(), PassedTime(self._when.stamp(event.time, place.day))]

    def _at(self, event: Event, speaker: str, model: str) -> None:
        """Note that a heading stands here."""
        seconds = self._when.seconds(event.time)
        self._turn.pass_time(seconds)
        self._place.speak(speaker, model, self._day(event), seconds)

    def _day(self, event: Event) -> str:
        return self._when.day(event.time) if event.time else self._place.day

    def _stamp(self, event: Event) -> str:
        return self._when.stamp(event.time, self._place.day) if event.time else ""

    def _note(self, text: str) -> Pieces:
        return [*self._flushed(), Note(self._redact(text))]

    def _flushed(self) -> Pieces:
        self._place.at_line()
        return self._waiting.flush()

    def _attachments(self, event: Event, metadata: SessionMetadata) -> Pieces:
        rows, typed = event.payload.get("attachments", ()), event.kind == ev.USER_MESSAGE
        there = {digest for digest, _, _ in event.blobs} if typed else set()
        return [self._attachment(row, View(self._redact, metadata.cwd), there) for row in rows]

    def _attachment(self, row: dict[str, Any], view: View, there: Collection[str]) -> Attachment:
        """Return an attachment; its picture is saved if it is `there`, which it is not in katod's own JSONL."""
        name = view.path(self._redact(row.get("name") or ""))
        what = [name or row.get("mediaType") or "", pictures.shown_size(row.get("bytes"))]
        label = self._redact(f"{row['type']}: {', '.join(part for part in what if part)}".removesuffix(": "))
        link, before = "", self._asked.get("saved", 0)
        if row.get("sha256") in there and self._options.attachments == "save" and pictures.is_kept(row, before):
            self._asked["saved"] = before + row["bytes"]
            link = f"{self._options.assets}/{pictures.asset_name(row)}"
        return Attachment(label, row.get("mediaType") or row["type"], row.get("sha256", ""), link)

    _HANDLERS: ClassVar[Mapping[str, Callable[["Transcript", Event, SessionMetadata], Pieces]]] = {
        ev.USER_MESSAGE: _user,
        ev.ASSISTANT_MESSAGE: _assistant,
        ev.ASSISTANT_THINKING: _thinking,
        ev.TOOL_CALL: _call,
        ev.TOOL_RESULT: _result,
        ev.DECISION_PROMPT: _prompt,
        ev.DECISION_RESPONSE: _answer,
        ev.SYSTEM_MESSAGE: _system,
        ev.TURN_END: _turn_end,
        ev.ERROR: _error,
        ev.COMPACTION: _compaction,
        ev.CONFIG_CHANGE: _change,
        ev.USAGE: _usage,
        ev.AGENT_END: _agent_end,
    }


_redacted = lru_cache(maxsize=4096)(redact)  # the same paths and descriptions come again and again

"""Markdown: a transcript to read in an editor, on a forge or in a notes app."""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from katod import events as ev
from katod.agents import AGENTS
from katod.agents.toolcalls import one_line
from katod.events import Event
from katod.formats import toolview
from katod.formats.mdblocks import MARKS
from katod.formats.mdtext import body, clean, code, html, inline, quoted
from katod.formats.redact import redact
from katod.formats.when import When
from katod.metadata import SessionMetadata
from katod.model import LONGEST_NAME, Mark, Options
from katod.slug import slug

# The system messages that are printed; the rest is bookkeeping.
_SPOKEN_SUBTYPES: Final = frozenset({"api_refusal", "model_refusal_fallback", "review", "rollback", "synthetic"})
_UNSPOKEN_SUBTYPES: Final = frozenset({"context", "delegated"})  # of messages in the user's name
TITLE: Final = 80
_CHANGES: Final = {"model": "Model", "title": "Title"}
_MOST_LABELS: Final = 256
_LONGEST_SUFFIX: Final = 16


class Heading(NamedTuple):
    """The contents of the last heading; a new one is printed when any of them changes."""

    speaker: str = ""
    model: str = ""
    day: str = ""


class Markdown:
    """Prints a conversation, with a heading whenever the speaker, the model or the day changes."""

    name: ClassVar[str] = "markdown"
    version: ClassVar[int] = 1

    def __init__(self, options: Options, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self._base = options
        self._options = options.with_switches(dict(state.get("switches", ())))
        self._when = When(options.time_zone)
        self._redact: Callable[[str], str] = redact if options.redact else str
        self._heading = Heading(*state.get("heading", ()))
        self._list: str = state.get("list", "")
        self._labels: dict[str, str] = state.get("labels", {})
        self._questions: dict[str, str] = state.get("questions", {})

    def state(self) -> dict[str, Any]:
        """Return who spoke last and what is still open."""
        switches: list[list[Any]] = []
        if self._options.thinking != self._base.thinking:
            switches.append(["thinking", self._options.thinking])
        if self._options.tools != self._base.tools:
            switches.append(["tools", self._options.tools == "full"])
        row = {
            "heading": [*self._heading] if any(self._heading) else [], "list": self._list,
            "labels": self._labels, "questions": self._questions,
            "switches": switches,
        }  # fmt: skip
        return {name: value for name, value in row.items() if value}

    def head(self, metadata: SessionMetadata, time: str) -> str:
        """Return the front matter and the title."""
        self._heading = self._heading._replace(day=self._when.day(time))
        agent = AGENTS[metadata.key.agent]
        title = (
            one_line(" ".join(self._redact(metadata.best_title).split()), TITLE) or f"Conversation with {agent.label}"
        )
        rows = {
            "title": title,
            "agent": f"{agent.product} {metadata.start.version}".strip(),
            "model": metadata.model,
            "session": metadata.key.id,
            "subagent": metadata.key.subagent,
            "parent": metadata.start.parent,
            "project": metadata.cwd,
            "branch": metadata.start.branch,
            "started": self._when.iso(time),
            "recorder": self._base.recorder,
        }
        lines = [f"{name}: {_yaml(value)}" for name, value in rows.items() if value]
        tag = agent.product.lower().replace(" ", "-")
        return "\n".join(["---", *lines, f"tags: [katod, {tag}]", "---", "", f"# {inline(title)}", ""])

    def mark(self, mark: Mark) -> str:
        """Return a mark in italics. A range's switches apply from its first mark on."""
        if mark.kind == "started":
            self._options = self._base.with_switches(dict(mark.switches))
        when = f" {self._when.stamp(mark.time, self._heading.day)}" if mark.time else ""
        self._heading = self._heading._replace(speaker="")
        text = f" {inline(mark.text)}" if mark.text else ""
        return self._block(f"*{MARKS[mark.kind]}{when}{text}*")

    def event(self, event: Event, metadata: SessionMetadata) -> str:
        """Return the text of one event; events of a sub-agent are not part of its parent's transcript."""
        if event.session.subagent != metadata.key.subagent:
            return ""
        printer = self._PRINTERS.get(event.kind)
        return printer(self, event, metadata) if printer is not None else ""

    # -- one method per kind ------------------------------------------------------------------------

    def _user(self, event: Event, _: SessionMetadata) -> str:
        payload, subtype = event.payload, event.payload.get("subtype")
        if subtype in _UNSPOKEN_SUBTYPES:
            return ""
        text = self._redact(payload["text"])
        shown = code(text) if subtype else body(text)
        parts = [part for part in (shown, self._attachments(event)) if part]
        if not parts:
            return ""
        return self._heading_of("User", "", event) + self._block("\n\n".join(parts))

    def _assistant(self, event: Event, metadata: SessionMetadata) -> str:
        return self._agent_heading(event, metadata) + self._block(body(self._redact(event.payload["text"])))

    def _thinking(self, event: Event, metadata: SessionMetadata) -> str:
        text = event.payload["text"]
        if not self._options.thinking or not text:
            return ""
        block = toolview.details("Thinking", quoted(self._redact(text)))
        return self._agent_heading(event, metadata) + self._block(block)

    def _call(self, event: Event, metadata: SessionMetadata) -> str:
        payload = event.payload
        if toolview.is_decision(payload["name"]) or self._options.tools == "none":
            return ""
        heading = self._agent_heading(event, metadata)
        if self._options.tools == "full":
            self._remember(payload["toolCallId"], toolview.summary(payload, self._redact))
            return heading + self._block(toolview.call_block(payload, self._redact))
        label = toolview.label(payload, self._redact)
        self._remember(payload["toolCallId"], label)
        return heading + self._item(f"- {label}", payload["toolCallId"])

    def _result(self, event: Event, metadata: SessionMetadata) -> str:
        payload = event.payload
        call = payload["toolCallId"]
        name = metadata.called(call)
        label = self._labels.pop(call, "")
        if self._options.tools == "none" or toolview.is_decision(name):
            return ""
        if self._options.tools == "full":
            title = label or f"<code>{html(name)}</code>"
            block = toolview.result_block(payload, title, self._redact)
            shown = "\n\n".join(part for part in (block, self._attachments(event)) if part)
            return self._agent_heading(event, metadata) + self._block(shown)
        problem = toolview.failure(payload, self._redact)
        if not problem:
            return ""
        if self._list and self._list == call:
            return self._item(f"  - {problem}", call)
        return self._agent_heading(event, metadata) + self._item(f"- {label or code(name)}: {problem}", "")

    def _prompt(self, event: Event, metadata: SessionMetadata) -> str:
        payload = event.payload
        prompt = self._redact(payload["prompt"])
        call = payload["decisionId"].rpartition(":")[0]
        if next(iter(self._questions), "").rpartition(":")[0] != call:  # all open questions belong to one call
            self._questions = {}
        key = self._questions[payload["decisionId"]] = self._redact(payload["decisionKey"])
        shown = f"**{inline(prompt)}**" if "\n" not in prompt else f"**{inline(key)}**\n\n{body(prompt)}"
        options = "\n".join(self._option(option) for option in payload["options"])
        text = f"{shown}\n\n{options}" if options else shown
        return self._agent_heading(event, metadata) + self._block(text)

    def _option(self, option: dict[str, str]) -> str:
        text = f"- {inline(self._redact(option['label']))}"
        description = option.get("description")
        return f"{text}: {inline(self._redact(description))}" if description else text

    def _answer(self, event: Event, _: SessionMetadata) -> str:
        payload = event.payload
        several = len(self._questions) > 1
        key = self._questions.get(payload["decisionId"], "")
        chosen = ", ".join(inline(self._redact(choice)) for choice in payload["selections"])
        said = inline(self._redact(payload.get("freeText", "")))
        question = f" ({inline(key)})" if several and key else ""
        return self._block(f"**Answer{question}:** {' · '.join(part for part in (chosen, said) if part)}")

    def _system(self, event: Event, _: SessionMetadata) -> str:
        if event.payload.get("subtype") not in _SPOKEN_SUBTYPES:
            return ""
        return self._note(event.payload["text"])

    def _turn_end(self, event: Event, _: SessionMetadata) -> str:
        return self._note("Interrupted") if event.payload["reason"] == "aborted" else ""

    def _error(self, event: Event, _: SessionMetadata) -> str:
        return "" if "retry" in event.payload else self._note(f"Error: {event.payload['message']}")

    def _compaction(self, event: Event, _: SessionMetadata) -> str:
        before, after = event.payload.get("tokensBefore"), event.payload.get("tokensAfter")
        sizes = [f"{size:,}" for size in (before, after) if isinstance(size, int)]
        if isinstance(before, int) and not isinstance(after, int):
            return self._note(f"Context compacted from {before:,} tokens")
        return self._note(f"Context compacted: {' → '.join(sizes)} tokens" if sizes else "Context compacted")

    def _change(self, event: Event, _: SessionMetadata) -> str:
        payload = event.payload
        what = _CHANGES.get(payload["what"])
        if what is None:
            return ""
        before = f"{payload['before']} → " if payload.get("before") and what == "Model" else ""
        return self._note(f"{what}: {before}{payload['after']}")

    def _agent_end(self, event: Event, metadata: SessionMetadata) -> str:
        if self._options.tools == "none":
            return ""
        told = ""
        if self._options.tools == "full" and event.payload.get("result"):
            report = toolview.report_block(event.payload, self._redact)
            told = self._agent_heading(event, metadata) + self._block(report)
        linked = self._options.subagents and AGENTS[metadata.key.agent].separate_subagents
        return told + (self._agent_link(event) if linked else "")

    def _agent_link(self, event: Event) -> str:
        name = slug(event.payload["subagent"], 100)
        link = f"[transcript](<{self._options.subagents_folder}/agent-{name}.md>)"
        return self._item(f"  - {link}" if self._list else f"- sub-agent: {link}", self._list)

    # -- shared helpers -----------------------------------------------------------------------------

    def _agent_heading(self, event: Event, metadata: SessionMetadata) -> str:
        return self._heading_of(AGENTS[metadata.key.agent].label, event.model or self._heading.model, event)

    def _heading_of(self, speaker: str, model: str, event: Event) -> str:
        last = self._heading
        day = self._when.day(event.time) if event.time else last.day
        if speaker == last.speaker and day == last.day and (not model or model == last.model):
            return ""
        stamp = self._when.stamp(event.time, last.day) if event.time else ""
        self._heading = Heading(speaker, model or last.model, day)
        return self._block(f"## {' · '.join(part for part in (speaker, inline(model), stamp) if part)}")

    def _note(self, text: str) -> str:
        return self._block(f"*{inline(self._redact(text))}*")

    def _block(self, text: str) -> str:
        self._list = ""
        return f"\n{text}\n"

    def _item(self, text: str, call: str) -> str:
        """Return a list item for a call; `call` is the one whose item stays open for a nested line."""
        first = "" if self._list else "\n"
        self._list = call if 0 < len(call) <= LONGEST_NAME else "-"
        return f"{first}{text}\n"

    def _remember(self, call: str, label: str) -> None:
        if len(call) <= LONGEST_NAME:
            self._labels[call] = label
        if len(self._labels) > _MOST_LABELS:
            del self._labels[next(iter(self._labels))]

    def _attachments(self, event: Event) -> str:
        rows = event.payload.get("attachments", ())
        return "\n\n".join(self._attachment(row) for row in rows)

    def _attachment(self, row: dict[str, Any]) -> str:
        what = [row.get("name") or row.get("mediaType") or "", _size(row.get("bytes"))]
        shown = f"{inline(row['type'])}: {', '.join(inline(part) for part in what if part)}".removesuffix(": ")
        if self._options.attachments != "save" or "sha256" not in row:
            return f"*{shown}*"
        link = f"{self._options.assets}/{asset_name(row)}"
        return f"![{shown}](<{link}>)" if row["type"] == "image" else f"[{shown}](<{link}>)"

    _PRINTERS: ClassVar[Mapping[str, Callable[["Markdown", Event, SessionMetadata], str]]] = {
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
        ev.AGENT_END: _agent_end,
    }


def asset_name(row: dict[str, Any]) -> str:
    """Return the file name of a saved attachment: its hash, and a suffix for its media type."""
    ending = str(row.get("mediaType", "")).rpartition("/")[2].partition("+")[0]
    suffix = f".{ending}" if ending.isascii() and ending.isalnum() and len(ending) <= _LONGEST_SUFFIX else ""
    return f"{row['sha256'][:16]}{suffix}"


def _size(count: Any) -> str:
    if not isinstance(count, int):
        return ""
    return f"{count} bytes" if count < 1024 else f"{count / 1024:.1f} KB"


def _yaml(value: str) -> str:
    return json.dumps(" ".join(clean(value).split()), ensure_ascii=False)

"""Which of many records are an echo: the golden file of what passes after each, in sessions of several agents.

A chat is an agent, a history, and what is written after that. `hello 5` is said 5 seconds after the beginning, ` -` at
no known time. What the agent says begins with `>`, what it used with `~`, a call with `#`, the end of a turn with `.`.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from katod import events as ev
from katod.command.grammar import split
from katod.events import Event, SessionRef
from katod.model import SessionKey
from katod.record.echo import Echoes, Passed
from tests.golden.facts import FACTS

GOLDEN: Final = FACTS / "echoes.json"
CHATS: Final = Path(__file__).with_name("echoes.txt")
_KINDS: Final = {">": ev.ASSISTANT_MESSAGE, "~": ev.USAGE, "#": ev.TOOL_CALL, ".": ev.TURN_END}


class Chat:
    """A session as its echoes see it, with a restart before each record."""

    def __init__(self, agent: str) -> None:
        self._key = SessionKey(agent, "s")
        self._echoes = Echoes(self._key)
        self._count = 0

    def told(self, step: str) -> list[str]:
        """Return the numbers of what passes with a step, those of echoes in brackets; then `…` if anything waits."""
        self._echoes = Echoes(self._key, json.loads(json.dumps(self._echoes.kept())))
        what, _, time = step.rpartition(" ")
        if what == "restart":
            self._echoes.restart(time)
            return self._shown([])
        event = self._event(what.removeprefix("known ").removeprefix("sub "), time)
        if what.startswith("sub "):
            event = event._replace(session=event.session._replace(subagent="sub"))
        message = tuple(split(event, marks_pastes=True).events) if event.kind == ev.USER_MESSAGE else (event,)
        known = what.startswith("known ")
        return self._shown(self._echoes.note_known(message[0]) if known else self._echoes.take(message, "a.jsonl"))

    def end(self) -> list[str]:
        """Return what passes at the end."""
        return self._shown(self._echoes.settle())

    def _event(self, what: str, time: str) -> Event:
        self._count += 1
        kind = _KINDS.get(what[0], ev.USER_MESSAGE)
        moment = "" if time == "-" else datetime.fromtimestamp(1_700_000_000 + float(time), UTC).isoformat()
        payload: dict[str, Any] = {"text": what.replace("|", "\n")}
        if what.startswith("~s"):
            payload = {"text": f"~{what[2:]}", "scope": "session"}
        elif kind == ev.TOOL_CALL:
            payload = {"toolCallId": str(self._count), "name": what}
        ref = SessionRef(self._key.agent, self._key.id)
        return Event(str(self._count), kind, ref, payload, {}, moment, typed=True)

    def _shown(self, passed: list[Passed]) -> list[str]:
        shown = [f"({one.event.id})" if one.is_echo else one.event.id for one in passed]
        return [*shown, *(["…"] if self._echoes.has_pending() else [])]


def text() -> bytes:
    """Return what the golden file contains: of each chat, what passes in its history, after each record, and at the end."""
    histories: dict[str, list[str]] = {}
    rows = []
    for line in CHATS.read_text(encoding="utf-8").splitlines():
        name, _, said = line.partition(": ")
        if name.startswith("history "):
            histories[name.removeprefix("history ")] = said.split(", ")
        else:
            rows.append(orjson.dumps(_passed(name, histories, said.split(", "))))
    return b"[\n" + b",\n".join(rows) + b"\n]\n"


def _passed(name: str, histories: dict[str, list[str]], steps: list[str]) -> list[str]:
    agent, _, history = name.partition(" after ")
    chat = Chat(agent)
    before = [shown for step in histories[history] for shown in chat.told(step)]
    return [" ".join(shown) for shown in (before, *map(chat.told, steps), chat.end())]

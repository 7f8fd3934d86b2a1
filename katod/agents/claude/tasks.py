"""Claude Code: sub-agents that work in the background. Their answer comes by a notification, perhaps more than once."""

import re
from html import unescape
from typing import Final

from katod import events as ev
from katod.agents.claude.builder import ClaudeBuilder
from katod.agents.fields import digest
from katod.events import Event
from katod.model import Record

NOTIFICATION: Final = "task-notification"
UNNAMED: Final = "Sub-agent"
LAUNCHED: Final = "async_launched"
_RESULT: Final = re.compile(r"<result>(.*)</result>", re.DOTALL)
_ID: Final = re.compile(r"<task-id>([^<]{1,200})</task-id>")
_AGENT: Final = re.compile(r'<summary>Agent "([^"<]{1,200})"')
_STATUS: Final = re.compile(r"<status>([^<]{1,200})</status>")


def answer(new: ClaudeBuilder, record: Record, text: str) -> list[Event]:
    """Return the end of the sub-agent that a notification is about; none without a result.

    Repeated notifications of one answer are one event, whichever record they are in.
    """
    head, result = text.partition("<result>")[0], _RESULT.search(text)
    task = _ID.search(head)
    if result is None or task is None:
        return []
    status = _STATUS.search(head)
    name = unescape(named[1]) if (named := _AGENT.search(head)) else UNNAMED
    payload = {"subagent": task[1], "status": status[1] if status else "", "result": result[1], "speaker": name}
    event = new.event(ev.AGENT_END, {name: value for name, value in payload.items() if value}, record, "a")
    return [new.named(event, f"{task[1]}:{digest(payload['status'], result[1])}")]

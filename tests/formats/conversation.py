"""Short builders for the steps of a conversation, and how they are rendered."""

from katod import events as ev
from katod.agents.toolcalls import family
from katod.events import Event, SessionRef
from katod.formats.text.ownlines import SIGN
from katod.formats.transcript.base import Transcript
from katod.formats.transcript.calls import edit_size
from katod.formats.transcript.content import ToolLine
from katod.formats.transcript.markdown import Markdown, print_piece
from katod.formats.transcript.toolview import View
from katod.metadata import SessionMetadata
from katod.model import Mark, Options, SessionKey

KEY = SessionKey("claude", "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11")
MINUS = "\N{MINUS SIGN}"
TIMES = {"a": "2026-02-10T22:36:18Z", "b": "2026-02-10T22:52:00Z", "c": "2026-02-11T08:02:00Z"}  # Berlin: 23:36, …
OPTIONS = Options(time_zone="Europe/Berlin", recorder="katod 1.0.0")


def metadata(**known):
    return SessionMetadata(
        KEY,
        {
            "title": "Add authentication to my app",
            "version": "2.1.39",
            "cwd": "/home/me/app",
            "branch": "main",
            **known,
        },
    )


def event(kind, payload, at="a", model="", subagent=""):
    return Event("id", kind, SessionRef("claude", KEY.id, subagent), payload, {}, TIMES.get(at, at), model=model)


def user(text, at="a", **more):
    return event(ev.USER_MESSAGE, {"text": text, **more}, at)


def says(text, model="claude-opus-4-6", at="a"):
    return event(ev.ASSISTANT_MESSAGE, {"text": text}, at, model)


def thinks(text):
    return event(ev.ASSISTANT_THINKING, {"text": text})


def call(number, name, at="a", **given):
    payload = {"toolCallId": f"t{number}", "name": name, "family": family(name), "input": given}
    return event(ev.TOOL_CALL, payload, at)


def result(number, text="", at="a", **more):
    return event(ev.TOOL_RESULT, {"toolCallId": f"t{number}", "text": text, **more}, at)


def todo(number, **items):
    rows = [{"content": text, "status": "completed" if done else "pending"} for text, done in items.items()]
    return call(number, "TodoWrite", todos=rows)


def ends(reason="done", at="a", **more):
    return event(ev.TURN_END, {"reason": reason, **more}, at)


def asks(question, *options, key="Store", number=0):
    rows = [{"label": label, "description": said} if said else {"label": label} for label, said in options]
    return event(
        ev.DECISION_PROMPT, {"decisionId": f"d{number}", "decisionKey": key, "prompt": question, "options": rows}
    )


def answers(*chosen, number=0, **more):
    return event(ev.DECISION_RESPONSE, {"decisionId": f"d{number}", "selections": list(chosen), **more})


def show(*steps, options=OPTIONS, known=None, shown=None):
    """Render events and marks in order, updating the session's metadata as a recording does."""
    shown, known = shown or Markdown(options), known or metadata()
    return "".join(play(shown, known, steps))


def pieces(*steps, options=OPTIONS, known=None, paused=False):
    """Return the content that events and marks give, as a recording does; `paused` as at the end of an export."""
    shown, known = Transcript(options), known or metadata()
    found = [piece for given in play(shown, known, steps) for piece in given]
    return found + shown.pause() if paused else found


def play(shown, known, steps):
    """Yield what each step gives."""
    for step in steps:
        if isinstance(step, Mark):
            yield shown.mark(step)
            continue
        known.observe(step)
        yield shown.event(step, known)
        known.close(step)


def full(**more):
    return Options(tools="full", time_zone="Europe/Berlin", **more)


def call_line(payload, cwd="", redact=str):
    """Return the line of a call without what begins every such line."""
    return print_piece(ToolLine(payload["name"], View(redact, cwd).about(payload, *edit_size(payload)))).removeprefix(
        f"- {SIGN} "
    )

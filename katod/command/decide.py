"""What a command does, given the state of its session. Pure."""

from typing import Literal, NamedTuple, assert_never

from katod.model import Command


class RecordingState(NamedTuple):
    """The state of a session's recording: the path of the output being recorded to, and of the current output."""

    recording: str = ""
    present: str = ""


class Action(NamedTuple):
    """What to do, in this order: end the recording, then begin one or copy.

    `target` is `none`, `present` (the session's current output), `named` (what was typed) or `generated`.
    """

    end: bool = False
    begin: Literal["", "here", "beginning"] = ""
    copy: bool = False
    target: Literal["none", "present", "named", "generated"] = "none"


def decide(command: Command, state: RecordingState, named: str = "") -> Action:
    """Return the effect of a command; `named` is the path that its name resolves to, empty if it has none."""
    word, recording = command.word, bool(state.recording)
    fresh: Literal["named", "generated"] = "named" if named else "generated"
    if word == "stop":
        return Action(end=recording)
    if word == "export" or word == "keep":  # noqa: PLR1714 - mypy does not narrow `in`
        return Action(copy=True, target=fresh)
    if word == "capture":
        return Action(end=recording, begin="beginning", target=fresh)
    if word == "start":
        return _start(state, named, fresh)
    assert_never(word)  # another word must not start a recording


def _start(state: RecordingState, named: str, fresh: Literal["named", "generated"]) -> Action:
    recording, present = bool(state.recording), state.present
    if recording and (named or present) in ("", state.recording):
        return Action()
    if not named and present:
        return Action(end=recording, begin="here", target="present")
    return Action(end=recording, begin="here", target=fresh)

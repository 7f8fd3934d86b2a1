"""What a command does, given where its session stands (the table of design, section 5). Pure."""

from typing import Literal, NamedTuple

from katod.model import Command


class Standing(NamedTuple):
    """Where a session stands: the path of the output it records to now, and of its present output."""

    recording: str = ""
    present: str = ""


class Action(NamedTuple):
    """What is to be done, in this order: end the recording, then begin or copy.

    `target`: `none`, `present` (the session's output), `named` (what was typed) or `generated`.
    """

    end: bool = False
    begin: Literal["", "here", "beginning"] = ""
    copy: bool = False
    target: Literal["none", "present", "named", "generated"] = "none"


def decide(command: Command, standing: Standing, named: str = "") -> Action:
    """Return what a command does; `named` is the path that its name means, empty when it has none."""
    recording = bool(standing.recording)
    fresh: Literal["named", "generated"] = "named" if named else "generated"
    if command.word == "stop":
        return Action(end=recording)
    if command.word == "export":
        return Action(copy=True, target=fresh)
    if command.word == "capture":
        return Action(end=recording, begin="beginning", target=fresh)
    if recording and (named or standing.present) in ("", standing.recording):
        return Action()
    present = not named and bool(standing.present)
    return Action(end=recording, begin="here", target="present" if present else fresh)

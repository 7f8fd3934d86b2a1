"""Splits typed messages at their command lines, so that ranges are positions between events."""

from typing import NamedTuple

from katod import events as ev
from katod.command.grammar import Parsed, Piece, parse_message
from katod.events import Event
from katod.model import Command, NearMiss, TypedText


class Split(NamedTuple):
    """The parts of one message; `words` is its text without command lines."""

    events: list[Event]
    words: str
    near_misses: tuple[NearMiss, ...] = ()


def split(event: Event, *, marks_pastes: bool = True) -> Split:
    """Split one `user.message`; text that a person is not known to have typed stays whole.

    `marks_pastes` says whether the agent marks what is pasted.
    """
    text = event.payload["text"]
    if event.payload.get("subtype") == "delegated":
        return Split([event], text, parse_message(*TypedText.by_agent(text)).near_misses)
    if not event.typed or "::" not in text:
        return Split([event], text)
    pasted = tuple((start, end) for start, end in event.payload.get("pasted", ()))
    parsed = parse_message(text, pasted, marks_pastes=marks_pastes)
    if not parsed.commands:
        return Split([event], text, parsed.near_misses)
    return Split(_parts(event, parsed), parsed.words, parsed.near_misses)


def command_of(event: Event) -> Command:
    """Return the command in a `user.kato-command` event."""
    payload = event.payload
    switches = tuple((option[1:], option[0] == "+") for option in payload["options"])
    name, count = payload.get("argument", ""), payload.get("number", 1)
    return Command(payload["command"], name, switches, payload["line"], event.words, count)


def _parts(event: Event, parsed: Parsed) -> list[Event]:
    out: list[Event] = []
    rest = {k: v for k, v in event.payload.items() if k not in ("text", "pasted")}
    for n, piece in enumerate(parsed.pieces):
        part = event._replace(id=f"{event.id}.{n}", dedup_key=f"{event.dedup_key}.{n}")
        if piece.command is not None:
            below = parsed.pieces[n + 1 : n + 2]
            words = below[0].text if below and below[0].command is None else ""
            out.append(part._replace(kind=ev.USER_COMMAND, payload=_payload(piece.command), blobs=(), words=words))
            continue
        out.append(part._replace(payload=_text(piece) | rest))
        rest = {}
    if rest:  # attachments of a message that is nothing but commands
        n = len(out)
        part = event._replace(id=f"{event.id}.{n}", dedup_key=f"{event.dedup_key}.{n}")
        out.append(part._replace(payload={"text": ""} | rest))
    return out


def _text(piece: Piece) -> dict[str, object]:
    return {"text": piece.text} | ({"pasted": list(map(list, piece.pasted))} if piece.pasted else {})


def _payload(command: Command) -> dict[str, object]:
    options = [("+" if on else "-") + name for name, on in command.switches]
    row: dict[str, object] = {"command": command.word}
    if command.name:
        row["argument"] = command.name
    if command.word == "keep":
        row["number"] = command.count
    return row | {"options": options, "line": command.line}

"""Groups the messages of a session of OpenCode by the prompt that they answer."""

import re
from typing import Any, Final

from katod.agents.fields import dict_of, dicts_of, text_of

# The only part of the prompt that the client writes before a command that the user runs with `!`.
_RAN: Final = "The following tool was executed by the user"
_IMAGE: Final = re.compile(r"\[Image [0-9]{1,3}\]")  # where a picture stands in a prompt
_UNFINISHED: Final = ("tool-calls", "unknown", None)
# The errors of calls after which the client stops, as the user said no and nothing else.
_STOPS: Final = ("The user rejected permission to use this specific tool call.", "The user dismissed this question")
Value = dict[str, Any]


class PromptTurn:
    """A prompt and its answers. In a document that begins within a turn, the first turn has no prompt.

    In OpenCode 2 the messages are in order, and each is `alone`: a prompt is stored when its turn comes.
    """

    __slots__ = ("alone", "answers", "prompt")

    def __init__(self, prompt: Value | None, *, alone: bool = False) -> None:
        self.prompt = prompt
        self.answers: list[Value] = []
        self.alone = alone

    def messages(self) -> list[Value]:
        """Return the prompt and its answers."""
        return [*([] if self.prompt is None else [self.prompt]), *self.answers]

    @property
    def is_shell(self) -> bool:
        """Whether the user ran a command, which is recorded as a call that answers a prompt of the client's."""
        parts = parts_of(self.prompt or {})
        return [part.get("text") for part in parts if part.get("synthetic")] == [_RAN] and len(parts) == 1

    def is_whole(self) -> bool:
        """Return whether no part of the prompt is yet to be written, as far as the ones before tell."""
        parts = parts_of(self.prompt or {})
        texts, files = [part for part in parts if is_own(part)], [part for part in parts if part.get("type") == "file"]
        named = sum(len(_IMAGE.findall(text_of(part.get("text")))) for part in texts)
        return bool(self.answers or (parts and named <= len(files) and (texts or not files)))

    def is_over(self) -> bool:
        """Return whether nothing more will answer the prompt, judged by the last answer."""
        if not self.answers:
            return self.alone
        last = dict_of(self.answers[-1].get("info"))
        if self.alone:
            return has_ended(last)
        is_last = last.get("finish") not in _UNFINISHED or bool(last.get("error")) or was_stopped(self.answers[-1])
        return has_ended(last) and is_last


def turns_of(messages: list[Any]) -> list[PromptTurn]:
    """Group messages by the prompt that they answer: prompts typed while the agent works are among its answers."""
    rows = sorted(dicts_of(messages), key=message_id)
    if any("seq" in dict_of(row.get("info")) for row in rows):
        return [_alone(row) for row in dicts_of(messages)]
    turns: dict[str, PromptTurn] = {}
    for row in rows:
        info = dict_of(row.get("info"))
        if info.get("role") == "user":
            turn = turns.setdefault(message_id(row), PromptTurn(None))
            turn.prompt = turn.prompt or row
        else:
            parent = text_of(info.get("parentID"))
            turns.setdefault(parent, PromptTurn(None)).answers.append(row)
    return [turns[key] for key in sorted(turns)]


def _alone(row: Value) -> PromptTurn:
    is_prompt = dict_of(row.get("info")).get("role") == "user"
    turn = PromptTurn(row if is_prompt else None, alone=True)
    turn.answers += [] if is_prompt else [row]
    return turn


def message_id(row: Value) -> str:
    """Return the id of a message."""
    return text_of(dict_of(row.get("info")).get("id"))


def parts_of(message: Value) -> list[Value]:
    """Return the parts of a message in their order."""
    return sorted(dicts_of(message.get("parts")), key=lambda part: text_of(part.get("id")))


def is_own(part: Value) -> bool:
    """Return whether a part has words of the user."""
    is_text = part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored")
    return is_text and bool(text_of(part.get("text")).strip())


def has_ended(info: Value) -> bool:
    """Return whether nothing more is written to an answer."""
    return "completed" in dict_of(info.get("time")) or bool(info.get("error"))


def was_stopped(message: Value) -> bool:
    """Return whether a person refused a call of an answer, without a word about what to do instead."""
    states = (dict_of(part.get("state")) for part in dicts_of(message.get("parts")))
    return any(state.get("status") == "error" and state.get("error") in _STOPS for state in states)

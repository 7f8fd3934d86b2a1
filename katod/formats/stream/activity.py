"""What an agent is doing, in the words of CodingBridge. Pure."""

from typing import Final

from katod.lifecycle import Lifecycle
from katod.states import State

THINKING: Final = "thinking"
EXECUTING: Final = "executing"
ASKING: Final = "waiting_input"
BLOCKED: Final = "waiting_permission"
IDLE: Final = "idle"


def activity(lifecycle: Lifecycle) -> list[str]:
    """Return the word for what a session is doing, with the tool that runs if one does."""
    if lifecycle.state is State.BLOCKED:
        return [BLOCKED if lifecycle.need.what == "permission" else ASKING]
    if lifecycle.state is State.WORKING:
        return [EXECUTING, lifecycle.tool] if lifecycle.tool else [THINKING]
    return [IDLE]

"""What the hook of an agent says about a prompt that is about to be sent: `python -P -m katod.setup.hook STATE`.

Only the script that katod wrote for the agent calls it, for the few prompts with lines that look like commands. So it
is a program of its own, which loads little (`json` takes half the time of `orjson`). It says nothing if all is well:
whether a command acts is not known yet.
"""

import json
import sys
from pathlib import Path
from typing import Final

from katod.command.hint import hints
from katod.service.lock import LOCK_NAME, holder
from katod.service.pause import paused_since

_LARGEST: Final = 32 * 1024 * 1024
COMMAND_WAITS: Final = "katod is not running: the command takes effect when it starts (`katod service start`)"
_PAUSED: Final = "katod is paused: only ::stop has an effect until `katod pause --end`"
_NEVER_RAN: Final = "katod has never run: start it (`katod service install`), then type the command again"


def answer(given: bytes, *, running: bool, ran: bool, paused: bool = False) -> bytes:
    """Return what to print for what the agent gives a hook: a message for the user alone, or nothing."""
    try:
        prompt = json.loads(given)["prompt"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return b""
    if not isinstance(prompt, str):
        return b""
    found = hints(prompt)
    said = [f"katod: {hint}" for hint in found.near_misses]
    if found.commands and paused:
        said.append(_PAUSED)
    elif found.commands and not running:
        said.append(COMMAND_WAITS if ran else _NEVER_RAN)
    return json.dumps({"systemMessage": "\n".join(said)}).encode() if said else b""


def main(state: Path) -> None:
    """Answer a hook: what the agent gives is on stdin."""
    given = sys.stdin.buffer.read(_LARGEST)
    running, ran = holder(state) is not None, (state / LOCK_NAME).exists()
    sys.stdout.buffer.write(answer(given, running=running, ran=ran, paused=bool(paused_since(state))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

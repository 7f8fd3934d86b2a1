"""Where Claude Code keeps what is not in a session's own file."""

from typing import Final

REPORTS: Final = "sessions"  # the folder of what it says of sessions that run
SPILLED: Final = "<persisted-output>"  # what a result begins with that is in a file of its own

"""Where OpenCode keeps its sessions."""

from typing import Final

DATABASE: Final = ".db"  # the suffix of a file with many sessions

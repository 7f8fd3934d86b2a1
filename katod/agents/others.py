"""Agents that katod does not follow, and the folders below the home directory that show that one is here.

The folders are those that published readers of these agents' sessions look in.
"""

import os
from pathlib import Path
from typing import Final

OTHERS: Final = (
    ("Amp", (".local/share/amp",)),
    ("Continue", (".continue/sessions",)),
    ("Crush", (".local/share/crush",)),
    ("Droid", (".factory/sessions",)),
    ("Goose", (".local/share/goose/sessions",)),
    ("gptme", (".local/share/gptme/logs",)),
    ("Grok Build", (".grok/sessions",)),
    ("Kiro", (".kiro/sessions", ".local/share/kiro-cli")),
    ("Warp", (".local/state/warp-terminal", "Library/Group Containers/2BBY89MBSN.dev.warp")),
    ("Windsurf", (".codeium/windsurf",)),
)


def others_here(home: Path) -> list[str]:
    """Return the names of those that are here, as far as that can be told."""
    return [name for name, folders in OTHERS if any(os.path.isdir(home / folder) for folder in folders)]

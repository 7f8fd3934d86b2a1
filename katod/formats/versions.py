"""The versions of what determines the text of an output, readable without loading it."""

from typing import Final

# Rises when the same events would print different text.
VERSIONS: Final = {"markdown": 1, "jsonl": 1, "html": 1}
# Rises when a rule of redaction is added or changed. A recording remembers the version it started with, so that
# `katod verify` can say why an older part of it differs.
RULES_VERSION: Final = 2

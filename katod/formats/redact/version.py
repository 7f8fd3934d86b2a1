"""The version of the redaction rules, readable without loading them."""

from typing import Final

# Rises when a rule is added or changed. A recording remembers the version it started with, so that `katod verify` can
# say why an older part of it differs.
RULES_VERSION: Final = 3

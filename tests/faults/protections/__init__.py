"""What protects katod from each fault, and which tests fail without it.

Nothing here imports katod: a protection is replaced while katod is imported.
"""

from . import guard, hostile, outputs, process, sources
from .protection import Protection

__all__ = ["PROTECTIONS", "Protection", "named"]

PROTECTIONS = [entry for part in (outputs, sources, guard, process, hostile) for entry in part.PROTECTIONS]


def named(name):
    """Return the protection of this name."""
    return next(entry for entry in PROTECTIONS if entry.name == name)

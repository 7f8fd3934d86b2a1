"""The code that protects katod from each fault, and the tests that fail without it.

Nothing here imports katod: a protection is replaced while katod is being imported.
"""

from . import guard, hostile, outputs, process, rescue, sources
from .protection import Protection

__all__ = ["PROTECTIONS", "Protection", "named"]

PROTECTIONS = [entry for part in (outputs, sources, guard, process, hostile, rescue) for entry in part.PROTECTIONS]


def named(name):
    """Return the protection with this name."""
    return next(entry for entry in PROTECTIONS if entry.name == name)

"""What protects katod from each fault, and which tests fail when that is taken out."""

from . import guard, hostile, outputs, process, sources
from .protection import Protection

__all__ = ["PROTECTIONS", "Protection"]

PROTECTIONS = [entry for part in (outputs, sources, guard, process, hostile) for entry in part.PROTECTIONS]

"""Secrets in the forms in which they stand in sessions, and harmless texts that look like them.

    cases()     a text with a secret in it, of every kind and in many contexts
    harmless()  texts that have to stay as they are

It was written without the rules, so it shows what they find of what they were not written for. Every value is random
and follows from the seed; none is a real credential. The tables are in the text files; `slots` describes the templates.
"""

from .cases import Case, Kind, Password, cases, kinds, passwords, pieces
from .harmless import APART, Text, harmless

__all__ = ["APART", "Case", "Kind", "Password", "Text", "cases", "harmless", "kinds", "passwords", "pieces"]

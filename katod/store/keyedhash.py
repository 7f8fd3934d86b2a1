"""Hashes with a key, for what is kept to be compared and never read."""

import os
from hashlib import blake2b
from typing import Final

_KEY: Final = 16  # bytes


class KeyedHash:
    """Hashes with a key: the same text has the same one, and from the hash alone nobody can tell the text."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    @classmethod
    def random(cls) -> "KeyedHash":
        """Return hashes with a new key."""
        return cls(os.urandom(_KEY))

    def of(self, text: str) -> bytes:
        """Return the hash of a text, empty for an empty one."""
        return self._digest(text, 16) if text else b""

    def number(self, text: str) -> int:
        """Return a hash of eight bytes, as a signed number."""
        return int.from_bytes(self._digest(text, 8), "big", signed=True)

    def session(self, agent: str, session: str) -> bytes:
        """Return the hash of a session, with its sub-agents, empty if it has no id."""
        return self.of(f"{agent}:{session}") if session else b""

    def _digest(self, text: str, size: int) -> bytes:
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size, key=self.key).digest()

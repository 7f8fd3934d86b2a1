"""The token that lets clients in: created once, in a file that only its owner may read."""

import os
import secrets
from pathlib import Path
from typing import Final

from katod import durable
from katod.errors import ServeError
from katod.serve.access.policy import SHORTEST_TOKEN
from katod.smallfile import create_small, read_small

NAME: Final = "serve-token"
_BYTES: Final = 32
_LARGEST: Final = 4096
_PRIVATE: Final = 0o600


def own_token(state: Path) -> str:
    """Return the token in the state directory, made if there is none. Raises ServeError."""
    path = state / NAME
    try:
        durable.make_own_folder(state)
        if not path.exists():
            create_small(path, f"{secrets.token_urlsafe(_BYTES)}\n".encode(), _PRIVATE)
    except OSError as error:
        raise ServeError(f"the token cannot be written: {error.strerror}", path=path) from error
    return read_token(path)


def read_token(path: Path) -> str:
    """Return the token in a file, to which only its owner may have access. Raises ServeError."""
    try:
        token = read_small(path, _LARGEST, private=True).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        hint = f"`chmod 600 {os.path.basename(path)}`, or delete it for a new one"
        raise ServeError(f"the token cannot be used: {reason}", path=path, hint=hint) from error
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ServeError(
            f"the token cannot be used: it must be one word of {SHORTEST_TOKEN} characters or more", path=path,
            hint="delete the file for a new one",
        )  # fmt: skip
    return token

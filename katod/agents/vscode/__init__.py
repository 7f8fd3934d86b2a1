"""GitHub Copilot Chat in VS Code, its Insiders, VSCodium and Code - OSS, also on remote servers."""

import sys
from pathlib import Path
from typing import Final

from katod.agents.answers import Answers
from katod.agents.spec import AgentSpec, Nature, later, session_id
from katod.model import Identity, SessionKey

_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium", "Code - OSS")
_SERVERS: Final = (".vscode-server", ".vscode-server-insiders")
_FOLDERS: Final = ("chatSessions", "emptyWindowChatSessions")


def _roots() -> list[Path]:
    """Return the folders with the user's data of each editor and of each server."""
    is_mac = sys.platform == "darwin"
    base = Path.home() / "Library" / "Application Support" if is_mac else Path.home() / ".config"
    return [
        *(base / editor / "User" for editor in _EDITORS),
        *(Path.home() / server / "data" / "User" for server in _SERVERS),
    ]


def _identity(path: Path) -> Identity | None:
    """Return the identity of `chatSessions/<id>.jsonl`, before 1.109 `<id>.json`."""
    if path.parent.name not in _FOLDERS:
        return None
    return Identity(SessionKey("vscode", session_id(path.stem)))


SPEC: Final = AgentSpec(
    name="vscode",
    label="Copilot",
    product="VS Code Copilot Chat",
    adapter_name="vscode.adapter.ChatAdapter",
    nature=Nature.NATIVE_IDS,
    roots=_roots,
    variables=(),
    folders=("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions"),
    suffixes=(".jsonl", ".json"),
    identity_of=_identity,
    open=later("agents.vscode.journal.open_chat"),
    separate_subagents=False,
    answers=Answers(input_has_cached=True, usage_signs=(b'"requests"',)),
    name_beside=later("agents.vscode.journal.name_of"),
    reported=later("agents.vscode.waiting.reported"),
)

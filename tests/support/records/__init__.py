"""Records as agents write them, one class per agent. A new adapter's maker goes here; the compliance tests then run."""

from typing import Final

from tests.support.records.antigravity import Antigravity
from tests.support.records.base import (
    CWD,
    OTHER,
    SESSION,
    THREAD,
    UNKNOWN,
    Maker,
    Said,
    calls,
    line,
    milliseconds,
    moment,
    result,
    says,
    user,
)  # fmt: skip
from tests.support.records.claude import Claude
from tests.support.records.cline import Cline
from tests.support.records.codex import Codex, CodexFlat, CodexLegacy
from tests.support.records.copilot import Copilot
from tests.support.records.cursor import Cursor
from tests.support.records.families import Cowork, Kilo, MiMo, OhMyPi, OpenClaude, OpenClaw, Prime, TraeX
from tests.support.records.gemini import Gemini, GeminiDocument
from tests.support.records.kimi import Kimi
from tests.support.records.opencode import OpenCode, OpenCode2
from tests.support.records.pi import Pi
from tests.support.records.qwen import Qwen
from tests.support.records.vscode import VSCode
from tests.support.records.zot import Zot

__all__ = [
    "CWD",
    "MAKERS",
    "OF_EACH_NATURE",
    "OTHER",
    "RELATIVES",
    "SESSION",
    "THREAD",
    "UNKNOWN",
    "Antigravity",
    "Claude",
    "Cline",
    "Codex",
    "CodexFlat",
    "CodexLegacy",
    "Cursor",
    "Gemini",
    "GeminiDocument",
    "Kimi",
    "Maker",
    "OpenClaw",
    "OpenCode",
    "OpenCode2",
    "Qwen",
    "Said",
    "VSCode",
    "calls",
    "line",
    "milliseconds",
    "moment",
    "result",
    "says",
    "user",
]  # fmt: skip

MAKERS: Final[tuple[type[Maker], ...]] = (
    Antigravity, Claude, Cline, Codex, CodexFlat, CodexLegacy, Copilot, Cursor, Gemini, GeminiDocument, Kimi, OpenCode, OpenCode2,
    Pi, Qwen, VSCode, Zot,
)  # fmt: skip
# Those that write the form of another one. OpenClaw, in which nothing is a command, has tests of its own.
RELATIVES: Final[tuple[type[Maker], ...]] = (Cowork, OpenClaude, OhMyPi, Prime, TraeX, Kilo, MiMo)
# One agent that appends lines, one that rewrites a document, one that keeps a database.
OF_EACH_NATURE: Final[tuple[type[Maker], ...]] = (Claude, GeminiDocument, OpenCode)

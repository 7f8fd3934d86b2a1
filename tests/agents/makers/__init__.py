"""One maker an agent: a new adapter gets one here, and the compliance suite runs for it."""

from typing import Final

from tests.agents.makers.base import OTHER, SESSION, UNKNOWN, Maker, Said, calls, result, says, user
from tests.agents.makers.documents import Gemini, GeminiDocument, OpenCode
from tests.agents.makers.lines import Claude, Codex, CodexLegacy, Copilot, Cursor, Pi, Zot

__all__ = ["MAKERS", "OTHER", "SESSION", "UNKNOWN", "Maker", "OpenCode", "Said", "calls", "result", "says", "user"]

MAKERS: Final[tuple[type[Maker], ...]] = (
    Claude, Codex, CodexLegacy, Copilot, Cursor, Gemini, GeminiDocument, OpenCode, Pi, Zot,
)  # fmt: skip

"""The document of tools: what each agent's tools are for, and which of their arguments transcripts show."""

from pathlib import Path
from typing import Final

from katod.agents import AGENTS
from katod.agents.tooltable import TOOLS, UNKNOWN, Keys, ToolEntry

PATH: Final = Path(__file__).parents[2] / "katod/agents/tools.md"


def text() -> str:
    """Return the generated part: one table for each agent, and what is shown of other tools."""
    parts = [f"## {AGENTS[agent].product}\n\n{_table(TOOLS[agent])}" for agent in sorted(TOOLS)]
    return "\n" + "\n".join(
        [*parts, f"## Other tools\n\nShown by the first of these that is text: {_keys(UNKNOWN.about)}.\n"]
    )


def _table(tools: dict[str, ToolEntry]) -> str:
    head = ["| tool | family | shown by | text replaced | text written | |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *(_row(name, tool) for name, tool in tools.items())]) + "\n"


def _row(name: str, tool: ToolEntry) -> str:
    cells = (_about(tool), _keys(tool.old), _keys(tool.new), "; ".join(_notes(tool)))
    return f"| `{name}` | {tool.family} | {' | '.join(cells)} |"


def _about(tool: ToolEntry) -> str:
    if tool.items:
        return f"the number of {_keys(tool.items)}"
    return _keys(tool.about) + (f" in {_keys(tool.within)}" if tool.within else "")


def _notes(tool: ToolEntry) -> list[str]:
    notes = {
        f"each of {_keys(tool.edits)}": tool.edits, f"a patch in {_keys(tool.patch)}": tool.patch,
        "bookkeeping, not shown": tool.quiet, "shown as question and answer": tool.asks,
    }  # fmt: skip
    return [note for note, applies in notes.items() if applies]


def _keys(keys: Keys) -> str:
    return ", ".join(f"`{key}`" for key in keys)

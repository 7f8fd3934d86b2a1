"""Draws the README's picture from the demo: the chat on the left, the transcript on the right.

Run `python packaging/readme/picture.py` after a change of the demo or of the Markdown format.
"""

import json
from html import escape
from pathlib import Path

from katod.log import EventLog
from katod.model import Identity, Options, Range, SessionKey
from katod.record.export import Stretch, replay
from katod.record.ranges import RangePrinter

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "fixtures/demo/session.jsonl"
LINE, WIDTH, LONGEST = 17, 560, 66
INK, PALE, MARK, PAPER, DARK = "#24292f", "#6e7781", "#0a7d4f", "#ffffff", "#f6f8fa"


def chat() -> list[tuple[str, str]]:
    """The lines of the chat, each with its colour."""
    shown: list[tuple[str, str]] = []
    for row in map(json.loads, SESSION.read_text().splitlines()):
        content = row["message"]["content"]
        if isinstance(content, str):
            shown += [(f"> {line}", MARK if line.startswith("::") else INK) for line in content.splitlines()]
            continue
        for block in content:
            if block["type"] == "text":
                shown += [(f"  {line}", PALE) for line in block["text"].splitlines()[:1]]
            elif block["type"] == "tool_use":
                shown.append((f"  ● {block['name']}", PALE))
    return shown


def transcript() -> list[tuple[str, str]]:
    """The lines of the transcript, without its front matter."""
    key = SessionKey("claude", "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11")
    events = list(replay(key, [Stretch(str(SESSION), Identity(key))], EventLog()))
    commands = [event for event, _ in events if event.kind == "user.kato-command"]
    printer = RangePrinter("markdown", Options(), [Range(commands[0].id, end=commands[1].id)])
    stream = replay(key, [Stretch(str(SESSION), Identity(key))], EventLog())
    text = "".join(printer.take(event, metadata) for event, metadata in stream)
    body = text.split("---\n", 2)[2].strip().splitlines()
    return [(line, MARK if line.startswith("*Rec") else INK) for line in body]


def column(lines: list[tuple[str, str]], x: int, title: str) -> str:
    """One column of text."""
    rows = [f'<text x="{x}" y="34" fill="{PALE}" font-weight="bold">{escape(title)}</text>']
    for number, (line, colour) in enumerate(lines):
        shown = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
        weight = ' font-weight="bold"' if line.startswith(("#", "> ::")) else ""
        rows.append(
            f'<text x="{x}" y="{62 + number * LINE}" fill="{colour}"{weight} xml:space="preserve">'
            f"{escape(shown)}</text>"
        )
    return "\n".join(rows)


def draw() -> str:
    """Return the picture as SVG."""
    left, right = chat(), transcript()
    height = 62 + max(len(left), len(right)) * LINE + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" font-family="ui-monospace, Menlo, '
        f'Consolas, monospace" font-size="13">\n<rect width="{WIDTH}" height="{height}" fill="{DARK}"/>\n'
        f'<rect x="{WIDTH}" width="{WIDTH}" height="{height}" fill="{PAPER}"/>\n'
        f"{column(left, 20, 'What you type in Claude Code')}\n"
        f"{column(right, WIDTH + 20, 'What katod writes to ~/katod/shop/…md')}\n</svg>\n"
    )


if __name__ == "__main__":
    (Path(__file__).parent / "demo.svg").write_text(draw())

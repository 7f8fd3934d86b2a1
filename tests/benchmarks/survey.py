"""How transcripts of real sessions look: counts what readers stumble over. `python -m tests.benchmarks.survey [FOLDER]`.

FOLDER, by default $KATOD_CORPUS, has session files of any agents at any depth.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from katod.agents.sniffing import sniff
from katod.errors import KatodError
from katod.formats.redact.redactor import REDACTED
from katod.formats.text.when import When
from katod.formats.transcript.base import Transcript
from katod.formats.transcript.content import (
    AgentHeading,
    Fold,
    Footer,
    Inline,
    MarkLine,
    Outcome,
    PassedTime,
    Person,
    Piece,
    ToolLine,
)
from katod.formats.transcript.markdown import print_piece, printed
from katod.formats.transcript.turn import PAUSE
from katod.log import EventLog
from katod.model import Identity, Options
from katod.record.export import Stretch, replay

LARGE = 65_536  # characters, the most that a forge takes
TIMED = (AgentHeading, Person, PassedTime, MarkLine)


def main() -> None:
    """Print the survey."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("KATOD_CORPUS", "."))
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.json*")):
        try:
            spec = sniff(path.absolute()) if path.is_file() else None
            if spec is None:
                continue
            survey(path, spec.named(path.absolute()), counts)
        except KatodError:
            counts["files that cannot be read"] += 1
    for name, count in sorted(counts.items()):
        print(f"{count:12,} {name}")


def survey(path: Path, identity: Identity, counts: Counter[str]) -> None:
    """Add the counts of one session, shown as a summary and in full."""
    for tools in ("summary", "full"):
        options = Options(tools=tools)
        shown, when = Transcript(options), When("UTC")
        size, last, title = 0, 0.0, ""
        for event, metadata in replay(identity.key, [Stretch(str(path), identity)], EventLog()):
            title = shown.head(metadata, metadata.started).title
            pieces = shown.event(event, metadata)
            size += len(printed(pieces))
            _add(counts, pieces, tools)
            now = when.seconds(event.time)
            if pieces and tools == "summary":
                timed = any(isinstance(piece, TIMED) for piece in pieces)
                counts["gaps of more than five minutes without a time"] += not timed and 0 < last < now - PAUSE - 60
                last = max(last, now)
        if not title:
            return
        counts[f"sessions, {tools}"] += 1
        counts[f"characters, {tools}"] += size
        counts[f"transcripts above {LARGE:,} characters, {tools}"] += size > LARGE
    counts["bytes of session files"] += path.stat().st_size
    counts["titles that are missing"] += title.startswith("Conversation with")
    counts["titles that are cut"] += title.endswith("…")


def _add(counts: Counter[str], pieces: Sequence[Piece], tools: str) -> None:
    for piece in pieces:
        if isinstance(piece, ToolLine):
            counts["tool lines"] += 1
            printed_line = print_piece(piece)
            counts["tool lines that are altered"] += not all(_is_in(span, printed_line) for span in piece.about)
            counts["calls that say nothing but their name"] += not piece.about
        for line in _outcomes(piece):
            failed = line[0].text.startswith("failed")
            counts["failures"] += failed
            counts["failures without a text"] += failed and len(line) == 1
            counts["commits"] += line[0].text == "committed"
        if isinstance(piece, Fold) and tools == "full":
            counts["folds"] += 1
            counts["results in a fold of their own"] += piece.about[-1:] == (Inline("text", "result"),)
        counts["footers"] += isinstance(piece, Footer) and tools == "summary"


def _outcomes(piece: Piece) -> Iterator[tuple[Inline, ...]]:
    if isinstance(piece, Outcome):
        yield piece.line
    elif isinstance(piece, ToolLine) and piece.outcome:
        yield piece.outcome


def _is_in(span: Inline, line: str) -> bool:
    return span.kind != "code" or span.text.strip() in line or REDACTED in span.text


if __name__ == "__main__":
    main()

"""What explains an edit, read from its session, or from its recording, where that is still there."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS
from katod.edits.edits import Cause
from katod.errors import OutputUnreadable, SourceError
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.metadata import Replay
from katod.model import SessionKey
from katod.record.export import Stretch, read_katod, replay
from katod.record.ranges import head_metadata
from katod.record.reading import located, opened
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow, SourceRow

_JSONL: Final = FORMATS["jsonl"].name


class Explained(NamedTuple):
    """What explains an edit: the title of its session, what was asked for, and what was said; empty if unknown.

    `recording` is the number of the recording that shows it, if the session itself is gone. `machine` is another one,
    which shares the session.
    """

    title: str = ""
    prompt: str = ""
    answer: str = ""
    recording: int = 0
    machine: str = ""


class EditWords:
    """The words behind edits, by the ids of their calls; what could not be read is noted in `problems`."""

    def __init__(self, ledger: Ledger | None) -> None:
        self.problems: dict[str, str] = {}
        self._ledger = ledger
        self._known: dict[str, Explained] = {}

    def know(
        self, cause: Cause, title: str, words: Mapping[str, str], recording: int = 0, *, machine: str = ""
    ) -> None:
        """Note what explains an edit, given texts by the ids of their events."""
        prompt, answer = words.get(cause.prompt, ""), words.get(cause.answer, "")
        self._known[cause.call] = Explained(title, prompt, answer, recording, machine)

    def explained(self, causes: Iterable[Cause]) -> dict[str, Explained]:
        """Return what explains the edits with these causes, by the ids of their calls."""
        wanted = {cause.call: cause for cause in causes}
        unread: dict[SessionKey, list[Cause]] = {}
        for call, cause in wanted.items():
            if call not in self._known:
                unread.setdefault(cause.session, []).append(cause)
        for key, some in unread.items():
            self._read(key, some)
        return {call: self._known.get(call, Explained()) for call in wanted}

    def _read(self, key: SessionKey, causes: list[Cause]) -> None:
        """Read what explains some edits of a session, no further than to the last of it."""
        outputs = self._outputs(key)
        wanted = {event for cause in causes for event in (cause.prompt, cause.answer) if event}
        words: dict[str, str] = {}
        for output in outputs:
            try:
                words |= _texts(self.events(output, key), wanted - words.keys())
            except (SourceError, OutputUnreadable) as error:
                self.problems[str(key)] = error.what
        title = next((head_metadata(output).best_title for output in outputs), "")
        is_gone = not any(map(self._present, outputs))
        for cause in causes:
            self.know(cause, title, words, outputs[0].id if is_gone and outputs else 0)

    def _outputs(self, key: SessionKey) -> list[OutputRow]:
        row = self._ledger.find_session(key) if self._ledger is not None else None
        outputs = located(self._ledger.outputs(row.id)) if self._ledger is not None and row is not None else []
        return sorted(outputs, key=lambda output: output.is_copy)  # a copy may have a name of its own

    def _present(self, output: OutputRow) -> list[SourceRow]:
        """Return the sources of a recorded session that are still there."""
        sources = self._ledger.sources_of(output.session) if self._ledger is not None else []
        return [source for source in sources if not source.gone and Path(source.path.partition("#")[0]).exists()]

    def events(self, output: OutputRow, key: SessionKey) -> Replay:
        """Return the events of a recorded session, or of the recording itself if its agent has deleted the session."""
        present = self._present(output)
        if present and key.agent in AGENTS:
            stretches = [Stretch(source.path, source.identity, output.limit(source)) for source in present]
            yield from replay(key, stretches, EventLog(), counts=True)
        elif output.format == _JSONL:
            with opened(output) as lines:
                yield from read_katod(lines, output.path)


def _texts(events: Replay, wanted: set[str]) -> dict[str, str]:
    """Return the texts of these events, reading no further than to the last of them."""
    words: dict[str, str] = {}
    for event, _ in events if wanted else ():
        if event.id in wanted:
            words[event.id] = event.payload["text"]
            if len(words) == len(wanted):
                break
    return words

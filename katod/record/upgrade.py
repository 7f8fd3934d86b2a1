"""After an upgrade that prints other text: an output's format is brought to its present state, writing nothing."""

from typing import Any

from katod.formats import FORMATS
from katod.log import EventLog
from katod.record.catalog import Catalog
from katod.record.conversation import Conversation, Outlet, head_metadata
from katod.record.recorder import Recorder
from katod.record.replay import Stretch, replay
from katod.record.rows import OutputRow


def rebuild(row: OutputRow, conversation: Conversation, catalog: Catalog, log: EventLog) -> None:
    """Bring an output to the present version of its format; where it stands among its ranges does not change."""
    version = FORMATS[row.format].version
    if row.version == version:
        return
    kept = row.recorder or {}
    row.version, row.recorder = version, kept | {"format": _printed_again(row, kept, conversation, catalog, log)}
    live = conversation.outlet(row)
    if live is not None:
        conversation.live[conversation.live.index(live)] = Outlet(row)


def _printed_again(
    row: OutputRow, kept: dict[str, Any], conversation: Conversation, catalog: Catalog, log: EventLog
) -> dict[str, Any]:
    """Return the format's state after all that was printed; a new one where the sources no longer tell it."""
    stretches = [Stretch(s.path, s.identity, row.reached(s)) for s in catalog.of_session(row.session)]
    recorder = Recorder(row.format, row.options, row.ranges)
    recorder.titled = head_metadata(row)
    for event, metadata in replay(conversation.row.key, stretches, log, skip_missing=True):
        recorder.take(event, metadata)
    state = recorder.state()
    same = (state["index"], state["active"]) == (kept.get("index", 0), kept.get("active", False))
    return state["format"] if same else {}

"""After an upgrade that prints other text: an output's state is rebuilt by printing again, writing nothing."""

from katod.formats import FORMATS
from katod.journal import Journal
from katod.record.catalog import Catalog
from katod.record.conversation import Conversation, Outlet
from katod.record.replay import Stretch, replay
from katod.record.rows import OutputRow


def rebuild(row: OutputRow, conversation: Conversation, catalog: Catalog, journal: Journal) -> None:
    """Bring the recorder's state of an open output to the present version of its format."""
    version = FORMATS[row.format].version
    if row.version == version or not row.open:
        return
    stretches = [Stretch(s.path, s.identity, row.reached(s)) for s in catalog.of_session(row.session)]
    row.version, row.recorder = version, None
    outlet = Outlet(row)
    for event, facts in replay(conversation.row.key, stretches, journal, skip_missing=True):
        outlet.take(event, facts)
        outlet.chunks.clear()
    row.recorder = outlet.recorder.state()
    live = conversation.outlet(row)
    if live is not None:
        conversation.live[conversation.live.index(live)] = outlet

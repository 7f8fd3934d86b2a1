"""katod in this process, delivering to a server: turn by turn, as often as it takes."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from katod.delivery.delivery import RecordingDelivery
from katod.delivery.exchange import OfferedRecording
from katod.log import EventLog
from katod.model import Range, SessionKey
from katod.store.ledger import Ledger
from tests.support.inprocess import InProcess
from tests.support.live import PATIENCE, until
from tests.support.records import Maker, calls, result, says, user
from tests.support.world import World

TALK: Final = (
    says("yes"), calls("call-1", "make"), result("call-1", "made"), says("ok"), user("and more"), says("done"),
)  # fmt: skip


def talk(maker: Maker) -> None:
    """Record a conversation, with something before it and after it."""
    maker.say(user("before"), says("nothing"), user("::start notes\nhello"), *TALK, user("::stop\nafter"), says("no"))


def rows(world: World, table: str) -> list[Any]:
    """Return the rows of a table of the ledger."""
    ledger = Ledger.read(world.state)
    assert ledger is not None
    with closing(ledger.db):
        return ledger.db.execute(f"SELECT * FROM {table}").fetchall()


def offered(output: int = 1, *, session: int = 0, start: str = "start", ranges: int = 1) -> OfferedRecording:
    """Return a recording as it is offered, of a session that has its number if none is given."""
    number = session or output
    begun = tuple(Range(start if index == 0 else f"again {index}") for index in range(ranges))
    row: Any = SimpleNamespace(id=output, path=Path("notes.md"), ranges=begun)
    return OfferedRecording(number, SessionKey("claude", str(number)), row, 0, ())


class Delivering(InProcess):
    """A daemon that delivers; `said` has its log. What it delivers to is looked at for one kind of destination."""

    kind = "matrix"

    def __init__(self, world: World, *, delivering: bool = True) -> None:
        super().__init__(world)
        self.logged: list[tuple[str, dict[str, Any]]] = []
        self._delivery._log = EventLog(lambda _level, name, fields: self.logged.append((name, fields)))
        if delivering:
            self.configured()

    @property
    def _delivery(self) -> RecordingDelivery:
        return self._chores.deliveries[self.kind]

    def configured(self) -> None:
        """Use the present settings, as after a reload."""
        self._settings.reload()
        policy = self._settings.policy(self._settings.roots(), {})
        self._pipeline.use(policy)
        self._chores.use(policy)

    def step_until(self, probe: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
        """Take turns until something is so."""

        def is_so() -> Any:
            self.turn()
            self._chores.look()
            return probe()

        until(is_so, what, patience)

    def send_until(self, probe: Callable[[], Any], what: str) -> None:
        """Send until something is so, but read nothing."""

        def is_so() -> Any:
            self._chores.look()
            return probe()

        until(is_so, what)

    def deliver(self, patience: float = PATIENCE) -> None:
        """Take turns until all is sent that can be."""
        self.turn()
        self._chores.look()
        self.step_until(lambda: self.is_idle, "the delivery", patience)

    @property
    def is_idle(self) -> bool:
        """Whether the thread has ended, or has sent all that it is offered, and the ledger has that."""
        thread = self._delivery._thread
        if thread is None:
            return True
        worker, exchange = thread
        if not worker.is_alive():
            return not exchange._reports
        is_done = all(map(worker._readers.is_resting, exchange._offered.values()))
        return is_done and not exchange._reports and not self._delivery._has_changed

    def vanish(self) -> None:
        """End as if killed: what was sent and is not in the ledger is not known any more."""
        for delivery in self._chores.deliveries.values():
            if delivery._thread is not None:
                worker, exchange = delivery._thread
                exchange.stop()
                worker.join()
        super().vanish()

    def said(self, name: str) -> list[dict[str, Any]]:
        """Return the fields of each log event with this name."""
        return [fields for event, fields in self.logged if event == name]

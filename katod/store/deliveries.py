"""What the ledger knows of deliveries: which ranges are delivered, and what a destination has of them.

Of an event or a span there are only ids: its transaction, which follows from katod's own id of it, and the server's.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from itertools import islice
from typing import Final, NamedTuple

from katod.store.rows import DeliveryRow, DestinationRow, PositionRow, RunningDeliveryRow, SentRow, UploadRow
from katod.store.tables import DELIVERIES, DESTINATIONS, POSITIONS, RUNNING_DELIVERIES, SENT, UPLOADS

_MOST_VALUES: Final = 500  # of one statement
_UNFINISHED: Final = "SELECT output FROM deliveries WHERE room = ? AND NOT done"
_OF_KIND: Final = {"matrix": "room LIKE '!%'", "otlp": "room NOT LIKE '!%'"}  # only the id of a room begins like this
_WITH_CONTENT: Final = "SELECT id FROM outputs WHERE json_extract(options, '$.span_content')"
_HERE: Final = "SELECT 1 FROM sqlite_master WHERE name = ?"


class Summary(NamedTuple):
    """How one delivery is going: what was sent and refused, outputs not all of which was sent, problems."""

    sent: int
    refused: int
    unfinished: list[int]
    destination: DestinationRow
    problems: list[tuple[int, str]]  # outputs that cannot be completed


class Deliveries:
    """The tables of deliveries. Writes happen within a transaction of the ledger."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def begin(self, output: int, number: int, destination: str) -> None:
        """Note that a range of an output is to be delivered."""
        self._insert(DELIVERIES.insert, [DELIVERIES.values(DeliveryRow(destination, False, output, number))])

    def offers(self, destination: str) -> dict[int, tuple[int, Hashable]]:
        """Return each output of which not all was sent, with its session, and what changes whenever it has more."""
        sources: dict[int, list[Hashable]] = {}
        sessions = f"SELECT session FROM outputs WHERE id IN ({_UNFINISHED})"
        query = f"SELECT session, path, gone, cursor FROM sources WHERE session IN ({sessions}) ORDER BY id"
        for session, *state in self._db.execute(query, (destination,)):
            sources.setdefault(session, []).append(tuple(state))
        ranges: dict[int, list[Hashable]] = {}
        query = f'SELECT output, id, "end" FROM ranges WHERE output IN ({_UNFINISHED}) ORDER BY id'
        for output, *state in self._db.execute(query, (destination,)):
            ranges.setdefault(output, []).append(tuple(state))
        query = f"SELECT id, session FROM outputs WHERE held IS NULL AND id IN ({_UNFINISHED}) ORDER BY id"
        return {
            output: (session, (tuple(sources.get(session, ())), tuple(ranges.get(output, ()))))
            for output, session in self._db.execute(query, (destination,)).fetchall()
        }

    def numbers(self, output: int, destination: str) -> list[int]:
        """Return the numbers of the ranges of an output that are delivered to a destination, sent or not."""
        query = "SELECT number FROM deliveries WHERE output = ? AND room = ? ORDER BY number"
        return [number for (number,) in self._db.execute(query, (output, destination))]

    def finish(self, output: int, destination: str, number: int) -> None:
        """Note that the ranges of an output up to this one were sent."""
        query = (
            "UPDATE deliveries SET done = 1, problem = '' WHERE room = ? AND NOT done AND output = ? AND number <= ?"
        )
        self._db.execute(query, (destination, output, number))

    def note_problem(self, output: int, destination: str, problem: str) -> None:
        """Note why an output cannot be completed, or that it can."""
        query = "UPDATE deliveries SET problem = ? WHERE room = ? AND NOT done AND output = ?"
        self._db.execute(query, (problem, destination, output))

    def follow(self, kind: str, destination: str, *, with_content: bool) -> None:
        """Deliver the outputs that wait for other destinations of a kind to this one, unless any of them was sent.

        Those whose spans say what was said only go where such spans are wanted (`with_content`).
        """
        began = (
            "SELECT 1 FROM positions WHERE positions.output = deliveries.output AND positions.room = deliveries.room"
        )
        query = "UPDATE OR IGNORE deliveries SET room = ?, problem = '' WHERE room != ? AND NOT done"
        kept = "" if with_content else f" AND output NOT IN ({_WITH_CONTENT})"
        self._db.execute(f"{query} AND {_OF_KIND[kind]} AND NOT EXISTS ({began}){kept}", (destination, destination))

    def with_content(self, destination: str) -> list[int]:
        """Return the outputs that are delivered to a destination, not all of which was sent, with what was said."""
        if not self._exists():
            return []
        query = f"SELECT DISTINCT output FROM deliveries WHERE room = ? AND NOT done AND output IN ({_WITH_CONTENT})"
        return [output for (output,) in self._db.execute(f"{query} ORDER BY output", (destination,))]

    def elsewhere(self, kind: str, destination: str) -> dict[str, list[int]]:
        """Return which outputs wait for other destinations of a kind than this one, to which nothing is sent."""
        found: dict[str, list[int]] = {}
        if self._exists():
            query = f"SELECT DISTINCT room, output FROM deliveries WHERE room != ? AND NOT done AND {_OF_KIND[kind]}"
            for room, output in self._db.execute(f"{query} ORDER BY room, output", (destination,)):
                found.setdefault(room, []).append(output)
        return found

    def sent(self, session: int, destination: str, txns: Iterable[str]) -> dict[str, str]:
        """Return the server's ids of those of these transactions that a destination has."""
        query = "SELECT txn, event FROM sent WHERE session = ? AND room = ? AND txn IN"
        return self._pairs(query, (session, destination), txns)

    def uploaded(self, homeserver: str, hashes: Iterable[str]) -> dict[str, str]:
        """Return the addresses of content that a homeserver has, whichever session it was part of."""
        return self._pairs(
            "SELECT sha256, address FROM uploads WHERE homeserver = ? AND sha256 IN", (homeserver,), hashes
        )

    def add_sent(self, rows: Iterable[SentRow]) -> None:
        """Remember which events a destination has; not of sessions that were forgotten meanwhile."""
        self._insert(SENT.insert, self._known(map(SENT.values, rows)))

    def position(self, output: int, destination: str) -> str:
        """Return the transaction of the last event that was sent of an output, empty if none was."""
        query = "SELECT txn FROM positions WHERE output = ? AND room = ?"
        found = self._db.execute(query, (output, destination)).fetchone()
        return found[0] if found else ""

    def move(self, row: PositionRow) -> None:
        """Remember how far an output was delivered."""
        self._replace(POSITIONS.insert, POSITIONS.values(row))

    def add_uploads(self, rows: Iterable[UploadRow]) -> None:
        """Remember which content a homeserver has; not of sessions that were forgotten meanwhile."""
        self._insert(UPLOADS.insert, self._known(map(UPLOADS.values, rows)))

    def has_any(self, destination: str) -> bool:
        """Return whether a destination ever took anything."""
        query = "SELECT 1 FROM sent WHERE room = ? AND event != '' LIMIT 1"
        return self._db.execute(query, (destination,)).fetchone() is not None

    def problems(self, destination: str) -> list[tuple[int, str]]:
        """Return the outputs that cannot be completed at a destination now, and why."""
        query = "SELECT DISTINCT output, problem FROM deliveries WHERE room = ? AND NOT done AND problem != ''"
        return self._db.execute(f"{query} ORDER BY output", (destination,)).fetchall()

    def try_again(self, destination: str) -> None:
        """Note that a destination is tried again that had stopped the delivery."""
        query = "UPDATE rooms SET stopped = 0, since = '', problem = '' WHERE room = ? AND stopped"
        self._db.execute(query, (destination,))

    def note(self, row: DestinationRow) -> None:
        """Store whether events wait for a destination."""
        self._replace(DESTINATIONS.insert, DESTINATIONS.values(row))

    def begin_with(self, kind: str, parts: tuple[str, ...]) -> None:
        """Store where the katod that runs delivers to, nothing for nowhere."""
        self._db.execute("DELETE FROM running_deliveries WHERE kind = ?", (kind,))
        if parts:
            self._insert(RUNNING_DELIVERIES.insert, [RUNNING_DELIVERIES.values(RunningDeliveryRow(kind, parts))])

    def running(self, kind: str) -> tuple[str, ...]:
        """Return where the katod that runs delivers to, or the last one if it was killed; nothing for nowhere."""
        if not self._exists("running_deliveries"):
            return ()
        found = self._db.execute(f"{RUNNING_DELIVERIES.select} WHERE kind = ?", (kind,)).fetchone()
        return RUNNING_DELIVERIES.read(found).parts if found else ()

    def forget(self, session: int) -> None:
        """Delete all that is known of the deliveries of a session, before its outputs are deleted."""
        outputs = "SELECT id FROM outputs WHERE session = ?"
        for table in ("deliveries", "positions"):
            self._db.execute(f"DELETE FROM {table} WHERE output IN ({outputs})", (session,))
        for table in ("sent", "uploads"):
            self._db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))

    def destinations_of(self, sessions: Iterable[int]) -> list[tuple[str, int]]:
        """Return where something of these sessions was delivered to, each with how much."""
        if not self._exists():
            return []
        found: Counter[str] = Counter()
        query = "SELECT room, count(*) FROM sent WHERE session = ? AND event != '' GROUP BY room"
        for session in sessions:
            found.update(dict(self._db.execute(query, (session,)).fetchall()))
        return sorted(found.items())

    def _exists(self, table: str = "deliveries") -> bool:
        """Return whether there is such a table: a ledger that is only read may be that of an older katod."""
        return self._db.execute(_HERE, (table,)).fetchone() is not None

    def summary(self, destination: str) -> Summary:
        """Return how the delivery to a destination is going."""
        if not self._exists():
            return Summary(0, 0, [], DestinationRow(destination), [])
        query = "SELECT count(*), coalesce(sum(event = ''), 0) FROM sent WHERE room = ?"
        total, refused = self._db.execute(query, (destination,)).fetchone()
        rows = self._db.execute(f"{DELIVERIES.select} WHERE room = ? AND NOT done", (destination,)).fetchall()
        unfinished = [DELIVERIES.read(row) for row in rows]
        found = self._db.execute(f"{DESTINATIONS.select} WHERE room = ?", (destination,)).fetchone()
        return Summary(
            total - refused, refused, sorted({row.output for row in unfinished}),
            DESTINATIONS.read(found) if found else DestinationRow(destination), self.problems(destination),
        )  # fmt: skip

    def _pairs(self, query: str, first: tuple[object, ...], keys: Iterable[str]) -> dict[str, str]:
        left, found = iter(keys), dict[str, str]()
        while some := list(islice(left, _MOST_VALUES)):
            found.update(self._db.execute(f"{query} ({', '.join('?' * len(some))})", (*first, *some)).fetchall())
        return found

    def _known(self, rows: Iterable[list[object]]) -> list[list[object]]:
        """Return the rows of sessions that the ledger has."""
        wanted = list(rows)
        sessions = {row[0] for row in wanted}
        there = {one for one in sessions if self._db.execute("SELECT 1 FROM sessions WHERE id = ?", (one,)).fetchone()}
        return [row for row in wanted if row[0] in there]

    def _replace(self, statement: str, values: list[object]) -> None:
        self._db.execute(statement.replace("INSERT", "INSERT OR REPLACE", 1), values)

    def _insert(self, statement: str, rows: Collection[list[object]]) -> None:
        self._db.executemany(statement.replace("INSERT", "INSERT OR IGNORE", 1), rows)

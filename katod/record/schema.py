"""The ledger's tables, and how its file is opened and migrated."""

import sqlite3
from pathlib import Path
from typing import Final

from katod.errors import LedgerError

# A change of the tables is a new entry; entries never change.
MIGRATIONS: Final = (
    """
    CREATE TABLE roots (path TEXT PRIMARY KEY, agent TEXT NOT NULL, swept_ns INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        agent TEXT NOT NULL, session TEXT NOT NULL, subagent TEXT NOT NULL,
        cwd TEXT NOT NULL DEFAULT '',
        facts TEXT,                    -- the fold up to the cursors; only while it may be kept
        seq INTEGER NOT NULL DEFAULT 0,
        output INTEGER,                -- the session's present output
        auto TEXT NOT NULL DEFAULT '', -- '' undecided, 'no', 'yes', 'off' after a stop
        near_misses INTEGER NOT NULL DEFAULT 0,
        UNIQUE (agent, session, subagent)
    );
    CREATE TABLE sources (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions,
        path TEXT NOT NULL UNIQUE,
        rollout TEXT NOT NULL,
        size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, dev INTEGER NOT NULL, ino INTEGER NOT NULL,
        history INTEGER NOT NULL,      -- how many of its bytes were there when it was first seen
        baseline INTEGER,              -- NULL until the file is first opened: then its last newline within those
        offset INTEGER NOT NULL, anchor_size INTEGER NOT NULL, anchor TEXT NOT NULL,
        translated INTEGER NOT NULL DEFAULT 0,  -- how far `state` has come; the rest was only scanned
        state TEXT, version INTEGER,
        read_ns INTEGER NOT NULL DEFAULT 0,     -- the file's own time when it was read last
        after_ns INTEGER NOT NULL DEFAULT 0,    -- after a rewrite: what was recorded before this time never commands
        gone INTEGER NOT NULL DEFAULT 0,
        problem TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX sources_of ON sources (session);
    CREATE TABLE outputs (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions,
        root TEXT NOT NULL, parts TEXT NOT NULL, path TEXT NOT NULL UNIQUE,
        format TEXT NOT NULL, version INTEGER NOT NULL,
        options TEXT NOT NULL, head TEXT NOT NULL,
        recorder TEXT,                 -- position among the ranges, format state
        made INTEGER NOT NULL DEFAULT 0,
        dev INTEGER NOT NULL DEFAULT 0, ino INTEGER NOT NULL DEFAULT 0,
        committed INTEGER NOT NULL DEFAULT 0, tail TEXT NOT NULL DEFAULT '',
        intent BLOB, bounds TEXT,
        behind TEXT,                   -- own reader, when it is not where the session's reader is
        problem TEXT NOT NULL DEFAULT '', attempts INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX outputs_of ON outputs (session);
    CREATE TABLE ranges (
        id INTEGER PRIMARY KEY,
        output INTEGER NOT NULL REFERENCES outputs,
        start TEXT NOT NULL, inclusive INTEGER NOT NULL, marked INTEGER NOT NULL, mark_at TEXT NOT NULL,
        start_time TEXT NOT NULL, finish TEXT NOT NULL, finish_time TEXT NOT NULL, finish_mark TEXT NOT NULL,
        switches TEXT NOT NULL
    );
    CREATE INDEX ranges_of ON ranges (output);
    CREATE TABLE applied (once INTEGER PRIMARY KEY);
    CREATE TABLE seen (
        session INTEGER NOT NULL, id INTEGER NOT NULL, seq INTEGER NOT NULL,
        PRIMARY KEY (session, id, seq)
    ) WITHOUT ROWID;
    CREATE TABLE refusals (
        id INTEGER PRIMARY KEY, session INTEGER NOT NULL, time TEXT NOT NULL, word TEXT NOT NULL, reason TEXT NOT NULL
    );
    CREATE TABLE projects (name TEXT PRIMARY KEY, path TEXT NOT NULL UNIQUE) WITHOUT ROWID;
    """,
    """
    ALTER TABLE sources ADD COLUMN since_ns INTEGER NOT NULL DEFAULT 0;  -- it was not there yet then
    ALTER TABLE seen ADD COLUMN source INTEGER NOT NULL DEFAULT 0;       -- where the event was first seen
    """,
    """
    ALTER TABLE outputs ADD COLUMN redactions INTEGER NOT NULL DEFAULT 0;  -- secrets that were replaced in it
    """,
)


def connect(path: Path) -> sqlite3.Connection:
    """Open the file for writing, every commit on disk before it returns."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=10)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_newer(version: int, path: Path) -> None:
    """Raise LedgerError for a ledger of a newer katod."""
    if version > len(MIGRATIONS):
        raise LedgerError("was written by a newer katod", path=path, hint="upgrade katod, or move the file away")


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the tables to the present version; raises LedgerError for a ledger of a newer katod."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    refuse_newer(version, path)
    for number in range(version, len(MIGRATIONS)):
        connection.executescript(f"BEGIN; {MIGRATIONS[number]} PRAGMA user_version = {number + 1}; COMMIT;")

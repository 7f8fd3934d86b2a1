"""The ledger's tables. A change of them is a new entry in `MIGRATIONS`; entries never change."""

from typing import Final

MIGRATIONS: Final = (
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
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
)

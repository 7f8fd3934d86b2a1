"""The projects that were recorded: their folders in the output directory, and which of them are worktrees."""

import sqlite3
from collections.abc import Collection
from typing import Final

from katod.slug import distinct
from katod.store.rows import WorktreeRow
from katod.store.tables import PROJECTS, WORKTREES

_ADD: Final = PROJECTS.insert.replace("INSERT", "INSERT OR IGNORE", 1)
_SET: Final = WORKTREES.insert.replace("INSERT", "INSERT OR REPLACE", 1)
_HAS_WORKTREES: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'worktrees'"


class Projects:
    """All projects of a ledger."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        # What directories in worktrees are in their repositories. One dictionary for good: policies refer to it.
        self.worktrees: dict[str, str] = {}
        self.reload()

    def reload(self) -> None:
        """Take the worktrees from the tables: at the beginning, and when a transaction was undone."""
        has_any = self._db.execute(_HAS_WORKTREES).fetchone() is not None  # one that is only read may lack the table
        rows = map(WORKTREES.read, self._db.execute(WORKTREES.select)) if has_any else ()
        now = {row.path: row.repository for row in rows}
        for path in self.worktrees.keys() - now.keys():
            del self.worktrees[path]
        self.worktrees.update(now)

    def folder(self, name: str, path: str) -> str:
        """Return the folder name of a project: its base name, with a short hash if another project has that name."""
        row = self._db.execute("SELECT name FROM projects WHERE path = ?", (path,)).fetchone()
        if row:
            return str(row[0])
        taken = self._db.execute("SELECT 1 FROM projects WHERE name = ?", (name,)).fetchone()
        return distinct(name, path) if taken else name

    def add(self, name: str, path: str) -> None:
        """Assign a folder name to a project permanently; does nothing if it has one."""
        self._db.execute(_ADD, (name, path))

    def add_worktree(self, path: str, repository: str) -> None:
        """Remember what a directory is in its repository: the worktree may be gone later."""
        self._db.execute(_SET, WORKTREES.values(WorktreeRow(path, repository)))
        self.worktrees[path] = repository

    def forget_unless(self, used: Collection[str], forgotten: Collection[str]) -> None:
        """Forget the folders of all projects but these, and of the repositories of these, and `forgotten` worktrees.

        A worktree of which nothing is recorded stays known, so that it stays excluded.
        """
        gone = self.worktrees.keys() & set(forgotten) - set(used)
        self._db.executemany("DELETE FROM worktrees WHERE path = ?", ((path,) for path in gone))
        for path in gone:
            del self.worktrees[path]
        kept = {*used, *self.worktrees.values()}
        paths = [path for (path,) in self._db.execute("SELECT path FROM projects") if path not in kept]
        self._db.executemany("DELETE FROM projects WHERE path = ?", ((path,) for path in paths))

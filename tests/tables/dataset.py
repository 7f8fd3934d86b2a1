"""A data set in a directory of a world: brought up to date, and read back."""

import re

PARTS = "*/*/*/*/part.parquet"
TABLES = ("sessions", "events", "messages", "calls", "usage", "edits")


class Tables:
    """The data set of a world."""

    def __init__(self, world, name="tables"):
        self.world = world
        self.root = world.home / name

    def export(self, *options, code=0):
        """Bring it up to date, and return what katod prints."""
        return self.world.cli("export", "--all", "-f", "parquet", "-o", str(self.root), *options, code=code).strip()

    def parts(self):
        """Return the paths of its files, by their names."""
        return {str(path.relative_to(self.root)): path for path in sorted(self.root.glob(PARTS))}

    def stamps(self):
        """Return what a stat says of each of its files."""
        return {name: (path.stat().st_ino, path.stat().st_mtime_ns) for name, path in self.parts().items()}

    def rows(self, table):
        """Return the rows of a table, as dictionaries, with the columns that are in the names of folders."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

        found = []
        for name, path in self.parts().items():
            if name.startswith(f"{table}/"):
                places = dict(re.findall(r"(machine|agent|month)=([^/]+)", name))
                found += [row | places for row in pq.ParquetFile(path).read().to_pylist()]
        return found

    def words(self):
        """Return the text of each message, by session and in order."""
        found = {}
        for row in self.rows("messages"):
            found.setdefault(row["session"].split(":")[1][:8], []).append(row["text"])
        return found

    def of(self, session):
        """Return how many rows each table has of a session."""
        found = {table: sum(session in row["session"] for row in self.rows(table)) for table in TABLES}
        return {table: count for table, count in found.items() if count}

    def content(self):
        """Return all rows of all tables, in an order of their own."""
        return {table: sorted(map(repr, self.rows(table))) for table in TABLES}

    def has(self, word):
        """Return the files, of any kind, in which a word is, in a dictionary or compressed column as well."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

        found = []
        for path in filter(lambda path: path.is_file(), self.root.rglob("*")):
            text = path.read_bytes()
            if path.suffix == ".parquet":
                file = pq.ParquetFile(path)
                text += repr(file.read().to_pylist()).encode() + repr(file.metadata.to_dict()).encode()
            found += [path] if word.encode() in text else []
        return found

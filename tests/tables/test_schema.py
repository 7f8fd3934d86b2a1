"""The tables and their columns."""

from katod.tables.schema import OF_EVENTS, TABLES, TableSpec

# In the names of folders: engines would have these columns twice.
PLACES = {"machine", "agent", "month"}


def test_the_columns_of_a_table_have_names_of_their_own():
    """In snake case, none that is in the names of folders, the session first; all tables have it."""
    assert [table.name for table in TABLES] == ["sessions", "events", "messages", "calls", "edits", "usage"]
    assert len(OF_EVENTS) == 5
    for table in TABLES:
        assert isinstance(table, TableSpec)
        assert len({*table.names} | PLACES) == len(table.names) + len(PLACES)
        assert table.names[0] == "session"
        assert all(name.replace("_", "").isalnum() and name == name.lower() for name in table.names)
        assert all(column.about for column in table.columns)

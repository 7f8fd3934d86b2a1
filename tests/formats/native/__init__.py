"""What becomes of each field that an agent records: in the events, and in every format made of them.

Each agent has a module with sessions in its own form, and its fields as data; `kinds.py` has the kinds of events.
`finding.py` reads the sessions as an export does and finds where a value went, and `table.py` makes the tables of
`katod/formats/docs/fields.md` from that.
"""

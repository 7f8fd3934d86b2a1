"""The ledger: what katod remembers, in a single SQLite file."""

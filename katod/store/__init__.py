"""The ledger: what katod remembers, in one SQLite file."""

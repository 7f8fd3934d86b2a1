"""Incremental reading of session files: bytes are framed into lines, lines decoded into records."""

"""New bytes of a session file: framed into lines, decoded into records."""

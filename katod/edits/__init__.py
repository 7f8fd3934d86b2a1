"""What the edits of a session did to which lines of which files, kept as hashes."""

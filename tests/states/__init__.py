"""States of sessions, compared with recordings of another program that watched the same agents at work."""

"""One session as it happens: its messages from its files, each once, for all viewers."""

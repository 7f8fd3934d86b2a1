"""Tokens and cost over all sessions: counted from the agents' own files, each answer once. No text is kept."""

"""Saves sessions that their agents are about to delete, if the person asked for it (`recording.rescue`)."""

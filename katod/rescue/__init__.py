"""Saves sessions that their agents are about to delete, if the user asked for it (`recording.rescue`)."""

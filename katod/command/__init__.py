"""Commands typed in the chat: parsed, resolved to a file, decided. Pure, except for looking at the disk."""

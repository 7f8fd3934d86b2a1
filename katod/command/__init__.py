"""What a person types in the chat: parsed, aimed at a file, decided. Pure but for the look at the disk."""

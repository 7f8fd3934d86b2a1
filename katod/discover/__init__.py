"""Finding session files: where agents keep them, what their paths say, and which of them changed."""

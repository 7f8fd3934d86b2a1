"""Finding session files: where agents keep them, what their paths tell, which of them changed."""

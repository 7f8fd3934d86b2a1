"""Full-text search by scan: over transcripts, and on demand over the agents' own files. Nothing is kept or indexed."""

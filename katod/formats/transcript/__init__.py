"""The transcript, which Markdown, HTML, briefs and pull requests share."""

"""Claude Code (format notes, part A)."""

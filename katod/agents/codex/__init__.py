"""Codex (format notes, part B)."""

"""Delivers recordings to a Matrix room, if one is configured: the only part of katod that opens a connection."""

"""Delivers recordings to a Matrix room, if one is configured."""

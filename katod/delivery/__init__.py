"""Recordings delivered elsewhere as they are made: what all destinations share. Only this part opens connections."""

"""Recordings delivered elsewhere as they are made: what all destinations share."""

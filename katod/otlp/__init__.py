"""Sends the spans of recordings to a collector, if one is configured."""

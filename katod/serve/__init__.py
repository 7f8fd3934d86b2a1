"""`katod serve`: sessions live for clients of CodingBridge and for browsers, read-only."""

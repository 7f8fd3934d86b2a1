"""`katod serve`: sessions live for clients of CodingBridge and for browsers. Session files are only read."""

"""The formats: pure functions from events to the text of one output."""

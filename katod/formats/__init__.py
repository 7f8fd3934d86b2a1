"""The formats: pure, from events to the text of one output."""

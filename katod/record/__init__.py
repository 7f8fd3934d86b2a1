"""What is remembered of each conversation, and which of its events go where, once."""

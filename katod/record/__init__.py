"""What katod remembers about each conversation, and which of its events go where, once."""

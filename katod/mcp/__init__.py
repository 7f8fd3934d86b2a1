"""Recorded sessions for other agents, over the Model Context Protocol: only read, and always without secrets."""

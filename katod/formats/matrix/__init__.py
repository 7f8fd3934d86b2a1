"""The events of a Matrix room, as lines."""

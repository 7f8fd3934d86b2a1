"""CodingBridge: its messages over a WebSocket, and its lists and pages over GET."""

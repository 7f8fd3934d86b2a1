"""The messages of CodingBridge: from events to what its viewers show."""

"""OpenTelemetry spans of a conversation: from events to lines of OTLP/JSON."""

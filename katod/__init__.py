"""katod: own your AI conversations."""

__version__ = "0.1.0"

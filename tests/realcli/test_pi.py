"""The real Pi, recorded live: a recording contains exactly what the model's own log has for that range."""

import pytest

from .pi import Pi
from .scenario import hold_in_terminal

pytestmark = pytest.mark.slow
CLIENT = Pi


def test_a_conversation_in_a_terminal_is_recorded_as_it_was_typed(play):
    """Only typed and pasted commands act, each once, and none again after an interruption."""
    hold_in_terminal(play, "jsonl")

"""The real Cline, recorded live: a recording contains exactly what the model's own log has for that range."""

import pytest

from .cline import Asking, Cline
from .dialogs import hold_in_dialogs
from .gone import hold_until_killed
from .scenario import hold_in_terminal

pytestmark = pytest.mark.slow
CLIENT = Cline


def test_a_conversation_in_a_terminal_is_recorded_as_it_was_typed(play):
    """Only typed and pasted commands act, each once, and none again after an interruption."""
    hold_in_terminal(play, "jsonl")


def test_a_long_paste_a_refusal_and_a_new_session_are_what_they_are(stage):
    """Nothing pasted acts, no command acts again after a refusal or an interrupted tool, and a new session is said."""
    hold_in_dialogs(stage(Asking))


def test_states_are_right_until_the_client_is_killed(stage):
    """A refusal ends the turn, and nobody works once the client is gone."""
    hold_until_killed(stage(Asking))

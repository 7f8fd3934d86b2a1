"""Real clients in a terminal, recorded live: a recording contains exactly what the model's own log has for that range.

Those that have more to be tested have a module of their own.
"""

import pytest

from . import cline, copilot, kimi, pi, qwen
from .dialogs import hold_in_dialogs
from .expanded import hold_with_files
from .gone import hold_until_killed
from .scenario import hold_in_terminal

pytestmark = pytest.mark.slow
# Each client, and the same if it asks before a tool call; Pi never asks.
CLIENTS = {
    cline.Cline: cline.Asking,
    copilot.Copilot: copilot.Asking,
    kimi.Kimi: kimi.Asking,
    pi.Pi: pi.Pi,
    qwen.Qwen: qwen.Asking,
}


@pytest.fixture(scope="module", params=CLIENTS, ids=lambda client: client.agent)
def client(request):
    """Each client in turn."""
    return request.param


@pytest.fixture
def asking(stage, client):
    """A play with a client that asks."""
    return stage(CLIENTS[client])


def test_a_conversation_in_a_terminal_is_recorded_as_it_was_typed(play):
    """Only typed and pasted commands act, each once, and none again after an interruption."""
    hold_in_terminal(play, "jsonl")


def test_a_long_paste_a_refusal_and_a_new_session_are_what_they_are(asking):
    """Nothing pasted acts, no command acts again after a refusal or an interrupted tool, and a new session is said."""
    hold_in_dialogs(asking)


def test_states_are_right_until_the_client_is_killed(asking):
    """A refusal ends the turn, a tool that was interrupted is no failure, and nobody works once the client is gone."""
    hold_until_killed(asking)


def test_no_file_that_a_prompt_is_made_of_is_typed(play):
    """Neither a command or a skill of the project, nor a file that a prompt names."""
    hold_with_files(play)

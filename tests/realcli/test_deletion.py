"""Real clients that delete old sessions when they start: katod has saved each, and puts one back that goes on."""

import json

import pytest

from .claude import Claude
from .deletion import hold_while_old_ones_are_deleted
from .gemini import Gemini

pytestmark = pytest.mark.slow


class ForgetfulGemini(Gemini):
    """A client with its default settings."""

    forgets = True


def _resume_claude(path):
    return ("--resume", path.stem)


def _resume_gemini(path):
    session = json.loads(path.read_text().splitlines()[0])["sessionId"]
    return ("-y", "-m", "gemini-2.5-pro", "--resume", session)


RESUME = {Claude: _resume_claude, ForgetfulGemini: _resume_gemini}


@pytest.fixture(scope="module", params=RESUME, ids=lambda client: client.agent)
def client(request):
    """The kind of client."""
    return request.param


def test_what_a_client_deletes_is_saved(play, client):
    """All of 200, none of an excluded project, and none that its person deleted."""
    hold_while_old_ones_are_deleted(play, RESUME[client])

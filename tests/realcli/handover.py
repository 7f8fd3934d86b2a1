"""A brief of one agent's session, given to a real client of another: the model hears it whole, and no secret."""

import re

from tests.formats.redact.foreign.cases import cases, pieces
from tests.support.records import says, user
from tests.support.world import World

from .model_server import WHOLE

BUDGET = 6_000
TURNS = 40


def take_over(play, other):
    """Give the client a brief of a session of another agent, and compare what its model heard with it."""
    brief, secrets = _brief(play, other)
    play.client.begin(f"{WHOLE} Go on with this work.\n\n{brief}")
    heard, answer = play.log()[-2:]
    assert heard["text"].endswith(brief)
    assert answer["event"] == "answer"
    assert len(brief) <= BUDGET
    assert brief.count("\n") > 40
    assert "The task is to move the shop to SQLite" in heard["text"]
    assert f"answer {TURNS - 1}" in heard["text"]
    assert not [secret for secret in secrets if secret in heard["text"]]


def _brief(play, other):
    """Return a brief of a session in which each turn tells a secret of another kind, and the secrets."""
    world = World(play.client.home.parent / "others", seen_empty=False)
    session = world.session(1, other)
    told = [case for case in cases(per_kind=1) if len(case.text) < 300]
    told = told[:: len(told) // TURNS][:TURNS]
    session.say(user("The task is to move the shop to SQLite."), says("I begin."))
    for number, case in enumerate(told):
        session.say(user(f"step {number}: {case.text}"), says(f"answer {number}: {case.text}"))
    brief = world.katod("handoff", "latest", "--budget", str(BUDGET)).stdout.decode().rstrip("\n")
    return brief, [piece for case in told for piece in pieces(case.secret) if re.search(r"\d", piece)]

"""Secrets from record to output: in messages, prompts, calls and tool results of every agent, in every format."""

import pytest

from tests.examples import mostly
from tests.support.records import MAKERS, OF_EACH_NATURE, UNKNOWN, calls, result, says, user

KEYS = [f"{number}abcdefghijKLMNOPQRSTUVWXYZ0123456789"[:36] for number in range(10, 20)]


def token(number):
    """Return a token, put together here so that no scanner takes it for a real one."""
    return "gh" + "p_" + KEYS[number]


def talk(maker, name):
    """Put secrets everywhere they can appear, the first one where the title comes from."""
    maker.say(user(f"::start {name} +tools +thinking\nuse {token(0)} to log in"), says(f"so {token(1)} it is"))
    maker.say(calls("call-1", f"curl -H 'X: {token(2)}' example.org"), result("call-1", f"{token(3)}\nok"))
    maker.say(UNKNOWN._replace(text=token(4)), user(f"and `{token(5)}`"), says(f"```\n{token(6)}\n```"))
    maker.say(says(f"export PASSWORD='{KEYS[7]}'"), user(f"::export all.jsonl\n{token(8)}"), says("done"))
    maker.world.once()


def told(folder):
    """Return the numbers of the secrets that appear in a folder's files or their names."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    content = b"\n".join([*(path.read_bytes() for path in files), *(str(path).encode() for path in files)])
    return [number for number, key in enumerate(KEYS) if key.encode() in content]


@pytest.mark.fault("secrets")
@pytest.mark.parametrize(
    "name",
    ["", pytest.param("talk.md", marks=pytest.mark.slow), pytest.param("talk.jsonl", marks=pytest.mark.slow)],
    ids=["named by its title", "markdown", "jsonl"],
)
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_no_secret_reaches_a_file_of_katod(world, make, name):
    """No output, file name or ledger contains a secret, and each recording shows how many were redacted."""
    talk(make(world), name)
    assert told(world.home / "katod") == []
    assert told(world.state) == []
    status = world.status()
    assert all(row["redactions"] >= 5 for row in status["recordings"] + status["ended"])


@pytest.mark.parametrize("name", ["talk.md", pytest.param("talk.jsonl", marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_what_was_said_stands_there_where_the_person_wants_it(world, make, name):
    """With `content.redact = false`, secrets appear where the test above looks for them; titles are still redacted."""
    world.config.write_text("[content]\nredact = false\n")
    talk(make(world), name)
    assert set(told(world.home / "katod")) >= {0, 1, 5, 6, 7, 8}
    if name == "talk.md":
        assert KEYS[0] not in world.written()[name].partition("\n## ")[0]

"""Secrets on their whole way: said, typed, called, printed by tools, of every agent, into every format."""

import pytest

from tests.examples import mostly
from tests.support.records import MAKERS, OF_EACH_NATURE, UNKNOWN, calls, result, says, user

KEYS = [f"{number}abcdefghijKLMNOPQRSTUVWXYZ0123456789"[:36] for number in range(10, 20)]


def token(number):
    """A token that no scanner takes for a real one: it is put together here."""
    return "gh" + "p_" + KEYS[number]


def talk(maker, name):
    """Say a secret in every way that there is, the first one where the title comes from."""
    maker.say(user(f"::start {name} +tools +thinking\nuse {token(0)} to log in"), says(f"so {token(1)} it is"))
    maker.say(calls("call-1", f"curl -H 'X: {token(2)}' example.org"), result("call-1", f"{token(3)}\nok"))
    maker.say(UNKNOWN._replace(text=token(4)), user(f"and `{token(5)}`"), says(f"```\n{token(6)}\n```"))
    maker.say(says(f"export PASSWORD='{KEYS[7]}'"), user(f"::export all.jsonl\n{token(8)}"), says("done"))
    maker.world.once()


def told(folder):
    """Which of the secrets stand in the files of a folder, or in their names."""
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
    """Not an output, not a name, not the ledger; and each recording says how many were replaced."""
    talk(make(world), name)
    assert told(world.home / "katod") == []
    assert told(world.state) == []
    status = world.status()
    assert all(row["redactions"] >= 5 for row in status["recordings"] + status["ended"])


@pytest.mark.parametrize("name", ["talk.md", pytest.param("talk.jsonl", marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_what_was_said_stands_there_where_the_person_wants_it(world, make, name):
    """With `content.redact = false`: the test above looks where they would be. A title is redacted all the same."""
    world.config.write_text("[content]\nredact = false\n")
    talk(make(world), name)
    assert set(told(world.home / "katod")) >= {0, 1, 5, 6, 7, 8}
    if name == "talk.md":
        assert KEYS[0] not in world.written()[name].partition("\n## ")[0]

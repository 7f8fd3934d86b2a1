"""Each agent's sessions live: what is sent as they grow is what is read again, from any place."""

import asyncio
from urllib.parse import quote

import pytest

from tests.examples import mostly
from tests.serve.serving import ids, serving
from tests.support.records import MAKERS, OF_EACH_NATURE, calls, result, says, user


async def row_of(app):
    app.hub.index._looked = app.hub.index._swept = -99.0
    (row,) = (await app.ask("/sessions/recent")).json["sessions"]
    return row


async def read_again(app, row):
    path = f"/projects/{quote(row['projectPath'], safe='')}/sessions/{row['id']}/messages"
    body = (await app.ask(f"{path}?limit=100&order=asc&denormalize=false")).json
    return [one["id"] for one in body["messages"]]


async def heard(app, client, count):
    """Return the ids of what is sent, as soon as there are so many; changes are hinted at until then."""
    found = []
    async with asyncio.timeout(20):
        while len(found) < count:
            app.hub._changed(set())
            found += ids(await client.listen(0.05))
    return found


@pytest.mark.parametrize("maker", mostly(OF_EACH_NATURE, MAKERS), ids=lambda maker: maker.__name__)
def test_live_equals_what_is_read_again(world, maker):
    """And every message is a place from which a client that comes back is sent exactly the rest."""
    session = maker(world)
    session.say(user("begin here"), says("with pleasure"))

    async def work():
        async with serving(world) as app:
            row = await row_of(app)
            async with app.socket() as client:
                _, history = await client.start(row["id"], row["projectPath"])
                begun = await read_again(app, row)
                assert len(history["messages"]) == len(begun)
                session.say(user("more"), says("of that"))
                if "result" not in maker.ABSENT:
                    session.say(calls("call_1", "ls"), result("call_1", "a b"))
                session.say(says("the end"))
                wanted = await read_again(app, row)
                live = await heard(app, client, len(wanted) - len(begun))
            assert begun + live == wanted
            for at, since in enumerate(wanted):
                async with app.socket() as client:
                    assert ids(await client.missed(row["id"], since)) == wanted[at + 1 :]

    asyncio.run(work())


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_a_session_that_is_rewritten_goes_on(world, maker):
    """What was sent is not sent again."""
    session = maker(world)
    session.say(user("begin here"), says("with pleasure"), user("more"), says("of that"))

    async def work():
        async with serving(world) as app:
            row = await row_of(app)
            async with app.socket() as client:
                await client.start(row["id"], row["projectPath"])
                session.rewrite()
                app.hub._changed(set())
                assert ids(await client.listen(0.3)) == []
                session.say(user("after that"))
                found = await heard(app, client, 1)
            assert found[0] in await read_again(app, row)

    asyncio.run(work())

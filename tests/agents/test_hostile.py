"""Records of any shape: whatever an agent writes, nothing raises, and every event can be rendered."""

import copy
from itertools import chain
from pathlib import Path
from typing import Any, Final

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents.base import Origin
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, Line, Options, SessionKey
from katod.record.stream import Translation
from tests.examples import examples, texts
from tests.support.records import MAKERS, UNKNOWN, Maker, calls, result, says, user
from tests.support.rendering import Rendering
from tests.support.world import World

LEAVES: Final = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts(max_size=20),
    st.sampled_from(
        [
            "::start evil",
            "\x1b[31m",
            "\u202e",
            "```",
            "<script>",
            "9999-99-99T99:99:99Z",
            "1e400",
            "../../x",
            "٣",
            "²",
            "9" * 400,
            "\u2028",
            "\0",
        ]
    ),
)
VALUES: Final = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(max_size=8), inner, max_size=4),
    max_leaves=8,
)
OPTIONS: Final = Options(tools="full", thinking=True, subagents=True, attachments="save")


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in a record."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [place for key, item in items for place in ((*at, key), *places(item, (*at, key)))]


def changed(record: dict[str, Any], at: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return the record with another value in one place."""
    found = copy.deepcopy(record)
    here: Any = found
    for key in at[:-1]:
        here = here[key]
    if isinstance(here, dict) != isinstance(at[-1], str):
        raise KeyError
    here[at[-1]] = value
    return found


def run(agent: str, records: list[dict[str, Any]]) -> None:
    """Translate the records and render them in every format."""
    identity = Identity(SessionKey(agent, "s"))
    metadata = SessionMetadata(identity.key)
    translation = Translation(Origin(identity, Path("/nowhere/s.jsonl")), metadata, EventLog())
    renderings = [Rendering(name, options) for name in FORMATS for options in (OPTIONS, Options())]
    lines = [Line(n * 100, n * 100 + 100, orjson.dumps(record)) for n, record in enumerate(records)]
    for event in chain.from_iterable([*translation.feed(lines), *translation.finish()]):
        metadata.observe(event)
        for rendering in renderings:
            rendering.take(event, metadata)
        metadata.close(event)
    for rendering in renderings if metadata.last else ():
        rendering.text(metadata).encode("utf-8", "replace")
    assert orjson.dumps(translation.state())


Places = list[tuple[int, tuple[Any, ...]]]


@pytest.fixture(scope="module", params=MAKERS, ids=lambda maker: maker.__name__)
def spoken(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, list[dict[str, Any]], Places]:
    """Return an agent, the records of a conversation with something of each kind, and every path in them."""
    with pytest.MonkeyPatch.context() as patch:
        maker: Maker = request.param(World(tmp_path_factory.mktemp("spoken") / "home", patch, seen_empty=False))
        maker.say(user("hello"), says("hi"), calls("call-1", "make"), result("call-1", "done"), UNKNOWN, says("bye"))
        maker.put(*maker.wrapped("wrapped"))
        records = maker.document() or maker.items
    return maker.agent, records, [(n, place) for n, record in enumerate(records) for place in places(record)]


@pytest.mark.fault("hostile record")
@examples(5, 200)
@given(data=st.data())
def test_no_shape_of_a_record_raises(spoken: tuple[str, list[dict[str, Any]], Places], data: st.DataObject) -> None:
    """Any value anywhere raises no exception."""
    agent, records, every = spoken
    hostile = list(records)
    for (n, place), value in data.draw(st.lists(st.tuples(st.sampled_from(every), VALUES), min_size=1, max_size=3)):
        try:
            hostile[n] = changed(hostile[n], place, value)
        except (KeyError, IndexError, TypeError):
            continue  # the place no longer exists after another change
    run(agent, hostile)

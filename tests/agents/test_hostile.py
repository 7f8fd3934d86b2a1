"""Records of any shape: whatever an agent writes, nothing raises, and every event can be rendered."""

import copy
import random
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.agents import AGENTS
from katod.agents.base import Origin
from katod.events import from_json, to_json
from katod.formatspec import FORMATS
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Identity, Line, Options, SessionKey
from katod.record.translation import Translation
from tests.examples import examples, number, texts
from tests.looping import each
from tests.support.records import MAKERS, UNKNOWN, Cursor, Maker, calls, result, says, user
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
FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
MISSING: Final = object()
WRONG: Final = (MISSING, None, "", 7, 0.0, -1, True, [], {}, ["a"], {"a": "b"})
Case = TypeVar("Case")
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


def without(record: dict[str, Any], at: tuple[Any, ...]) -> dict[str, Any]:
    """Return the record without one place."""
    found = copy.deepcopy(record)
    here: Any = found
    for key in at[:-1]:
        here = here[key]
    del here[at[-1]]
    return found


def records_of(agent: str) -> list[dict[str, Any]]:
    """Return the records in the fixtures of an agent, one of each shape."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted((FIXTURES / agent).rglob("*.json*")):
        data = path.read_bytes()
        for line in data.splitlines() if path.suffix == ".jsonl" else [data]:
            with suppress(orjson.JSONDecodeError):
                record = orjson.loads(line)
                found[repr((record.get("type"), places(record)))] = record
    return list(found.values())


def damaged(records: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], tuple[Any, ...], Any]]:
    """Return every place in records, with every value that is to stand there instead."""
    return [(record, place, value) for record in records for place in places(record) for value in WRONG]


def sampled(cases: list[Case], most: int) -> list[Case]:
    """Return so many of the cases at most, the same ones each time."""
    return random.Random(0).sample(cases, min(most, len(cases)))


def run(agent: str, records: list[dict[str, Any]]) -> None:
    """Translate the records and render them in every format."""
    identity = Identity(SessionKey(agent, "s"))
    metadata = SessionMetadata(identity.key)
    translation = Translation(Origin(identity, Path("/nowhere/s.jsonl")), metadata, EventLog())
    renderings = [Rendering(name, options) for name in FORMATS for options in (OPTIONS, Options())]
    lines = [Line(n * 100, n * 100 + 100, orjson.dumps(record)) for n, record in enumerate(records)]
    for event in chain.from_iterable([*translation.feed(lines), *translation.finish()]):
        from_json(to_json(event))
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
@examples(3, 200)
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


@pytest.mark.slow
@pytest.mark.fault("hostile record")
@each("agent", sorted(AGENTS))
def test_an_event_has_what_its_kind_needs_whatever_a_record_lacks(agent: str) -> None:
    """A record of the fixtures of which one field is missing, or is of another type, gives events that can be read."""
    identity = Identity(SessionKey(agent, "s"))
    origin = Origin(identity, Path("/nowhere/s.jsonl"))
    for record, place, value in sampled(damaged(records_of(agent)), number(100, 40_000)):
        translation = Translation(origin, SessionMetadata(identity.key), EventLog())
        line = orjson.dumps(without(record, place) if value is MISSING else changed(record, place, value))
        for event in chain.from_iterable([*translation.feed([Line(0, len(line), line)]), *translation.finish()]):
            assert from_json(orjson.loads(orjson.dumps(to_json(event)))), (event, place, value)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_half_a_character_in_a_session_hides_nothing_else(world: World, make: type[Maker]) -> None:
    """As clients write it whose language counts text in halves: in a line, in a document, and in a database."""
    maker = make(world)
    maker.say(user("one (half) two"), says("answer"))
    for path in world.home.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"(half)", b"\\ud83d"))  # as long, for the databases
    world.cli("export", "--all", "-o", str(world.home / "exports"))
    [export] = (world.home / "exports").rglob("*.md")
    text = export.read_text()
    assert "two" in text
    assert "answer" in text


@pytest.mark.parametrize("make", [make for make in MAKERS if make is not Cursor], ids=lambda make: make.__name__)
def test_half_a_character_does_not_let_a_session_out_of_an_excluded_project(world: World, make: type[Maker]) -> None:
    """Wherever the agent says which project it is; Cursor does so in a file that may be missing."""
    world.configure(exclude=["/home/me/secret"])
    maker = make(world, cwd="/home/me/secret")
    maker.say(user("one (half) two"), says("answer (half)"), calls("call-1", "make"), result("call-1", "(half)"))
    for path in world.home.rglob("*"):
        if path.is_file() and b"(half)" in (data := path.read_bytes()):
            path.write_bytes(data.replace(b"(half)", b"\\ud83d"))
    world.cli("export", "--all", "-o", str(world.home / "exports"))
    assert not [*(world.home / "exports").rglob("*.md")]

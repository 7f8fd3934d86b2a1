"""Hostile records from file to output: whatever one contains, the records after it are read, and nothing raises."""

import copy
import json

import orjson
import pytest

from katod.record.sample import NOT_UNDERSTOOD
from tests.examples import mostly
from tests.support.records import MAKERS, OF_EACH_NATURE, Maker, OpenCode, OpenCode2, calls, result, says, user

pytestmark = pytest.mark.fault("hostile record")

LINES = [make for make in MAKERS if not make.IS_DOCUMENT]
DEPTHS = (1_000, 1_025, 100_000)
DIGITS = "123456789012345678901234567890"
# JSON that strict parsers reject or misinterpret.
VALUES = [
    *("[" * depth + "]" * depth for depth in DEPTHS),
    *('{"a":' * depth + "1" + "}" * depth for depth in DEPTHS),
    "1e400", "-1e400", DIGITS, DIGITS * 100, "NaN", "-Infinity", '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"',
    '"\u2028\u2029\x85"', '{"id":{"id":{}}}', "null", "-0.0", '""',
]  # fmt: skip
SMALL = [value for value in VALUES if len(value) < 10_000]
# Parameters for tests that hardly differ between agents: all agents, most of them marked slow.
FEW = [pytest.param(make, marks=[] if make.__name__ in ("Claude", "Codex") else pytest.mark.slow) for make in LINES]
# Lines that are not records; each is recorded as a raw event.
BROKEN = [
    b"{", b"}", b"nonsense", b"[1,2]", b"null", b"17", b'"words"', b'{"type":', b'{"type":"user"', b"{'type':'user'}",
    b"\xff\xfe{}", b"\xc3\x28", b"<html>", b"-" * 5000, b"[" * 100_000, b'{"a":' * 100_000, b"\xef\xbb\xbf", b'{"type":"us\xff',
]  # fmt: skip


def good(number):
    """Return a message that shows that its record was read."""
    return f"GOOD-{number:04d}."


def read_good(events):
    """Return the recorded good messages."""
    kinds = ("user.message", "assistant.message")
    return [
        row["payload"]["text"] for row in events if row["kind"] in kinds and row["payload"]["text"].startswith("GOOD")
    ]


class Scene:
    """A recorded session and its output."""

    def __init__(self, world, make: type[Maker]):
        self.world, self.maker, self.count = world, make(world), 0
        self.maker.say(user("::start log.jsonl"), calls("call-1", "make"), result("call-1", "done"))
        world.once()

    def write(self, *lines: bytes):
        """Write each line, followed by a good message."""
        with self.maker.path.open("ab") as file:
            for line in lines:
                file.write(line + b"\n")
                self.good(file)

    def good(self, file):
        """Write a good message."""
        records = self.maker.records(says(good(self.count)))
        file.write(b"".join(orjson.dumps(record) + b"\n" for record in records))
        self.count += 1

    def events(self):
        """Process everything and return the recorded events."""
        self.world.once()
        status = self.world.status()
        assert (status["problems"], status["parked"]) == ([], [])
        self.world.assert_live_is_batch()
        return recorded(self.world)

    def assert_all_good_are_read(self):
        """Assert that every good message is recorded once and in order; return the events."""
        events = self.events()
        assert read_good(events) == [good(number) for number in range(self.count)]
        ids = [row["id"] for row in events]
        assert len(ids) == len(set(ids))
        return events


def recorded(world):
    """Return the events of the only output."""
    (text,) = world.written().values()
    return [orjson.loads(line) for line in text.split("\n") if line]


def set_aside(events):
    """Return the raw events of records that could not be read or translated."""
    problems = ("not valid JSON", "not an object", "unexpected shape")
    return [row for row in events if row["kind"] == "provider.raw" and row["payload"]["rawType"] in problems]


def spelled(record, value):
    """Return the record as JSON, with each MARK replaced by this value."""
    return json.dumps(record).replace('"MARK"', value).encode("utf-8", "surrogatepass")


def places(value, at=()):
    """Return the path of every value in a record."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    return [place for key, item in items for place in ((*at, key), *places(item, (*at, key)))]


def changed(record, place, *value):
    """Return a copy of the record with another value at a path, or without the value there."""
    found = copy.deepcopy(record)
    here = found
    for key in place[:-1]:
        here = here[key]
    if value:
        here[place[-1]] = value[0]
    else:
        del here[place[-1]]
    return found


@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, LINES), ids=lambda make: make.__name__)
def test_a_broken_line_costs_one_record(world, make):
    """Each line that is not a record is kept whole as one raw event, and the messages around it are read."""
    scene = Scene(world, make)
    before = len(set_aside(scene.events()))
    scene.write(*BROKEN[:9])
    world.once()
    scene.write(*BROKEN[9:])
    assert len(set_aside(scene.assert_all_good_are_read())) - before == len(BROKEN)


@pytest.mark.parametrize("make", FEW, ids=lambda make: make.__name__)
def test_what_is_no_character_costs_nothing(world, make):
    """Byte order marks, NUL bytes, CRLF and Unicode line separators neither split nor hide a record."""
    scene = Scene(world, make)
    record = scene.maker.records(says("hello \u2028 \u2029 \x85 \x00 words"))[0]
    line = json.dumps(record, ensure_ascii=False).encode()
    scene.write(
        line + b"\r",
        line.replace(b"words", b"wo\0rds"),
        b"\0" * 5000 + line,
        b"\xef\xbb\xbf" + line,
        b"",
        b"\r",
        b"  ",
        b"\0\0",
    )
    assert len(set_aside(scene.assert_all_good_are_read())) <= 1  # valid only at the start of a file


@pytest.mark.slow
@pytest.mark.parametrize("values", [SMALL, pytest.param(VALUES, marks=pytest.mark.slow)], ids=["small", "all"])
@pytest.mark.parametrize("make", mostly(OF_EACH_NATURE, LINES), ids=lambda make: make.__name__)
def test_a_hostile_value_costs_its_record_at_most(world, make, values):
    """Deep nesting, numbers, surrogates: wherever such a value appears, it affects only its own record."""
    scene = Scene(world, make)
    maker = scene.maker
    records = [record for said in (user("MARK"), says("MARK"), calls("MARK", "MARK")) for record in maker.records(said)]
    records += [record | {"id": "MARK", "uuid": "MARK", "MARK": 1} for record in records]
    lines = [spelled(record, value) for record in records for value in values]
    scene.write(*lines)
    assert len(set_aside(scene.assert_all_good_are_read())) <= len(lines)


@pytest.mark.slow
@pytest.mark.parametrize("make", FEW, ids=lambda make: make.__name__)
def test_any_key_may_be_missing_or_of_another_kind(world, make):
    """A record that lacks one of its keys, or has an object in place of any value, hides no other record."""
    scene = Scene(world, make)
    said = (user("bad"), says("bad"), calls("call-2", "bad"), result("call-2", "bad"))
    records = [record for one in said for record in scene.maker.records(one)]
    hostile = [changed(record, place) for record in records for place in places(record)]
    hostile += [changed(record, place, {"id": [place]}) for record in records for place in places(record)]
    scene.write(*map(orjson.dumps, hostile))
    scene.assert_all_good_are_read()


@pytest.mark.parametrize("make", FEW, ids=lambda make: make.__name__)
def test_parents_in_a_circle_and_keys_that_come_twice(world, make):
    """Records that are each other's parent, and a record with duplicate keys, are read like any other."""
    scene = Scene(world, make)
    one, other = (scene.maker.records(says(text))[0] for text in ("one", "other"))
    names = [key for key in ("parentUuid", "parentId", "parent_id", "parentID") if key in one] or ["parentId"]
    own = next((str(record[key]) for record in (other,) for key in ("uuid", "id") if key in record), "x")
    circle = [one | dict.fromkeys(names, own), other | dict.fromkeys(names, str(one.get("uuid", one.get("id", "y"))))]
    twice = json.dumps(scene.maker.records(says("first"))[0])
    scene.write(*map(orjson.dumps, circle), (twice[:-1] + "," + twice[1:]).encode())
    scene.write(orjson.dumps(one | dict.fromkeys(names, own) | {"isSidechain": False}))
    scene.assert_all_good_are_read()


@pytest.mark.slow
def test_a_row_of_a_database_may_hold_anything(world):
    """Rows whose columns contain hostile values, or no JSON at all, do not hide the messages around them."""
    maker = OpenCode2(world)
    maker.say(user("::start log.jsonl"), says(good(0)))
    world.once()
    row = json.dumps(maker.row("assistant", content=[{"type": "text", "text": "MARK"}], finish="stop")["data"])
    hostile = [data for value in VALUES for data in (row.replace('"MARK"', value), value, value[:-1])]
    for number, data in enumerate(hostile):
        values = (f"msg_bad{number}", maker.id, "assistant", maker.next(), data)
        maker.run(("INSERT INTO session_message VALUES (?,?,?,?,1,1,?)", values))
    maker.say(says(good(1)))
    world.once()
    assert [row["problem"] for row in world.status()["problems"]] == [NOT_UNDERSTOOD]
    assert read_good(recorded(world)) == [good(0), good(1)]


def test_a_row_of_an_older_database_may_hold_anything(world):
    """Parts whose columns contain hostile values, or no JSON at all, do not hide the messages around them."""
    maker = OpenCode(world)
    maker.say(user("::start log.jsonl"), says(good(0)))
    world.once()
    row = maker.message("assistant", parentID=maker.prompt, modelID="glm-5", time={"completed": 1})
    part = json.dumps(maker.part(row, type="text", text="MARK", time={"start": 1, "end": 2})["data"])
    maker.put(row)
    hostile = [data for value in VALUES for data in (part.replace('"MARK"', value), value, value[:-1])]
    for number, data in enumerate(hostile):
        maker.run(("INSERT INTO part VALUES (?,?,?,1,1,?)", (f"prt_bad{number}", row["id"], maker.id, data)))
    no_text = part.encode().replace(b"MARK", b"\xff")
    maker.run(("INSERT INTO part VALUES (?,?,?,1,1,CAST(? AS TEXT))", ("prt_no_text", row["id"], maker.id, no_text)))
    maker.say(says(good(1)))
    world.once()
    assert [row["problem"] for row in world.status()["problems"]] == [NOT_UNDERSTOOD]
    assert read_good(recorded(world)) == [good(0), good(1)]


@pytest.mark.parametrize("values", [VALUES, VALUES[2 * len(DEPTHS) :]], ids=["too deep", "readable"])
def test_a_document_may_hold_anything(world, values):
    """Messages with hostile values affect only themselves, or delay reading until the next document."""
    maker = next(make for make in MAKERS if make.__name__ == "GeminiDocument")(world)
    maker.say(user("::start log.jsonl"), says(good(0)))
    world.once()
    bad = [
        {"id": f"bad{n}", "timestamp": f"MARK{n}", "type": "gemini", "content": f"MARK{n}"} for n in range(len(values))
    ]
    maker.put(*bad).say(says(good(1)))
    text = maker.path.read_text()
    for number, value in enumerate(values):
        text = text.replace(f'"MARK{number}"', value)
    maker.path.write_text(text)
    world.once()
    assert world.status()["problems"] == []
    maker.items = [item for item in maker.items if not item.get("id", "").startswith("bad")]
    maker.say(says(good(2)))
    world.once()
    assert read_good(recorded(world)) == [good(0), good(1), good(2)]

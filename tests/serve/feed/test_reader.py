"""The messages of a session from its files: from any position in it."""

from katod.serve.feed.position import Position
from katod.serve.feed.reader import MessageReader
from tests.serve.page.test_reader import page
from tests.serve.steps import items, outcome
from tests.support.records import calls, result, says, user


def test_what_a_viewer_lacks_is_what_comes_after_its_position(world):
    """Wherever it stopped, also among messages that have no id, of which several may follow each other."""
    maker = world.claude()
    maker.say(user("one"), says("two"), calls("c", "ls"), result("c", "a.py"), says("three"))
    stopped = maker.user("[Request interrupted by user]")
    maker.write(stopped, maker.user("four", permissionMode="plan"), maker.user("five", permissionMode="acceptEdits"))
    content = page(world).content()
    reader = MessageReader(lambda: content)
    sent, positions = reader.sent().sent, [Position()]
    for one in sent:
        positions.append(positions[-1].after(one))
    assert max(mark.more for position in positions[2:] for mark in position.marks) == 2
    for number, position in enumerate(positions):
        assert list(items(reader.between(position, positions[-1]))) == sent[number:]
        assert list(items(reader.between(Position(), position))) == sent[:number]
    nowhere = Position((positions[-1].marks[0]._replace(id="nothing", more=1),))
    assert list(items(reader.between(nowhere, positions[-1]))) == []


def test_a_viewer_names_messages_by_their_ids_and_calls_by_their_own(world):
    """What has neither is named by nothing."""
    world.claude().say(user("one"), calls("c", "ls"), result("c", "a.py"), calls("c", "ls"), result("c", "b.py"))
    content = page(world).content()
    reader = MessageReader(lambda: content)
    sent = reader.sent().sent
    assert [outcome(reader.located([one.id])).last for one in sent if one.id] == [one.id for one in sent if one.id]
    assert outcome(reader.located(["c"])).last == [one.id for one in sent if "c" in one.names][-1]
    assert (outcome(reader.located(["d"])), outcome(reader.located([""]))) == (None, None)


def test_a_source_that_was_moved_is_the_same_source(world):
    """A viewer that has seen a part of it is sent the rest, although the file has another path by now."""
    maker = world.claude()
    maker.say(user("one"), says("two"))
    content = page(world).content()
    [(path, identity)] = content.files
    reader = MessageReader(lambda: content)
    before = reader.sent().sent
    moved = maker.path.rename(maker.path.with_name("moved.jsonl"))
    content = content._replace(files=((str(moved), identity),))
    maker.path = moved
    maker.write(maker.user("three"))
    after = reader.sent().sent
    assert {one.source for one in (*before, *after)} == {path}
    begin, end = Position().after(before[0]), Position().after(after[-1])
    assert [one.id for one in items(reader.between(begin, end))] == [one.id for one in (*before[1:], *after)]

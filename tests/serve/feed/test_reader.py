"""The messages of a session from its files: from any position in it."""

from katod.serve.feed.reader import MessageReader, after, named
from katod.serve.feed.tail import Position
from tests.serve.page.test_reader import page
from tests.support.records import calls, result, says, user


def test_what_a_viewer_lacks_is_what_comes_after_its_position(world):
    """Wherever it stopped, also among messages that have no id, of which several may follow each other."""
    maker = world.claude()
    maker.say(user("one"), says("two"), calls("c", "ls"), result("c", "a.py"), says("three"))
    stopped = maker.user("[Request interrupted by user]")
    maker.write(stopped, maker.user("four", permissionMode="plan"), maker.user("five", permissionMode="acceptEdits"))
    content = page(world).content()
    sent, position = MessageReader(lambda: content).sent().sent, Position()
    positions = [position, *(position := position.after(one) for one in sent)]
    assert max(position.more for position in positions[2:]) == 2
    assert [list(after(content, position)) for position in positions] == [
        sent[number:] for number in range(len(sent) + 1)
    ]
    assert list(after(content, Position("nothing", 1))) == []


def test_a_viewer_names_messages_by_their_ids_and_calls_by_their_own(world):
    """What has neither is named by nothing."""
    world.claude().say(user("one"), calls("c", "ls"), result("c", "a.py"), calls("c", "ls"), result("c", "b.py"))
    content = page(world).content()
    sent = MessageReader(lambda: content).sent().sent
    assert [named(content, one.id) for one in sent] == [one.id for one in sent]
    assert named(content, "c") == [one.id for one in sent if "c" in one.names][-1]
    assert (named(content, "d"), named(content, "")) == ("", "")

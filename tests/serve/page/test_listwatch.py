"""The changes of a list that is shown."""

from katod.serve.page.listwatch import ListChanges
from katod.serve.page.sessionlist import ListRow


def test_a_list_that_is_as_it_was_did_not_change() -> None:
    """What is new, changed or gone since a look is told; nothing is told twice."""
    changes, one, two = ListChanges(), ListRow("one", since=1.0), ListRow("two", since=2.0)
    assert changes.take([one, two])
    assert not changes.take([two, one])
    seen = changes.number
    assert changes.take([one._replace(title="renamed")])
    assert changes.since(seen) == ([one._replace(title="renamed")], ["two"])
    assert changes.since(changes.number) == ([], [])
    assert changes.take([one._replace(title="renamed"), two])
    assert changes.since(seen) == ([one._replace(title="renamed"), two], [])

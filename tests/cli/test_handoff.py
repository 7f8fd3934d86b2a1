"""`katod handoff` and `katod export --for pr`: what others get of a session."""

from tests.support.records import Claude


def test_a_brief_of_the_latest_session_is_printed(world):
    """The brief has the task and the last words, and is within the budget."""
    make, source = Claude(), world.claude()
    source.append(make.user("Add sign-in."), make.says("Done: it works."))
    shown = world.cli("handoff", "latest", "--budget", "2000")
    assert shown.startswith("# Brief: Add sign-in.")
    assert "Done: it works." in shown
    assert len(shown) <= 2001


def test_a_budget_that_is_too_small_is_a_wrong_usage(world):
    """A brief needs some room; the least is named."""
    world.claude().append(Claude().user("hello"))
    world.cli("handoff", "latest", "--budget", "10", code=2)
    assert "2000<=x<=1000000" in world.said


def test_a_pull_request_gets_one_block(world):
    """`--for pr` prints one collapsed block."""
    make, source = Claude(), world.claude()
    source.append(make.user("Add sign-in."), make.says("Done."))
    assert world.cli("export", "latest", "--for", "pr").startswith("<details>\n<summary>Conversation: Add sign-in.")

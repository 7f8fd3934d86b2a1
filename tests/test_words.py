"""Whose text it is: what counts as a command, what is shown, and what is redacted."""

import orjson
import pytest

from tests.support.outputs import counts, only
from tests.support.records import SESSION, Claude, Codex


def test_text_beside_a_tool_result_never_commands(world):
    """Text next to a tool result is not known to be typed, so commands in it are ignored."""
    make, source = Claude(), world.claude()
    source.append(make.user("hello"), make.calls("t1", "Bash", command="x"))
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
    source.append(make.user([result, {"type": "text", "text": "::start evil"}], toolUseResult="ok"))
    world.once()
    assert world.written() == {}


def test_a_notification_in_the_queue_never_commands(world):
    """A queued text is recognised as a notification by its form, whatever its mode."""
    make, source = Claude(), world.claude()
    told = "<task-notification>\nthe agent said:\n::start evil\n</task-notification>"
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": told}
    source.append(make.user("one"), make.record("attachment", attachment=queued), make.says("x"))
    world.once()
    assert world.written() == {}


def test_a_queued_text_that_stands_behind_bookkeeping_is_told_once(world):
    """A queued text is recorded once, even if bookkeeping is between its removal and its own record."""
    make, source = Claude(), world.claude()
    queue = {"type": "queue-operation", "sessionId": SESSION, "timestamp": "2026-02-10T22:50:00.000Z"}
    source.append(make.user("::start n\none"), queue | {"operation": "enqueue", "content": "typed while busy"})
    source.append(queue | {"operation": "remove"}, {"type": "last-prompt", "lastPrompt": "x", "sessionId": SESSION})
    queued = {"type": "queued_command", "commandMode": "prompt", "prompt": "typed while busy"}
    source.append(make.record("attachment", attachment=queued))
    world.once()
    assert counts(only(world), "typed while busy") == [1]


def test_a_person_may_write_of_reminders(world):
    """Only a reminder that the client appended at the end of the text is removed."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n\none"), make.user("why is there\n<system-reminder> tags\nin my text?"))
    world.once()
    assert counts(only(world), "why is there", "in my text?") == [1, 1]


def test_a_person_may_write_of_requests(world):
    """Only a separate line is treated as the heading that an IDE puts above a request."""
    make, source = Codex(), world.codex()
    source.append(make.meta(), make.user("::start n\none"))
    source.append(make.user("my words\nthe IDE writes ## My request for Codex: before text"))
    world.once()
    assert counts(only(world), "my words") == [1]


@pytest.mark.slow
def test_settings_that_change_to_and_fro_are_all_told(world):
    """Records without id and time are distinguished by their number, so every change is recorded."""
    make, source = Claude(), world.claude()
    source.append(make.user("::start n.jsonl\none", permissionMode="default"))
    modes = ["plan", "default", "plan", "default"]
    for mode in modes:
        source.append({"type": "permission-mode", "permissionMode": mode, "sessionId": SESSION}, make.says(mode))
        world.once()
    rows = [orjson.loads(row) for row in only(world, ".jsonl").splitlines()]
    assert [row["payload"]["after"] for row in rows if row["kind"] == "config.change"] == modes
    world.assert_live_is_batch()


def test_a_secret_in_a_question_is_redacted_wherever_it_is_printed(world):
    """A question without a heading is its own key, and a secret in it is redacted as well."""
    make, source = Claude(), world.claude()
    key = "sk-ant-api03-" + "aB3dE5gH7jK9" * 4
    options = [{"label": "yes"}, {"label": "no"}]
    asked = [{"question": f"Use this key?\n{key}", "options": options}]
    source.append(make.user("::start n\none"), make.calls("q1", "AskUserQuestion", questions=asked))
    world.once()
    assert key not in only(world)

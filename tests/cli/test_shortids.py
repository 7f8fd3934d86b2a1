"""The short ids that are shown."""

import pytest

from katod.cli.shortids import short_ids
from katod.model import SessionKey


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([("claude", "aaaabbbbcccc", "")], ["aaaabbbb"]),
        ([("claude", "aaaabbbbcccc", ""), ("codex", "aaaabbbbcd", "")], ["aaaabbbbcc", "aaaabbbbcd"]),
        ([("claude", "aaaabbbb", ""), ("claude", "aaaabbbbc", "")], ["aaaabbbb", "aaaabbbbc"]),
        ([("opencode", "ses_aaaabbbbcccc", "")], ["aaaabbbb"]),
        ([("cline", "1780701711502_0v8d2", "")], ["0v8d2"]),
        (
            [("cline", "1780701711502_0v8d2", ""), ("cline", "1780701711999_0v8d2", "")],
            ["17807017115", "17807017119"],
        ),
        ([("claude", "aaaabbbbcccc", "aaaabbbbdddd")], ["aaaabbbbc", "aaaabbbbd"]),
        ([("claude", "1234567", "12")], ["12", "claude:1234567"]),
        ([("claude", "123456789", ""), ("claude", "-abc", "")], ["12345678", "claude:-abc"]),
    ],
)
def test_short_ids_are_as_short_as_they_can_be(keys, expected):
    """At least eight characters that differ from session to session; more only where another id begins alike."""
    shown = short_ids(SessionKey(*key) for key in keys)
    assert sorted(short for name, short in shown.items() if name) == expected

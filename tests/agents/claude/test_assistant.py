"""Claude Code: thinking."""

from typing import Any

from katod import events as ev
from tests.looping import each
from tests.support.records import Claude
from tests.support.translated import payloads, translated


@each(
    ("block", "thoughts"),
    [
        ({"type": "thinking", "thinking": "Hm.", "signature": "EuUG"}, [{"text": "Hm."}]),
        ({"type": "thinking", "thinking": "", "signature": "EuUG"}, [{"text": "", "encrypted": "EuUG"}]),
        ({"type": "thinking", "thinking": "", "signature": ""}, []),
        ({"type": "thinking", "thinking": ""}, []),
        ({"type": "thinking", "thinking": ["x"], "signature": None}, []),
        ({"type": "redacted_thinking", "data": "EuUG"}, [{"text": "", "encrypted": "EuUG"}]),
    ],
)
def test_a_thought_is_there_as_text_or_encrypted(block: Any, thoughts: Any) -> None:
    """Newer models write no text: the signature is the thought, encrypted. Without either there was none."""
    assert payloads(translated("claude", Claude().says(block)), ev.ASSISTANT_THINKING) == thoughts

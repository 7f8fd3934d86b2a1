"""Claude Code: MCP servers and memory files that the client notes in attachments."""

from hashlib import sha256
from typing import Any

from katod import events as ev
from tests.looping import each
from tests.support.records import Claude
from tests.support.translated import payloads, translated


def noted(**attachment: Any) -> list[dict[str, Any]]:
    return payloads(translated("claude", Claude().record("attachment", attachment=attachment)), ev.PROVIDER_INFO)


def test_servers_are_named_without_their_instructions() -> None:
    """The instructions are the server's words to the model."""
    assert noted(type="mcp_instructions_delta", addedNames=["a", 7, "b"], addedBlocks=["secret"]) == [
        {"text": "a, b", "subtype": "mcp-servers", "data": {"servers": ["a", "b"]}}
    ]


def test_a_memory_file_has_its_size_and_hash_but_not_its_content() -> None:
    """The content is that of a file of the project."""
    [row] = noted(type="nested_memory", path="/x/CLAUDE.md", content={"type": "Project", "content": "Short."})
    digest = sha256(b"Short.").hexdigest()
    data = {"path": "/x/CLAUDE.md", "scope": "Project", "bytes": 6, "sha256": digest}
    assert row == {"text": "/x/CLAUDE.md", "subtype": "memory-read", "data": data}


@each(
    "attachment",
    [
        {"type": "mcp_instructions_delta", "addedNames": "a"},
        {"type": "mcp_instructions_delta", "addedNames": [""]},
        {"type": "nested_memory", "path": ["x"], "content": {"content": "x"}},
        {"type": "date", "path": "/x/CLAUDE.md"},
    ],
)
def test_attachments_of_another_form_say_nothing(attachment: Any) -> None:
    """Values of other types read as absent."""
    assert noted(**attachment) == []

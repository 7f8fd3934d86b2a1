"""Pictures that a person attaches to a prompt, as each agent that keeps their bytes writes them."""

import base64
from collections.abc import Callable
from hashlib import sha256
from typing import Final

from tests.looping import each
from tests.support.records import Claude, Cline, Codex, CodexFlat, CodexLegacy, Kimi, Pi, Qwen
from tests.support.translated import Row, translated

BYTES: Final = b"\x89PNG\r\n\x1a\n and more"
DATA: Final = base64.b64encode(BYTES).decode()
URL: Final = f"data:image/png;base64,{DATA}"
ATTACHED: Final = {"type": "image", "mediaType": "image/png", "bytes": len(BYTES), "sha256": sha256(BYTES).hexdigest()}


def _claude() -> list[Row]:
    source = {"type": "base64", "media_type": "image/png", "data": DATA}
    return [Claude().user([{"type": "text", "text": "Look."}, {"type": "image", "source": source}])]


def _codex() -> list[Row]:
    thread, picture = Codex(), {"type": "image", "image_url": URL}
    return [*thread.opening(), thread._item("UserMessage", content=[{"type": "text", "text": "Look."}, picture])]


def _codex_legacy() -> list[Row]:
    thread = CodexLegacy()
    said = {"type": "user_message", "message": "Look.", "images": [URL]}
    return [*thread.opening(), thread.record("event_msg", said)]


def _codex_flat() -> list[Row]:
    content = [{"type": "input_text", "text": "Look."}, {"type": "input_image", "image_url": URL}]
    said = {"type": "message", "id": None, "role": "user", "content": content}
    return [*CodexFlat().opening(), CodexFlat().record("message", said)]


def _gemini() -> list[Row]:
    parts = [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": DATA}}]
    return [{"id": "m1", "timestamp": "2026-01-02T03:04:05.000Z", "type": "user", "content": parts}]


def _pi() -> list[Row]:
    content = [{"type": "text", "text": "Look."}, {"type": "image", "mimeType": "image/png", "data": DATA}]
    return [Pi().entry("message", message={"role": "user", "content": content})]


def _zot() -> list[Row]:
    content = [{"text": "Look."}, {"mime_type": "image/png", "data": DATA}]
    return [{"type": "message", "message": {"role": "user", "content": content}}]


def _qwen() -> list[Row]:
    parts = [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": DATA}}]
    return [Qwen().record("user", "real_user", message={"role": "user", "parts": parts})]


def _kimi() -> list[Row]:
    prompt = Kimi().prompt("Look.")
    return [prompt | {"input": [*prompt["input"], {"type": "image_url", "imageUrl": {"url": URL}}]}]


def _cline() -> list[Row]:
    text = {"type": "text", "text": '<user_input mode="act">Look.</user_input>'}
    cline, picture = Cline(), {"type": "image", "data": DATA, "mediaType": "image/png"}
    return [cline.opening()[0] | {"messages": [cline.message("user", text, picture)]}]


@each(
    ("agent", "records"),
    [
        ("claude", _claude),
        ("codex", _codex),
        ("codex", _codex_legacy),
        ("codex", _codex_flat),
        ("gemini", _gemini),
        ("pi", _pi),
        ("zot", _zot),
        ("qwen", _qwen),
        ("kimi", _kimi),
        ("cline", _cline),
    ],
)
def test_a_picture_is_attached_to_its_prompt(agent: str, records: Callable[[], list[Row]]) -> None:
    """With its type and size; its bytes go with the event, for outputs that save attachments."""
    [said] = [event for event in translated(agent, *records()) if event.typed]
    assert (said.payload["text"], said.payload["attachments"]) == ("Look.", [ATTACHED])
    assert said.blobs == ((ATTACHED["sha256"], "image/png", DATA),)

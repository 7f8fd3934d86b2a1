"""Server-sent events: what a page is sent while it is open."""

from typing import Any, Final

import orjson

HEADERS: Final = {"content-type": "text/event-stream", "x-accel-buffering": "no"}
SOON: Final = "retry: 1000\n\n"  # milliseconds until a browser that lost its connection comes back


def event(data: Any, kind: str = "", name: str = "") -> str:
    """Return one event. Its data is JSON, so that any line break in it arrives; `name` is what a browser sends back."""
    head = (f"event: {kind}\n" if kind else "") + (f"id: {name}\n" if name else "")
    return f"{head}data: {orjson.dumps(data).decode()}\n\n"


BEAT: Final = event({}, "beat")  # an event, as a page cannot see a comment: it tells that the connection is alive

"""Pictures of a session as the files that a recording links to. Pure."""

import re
from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from typing import Final

from katod.agents.fields import decoded
from katod.events import Event
from katod.formats.transcript.pictures import asset_name

_LINK: Final = re.compile(r"/([0-9a-f]{16}\.[a-z0-9]{1,16})>\)")  # as Markdown has it


def picture_file(media: str, data: str) -> tuple[str, bytes]:
    """Return the file name and the content of a picture, given its media type and base64."""
    content = decoded(data)
    return asset_name({"sha256": sha256(content).hexdigest(), "mediaType": media}), content


def among(events: Iterable[Event], names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the pictures in events that have these file names, each once: media type, base64."""
    left = set(names)
    for event in events:
        for _, media, data in event.blobs:
            if left and (name := picture_file(media, data)[0]) in left:
                left.discard(name)
                yield media, data
        if not left:
            return


def links_in(texts: Iterable[str]) -> set[str]:
    """Return the file names of the pictures that texts in Markdown link to."""
    return {name for text in texts for name in _LINK.findall(text)}

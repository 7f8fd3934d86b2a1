"""Claude Code: what a person pasted into a prompt, which the client marks from 2.1.330 on.

A paste of more than 800 characters, or with three line breaks or more, becomes a `<pasted_content id="9e96">` element
inside the typed text. The id is the same for all pastes of a session, and no page can know it: a closing tag with
another id is content.
"""

import re
from typing import Final

from katod.model import Span, TypedText

# The client puts two line breaks before a paste; without them it still counts as one, as nothing in it may command.
_OPENING: Final = re.compile(r'(?:\n\n)?<pasted_content id="([0-9a-f]{1,16})">\n?')


def unwrap(text: str) -> TypedText:
    """Return the text of a prompt without the client's tags, and what of it is pasted.

    A paste ends with the last closing tag of its id before the next opening tag of that id, or with the text. Tags of
    other ids are content: a page cannot know the id.
    """
    if "<pasted_content" not in text:
        return TypedText(text)
    pieces: list[str] = []
    pasted: list[Span] = []
    size = at = 0
    while opening := _OPENING.search(text, at):
        following = text.find(f'<pasted_content id="{opening[1]}">', opening.end())
        end, after = _end(text, opening, following if following >= 0 else len(text))
        before, content = text[at : opening.start()], text[opening.end() : end]
        gap = "\n\n" if before or pieces else ""
        pieces += [before, gap, content]
        begin = size + len(before) + len(gap)
        size = begin + len(content)
        pasted.append((begin, size))
        at = after
    rest = text[at:].lstrip("\n")
    return TypedText("".join([*pieces, rest and f"\n\n{rest}"]), tuple(pasted))


def _end(text: str, opening: re.Match[str], limit: int) -> tuple[int, int]:
    """Return where the content of a paste ends, and where the text after its closing tag begins."""
    closing = f'\n</pasted_content id="{opening[1]}">'
    end = text.rfind(closing, opening.end() - 1, limit)
    return (limit, limit) if end < 0 else (max(end, opening.end()), end + len(closing))

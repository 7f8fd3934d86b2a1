"""A bounded brief of a conversation, for another agent that goes on with it. Pure."""

from collections.abc import Iterator
from typing import Final

from katod.formats.content import Answer, Outcome, Person, Question, Quoted, Tool, Typed
from katod.formats.markdown import print_piece, printed
from katod.formats.mdtext import inline
from katod.formats.turns import Conversation, Turn, fitted

LEAST: Final = 2_000  # characters
USUAL: Final = 16_000
_INTRODUCTION: Final = (
    "You take over this work from another coding agent. Below is what was asked, what was decided, and how it ended."
)


def brief(conversation: Conversation, budget: int) -> str:
    """Return the brief, in Markdown of at most `budget` characters: task, prompts, decisions, files, open items.

    The last turns follow word for word, as many as fit.
    """
    head = conversation.head
    about = " · ".join(inline(part) for part in (head.product, head.project, head.branch) if part)
    origin = f"{about} · {head.when} · session {head.session}"
    top = f"# Brief: {inline(head.title)}\n\n{origin}\n\n{_INTRODUCTION}\n"
    sections = [
        _section("Task", _task(conversation), budget // 5),
        _section("What was asked since", "\n".join(_prompts(conversation.turns)), budget // 10),
        _section("Decisions", "\n".join(_decisions(conversation.turns)), budget // 8),
        _section("Files changed and commits", "\n".join(_files(conversation.turns)), budget // 10),
        _section("Still to do", "\n".join(f"- {inline(text)}" for text in conversation.todos), budget // 12),
    ]
    begun = top + "".join(sections)
    heading = "\n## How it ended, word for word\n"
    room = budget - len(begun) - len(heading)
    last = fitted([printed(turn.pieces) for turn in conversation.turns], room, _left_out, first=False)
    return (begun + heading + "".join(last))[:budget]


def _left_out(count: int, _: int) -> str:
    return f"\n*{count} earlier turn{'s' if count > 1 else ''} left out*\n"


def _section(title: str, text: str, room: int) -> str:
    """Return a section of at most so many characters; of a longer one, the end counts more than the beginning."""
    if not text:
        return ""
    if len(text) > room:
        half = room // 3
        lines = text[-(room - half) :]
        text = f"{text[:half].rstrip()}\n… cut …\n{lines[lines.find(chr(10)) + 1 :]}"
    return f"\n## {title}\n\n{text}\n"


def _task(conversation: Conversation) -> str:
    return next((said for turn in conversation.turns if (said := _said(turn))), "")


def _said(turn: Turn) -> str:
    """Return what the person typed at the beginning of a turn."""
    parts = [piece.text for piece in turn.pieces if isinstance(piece, Typed | Quoted)]
    person = turn.pieces[0] if turn.pieces else None
    return "\n\n".join(parts) or (person.words if isinstance(person, Person) else "")


def _prompts(turns: list[Turn]) -> Iterator[str]:
    people = [piece for turn in turns for piece in turn.pieces[:1] if isinstance(piece, Person)]
    for person in people[1:]:
        yield f"- {person.stamp} {inline(person.words)}".replace("-  ", "- ")


def _decisions(turns: list[Turn]) -> Iterator[str]:
    question = ""
    for turn in turns:
        for piece in turn.pieces:
            if isinstance(piece, Question):
                question = piece.key or piece.text
            elif isinstance(piece, Answer):
                yield f"- {inline(piece.key or question)} → {inline(piece.text)}"


def _files(turns: list[Turn]) -> Iterator[str]:
    """Yield the calls that changed files, the last of each file, and the commits."""
    edits: dict[str, str] = {}
    commits: list[str] = []
    for turn in turns:
        for piece in turn.pieces:
            if isinstance(piece, Tool) and piece.about and piece.about[-1].text.startswith("(+"):
                edits[piece.about[0].text] = print_piece(piece)
            elif isinstance(piece, Outcome) and piece.line[0].text == "committed":
                commits.append(print_piece(piece).strip())
    yield from edits.values()
    yield from commits

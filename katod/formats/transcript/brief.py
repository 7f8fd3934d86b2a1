"""A bounded brief of a conversation, for another agent that continues it. Pure."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final, get_args

from katod.formats.text.mdtext import code, inline
from katod.formats.text.ownlines import SIGN
from katod.formats.transcript.calls import shown_size
from katod.formats.transcript.content import (
    AskedQuestion,
    Attachment,
    ChosenAnswer,
    Delegation,
    Footer,
    Line,
    Outcome,
    Person,
    Piece,
    Prose,
    Quoted,
    ToolLine,
    TypedWords,
)  # fmt: skip
from katod.formats.transcript.markdown import printed
from katod.formats.transcript.turns import Conversation, TypedTurn, beginning, fitted, is_task
from katod.model import Word

# A brief becomes somebody's prompt, in which a line that begins like this would be a command. A client may take away
# what is in front of it, such as blanks of any kind and the signs of quotes and lists, or wrap lines there.
_COMMAND: Final = re.compile(rf"(?<![\w:])(?=::[ \t]?(?:{'|'.join(get_args(Word))})\b)", re.IGNORECASE)
_LONGEST: Final = 300  # characters of a line about one thing
_MORE: Final = 24  # characters of the line that says how many are missing
_INTRODUCTION: Final = (
    "You take over this work from another coding agent. Below is what was asked, what was decided, and how it ended."
)


def brief(conversation: Conversation, budget: int) -> str:
    """Return the brief, in Markdown of at most `budget` characters: task, prompts, decisions, files, open items.

    The last turns follow word for word, as many as fit.
    """
    head, longest = conversation.head, min(budget // 20, _LONGEST)
    about = " · ".join(_line(part, longest) for part in (head.product, conversation.folder, head.branch) if part)
    origin = f"{about} · {head.when} · session {_line(head.session, longest)}"
    sections = [
        f"# Brief: {_line(head.title, longest)}\n\n{origin}\n\n{_INTRODUCTION}\n",
        _section("Task", beginning(_task(conversation.turns), budget // 6, printed)),
        _listed("What was asked since", [*_prompts(conversation.turns, longest)], budget // 10),
        _listed("Decisions", [*_decisions(conversation.turns, longest)], budget // 10),
        _listed("Files changed", [*_files(conversation.turns, longest)], budget // 16),
        _listed("Commits", [*_commits(conversation.turns, longest)], budget // 16),
        _listed("Still to do", [f"- {_line(text, longest)}" for text in conversation.todos], budget // 16, first=True),
        "\n# How it ended, word for word\n",
    ]
    begun = _without_commands("".join(sections))
    return begun + fitted(conversation.turns, budget - len(begun), _printed, _left_out, first=False)


def _printed(pieces: Iterable[Piece]) -> str:
    return _without_commands(printed(pieces))


def _without_commands(text: str) -> str:
    """Return Markdown that is shown alike, and in which no line would be a command to katod."""
    return _COMMAND.sub(r"\\", text)


def _left_out(count: int, _: int) -> str:
    return f"\n*{count} earlier turn{'s' if count > 1 else ''} left out*\n"


def _line(text: str, longest: int) -> str:
    """Return text as a part of one line, in at most so many characters as it is printed."""
    shown, most = inline(text), longest
    while len(shown) > longest:
        shown = f"{inline(text[:most])} …"
        most = most * 3 // 4
    return shown


def _section(title: str, text: str) -> str:
    return f"\n# {title}\n\n{text.strip(chr(10))}\n" if text.strip() else ""


def _listed(title: str, lines: list[str], room: int, *, first: bool = False) -> str:
    """Return a section of lines, of at most so many characters: of many lines the last ones, or the `first` ones."""
    if not lines:
        return ""
    kept: list[str] = []
    for line in lines if first else reversed(lines):
        room -= len(line) + 1
        if room < _MORE and len(kept) + 1 < len(lines):
            kept.append(f"- … {len(lines) - len(kept)} {'after' if first else 'before'} these")
            break
        kept.append(line)
    return _section(title, "\n".join(kept if first else reversed(kept))) if kept[0] in lines else ""


def _task(turns: list[TypedTurn]) -> list[Piece]:
    """Return what the user typed first, or the task or the plan that the conversation begins with."""
    begun: list[Piece] = turns[0].pieces if turns else []
    if begun and is_task(begun[0]):
        return [*begun[0].parts]
    if begun and not isinstance(begun[0], Person | Delegation):
        plan = [piece for piece in begun if isinstance(piece, Prose)]
        if plan:
            return [plan[0]]
    return next((said for turn in turns if (said := _said(turn))), [])


def _said(turn: TypedTurn) -> list[Piece]:
    """Return what the user typed at the beginning of a turn."""
    person, *rest = turn.pieces
    if isinstance(person, Person) and person.whole:
        return [TypedWords(person.words)]
    behind = takewhile(lambda piece: isinstance(piece, TypedWords | Quoted | Attachment), rest)
    return [piece for piece in behind if not isinstance(piece, Attachment)]


def _prompts(turns: list[TypedTurn], longest: int) -> Iterator[str]:
    """Yield the first paragraph of each prompt but the first."""
    people = [(piece, _said(turn)) for turn in turns for piece in turn.pieces[:1] if isinstance(piece, Person)]
    for person, said in people[1:]:
        words = said[0].text.strip().partition("\n\n")[0] if said and isinstance(said[0], TypedWords) else person.words
        yield f"- {person.stamp} {_line(words, longest)}".replace("-  ", "- ")


def _decisions(turns: list[TypedTurn], longest: int) -> Iterator[str]:
    """Yield what the user chose, and why a call was declined."""
    question, call = "", ""
    for turn in turns:
        for piece in turn.pieces:
            if isinstance(piece, AskedQuestion):
                question = piece.key or piece.text
            elif isinstance(piece, ToolLine):
                call = _shown(piece, longest)
            elif isinstance(piece, ChosenAnswer):
                yield f"- {_line(piece.key or question, longest)} → {_line(piece.text, longest)}"
            if (came := _came(piece)).startswith("declined"):
                yield f"- {call} → {_line(came, longest)}"


def _shown(call: ToolLine, longest: int) -> str:
    about = next((span.text for span in call.about if span.kind == "code"), "")
    return f"{SIGN} **{inline(call.name)}** {code(about[:longest])}" if about else f"{SIGN} **{inline(call.name)}**"


def _came(piece: Piece | None) -> str:
    """Return the first words of the outcome of a call, empty if the piece does not say."""
    line = _outcome(piece)
    return line[0].text if line else ""


def _outcome(piece: Piece | None) -> Line:
    return piece.line if isinstance(piece, Outcome) else piece.outcome if isinstance(piece, ToolLine) else ()


def _files(turns: list[TypedTurn], longest: int) -> Iterator[str]:
    """Yield the files that were changed, with the lines added and removed."""
    sizes: dict[str, tuple[int, int]] = {}
    for turn in turns:
        for piece in turn.pieces:
            for path, added, removed in piece.files if isinstance(piece, Footer) else ():
                before = sizes.get(path, (0, 0))
                sizes[path] = (before[0] + added, before[1] + removed)
    for path, size in sizes.items():
        yield f"- {code(path[-longest:])} {shown_size(*size)}".rstrip()


def _commits(turns: list[TypedTurn], longest: int) -> Iterator[str]:
    for turn in turns:
        for piece in turn.pieces:
            if _came(piece) == "committed":
                line = _outcome(piece)
                for number, subject in zip(line[1::3], line[2::3], strict=True):
                    yield f"- {code(number.text)} {_line(subject.text, longest)}"

"""What a transcript consists of, in any format. Texts are redacted; a printer escapes them."""

from typing import Literal, NamedTuple


class Inline(NamedTuple):
    """A part of a line: `code` is shown by its exact characters, `note` with emphasis, `text` as plain words."""

    kind: Literal["code", "note", "text"]
    text: str


Line = tuple[Inline, ...]


class Head(NamedTuple):
    """What a transcript begins with; empty fields are unknown. `when` is the start with its time zone."""

    title: str
    agent: str
    product: str
    model: str
    project: str
    branch: str
    session: str
    subagent: str
    parent: str
    date: str
    when: str
    labels: tuple[str, ...] = ()
    is_starred: bool = False


class MarkLine(NamedTuple):
    """A line of katod's own about the recording."""

    text: str
    stamp: str
    more: str


class Person(NamedTuple):
    """The heading of a typed message; `words` are its first ones, or all of it if it is `whole`."""

    speaker: str
    stamp: str
    words: str
    whole: bool = False


class AgentHeading(NamedTuple):
    """The heading of the agent's turn; `model` only where it changes."""

    speaker: str
    model: str
    stamp: str


class TypedWords(NamedTuple):
    """What a person typed."""

    text: str


class Quoted(NamedTuple):
    """Text that is folded away: what a person pasted, or the rest of a long message."""

    label: str
    text: str


class Prose(NamedTuple):
    """The agent's words, in Markdown."""

    text: str


class Code(NamedTuple):
    """Text by its exact characters."""

    text: str
    language: str


class ToolLine(NamedTuple):
    """One line about a tool call. `outcome` says what came of it, if that is known already."""

    name: str
    about: Line
    outcome: Line = ()


class Outcome(NamedTuple):
    """What came of the call in the line before."""

    line: Line


class Fold(NamedTuple):
    """A collapsed block: a tool call with its result, thinking, a report. `notes` follow its title."""

    name: str
    about: Line
    notes: tuple[str, ...]
    parts: "tuple[Piece, ...]"


class Delegation(Fold):
    """Words between agents, collapsed: `name` is who says them, `about` the first ones."""

    __slots__ = ()


class Thinking(NamedTuple):
    """What the agent thought, collapsed."""

    text: str


class AskedQuestion(NamedTuple):
    """What the agent asks, and the choices: label, description."""

    key: str
    text: str
    options: tuple[tuple[str, str], ...]


class ChosenAnswer(NamedTuple):
    """What the user chose or said; `key` names the question if several are open."""

    key: str
    text: str


class Note(NamedTuple):
    """One line about something that happened to the conversation."""

    text: str


class PassedTime(NamedTuple):
    """The time, where much of it passed inside a turn."""

    stamp: str


class Footer(NamedTuple):
    """What a turn did, in a line, and which files it changed: path, lines added and removed."""

    text: str
    files: tuple[tuple[str, int, int], ...] = ()


class Attachment(NamedTuple):
    """An image or a file: what it is, its media type, and its hash and file name if it is saved."""

    label: str
    media: str
    sha256: str
    link: str


class Link(NamedTuple):
    """A link to another transcript."""

    label: str
    text: str
    target: str


Piece = (
    MarkLine | Person | AgentHeading | TypedWords | Quoted | Prose | Code | ToolLine | Outcome | Fold | Thinking
    | AskedQuestion | ChosenAnswer | Note | PassedTime | Footer | Attachment | Link
)  # fmt: skip

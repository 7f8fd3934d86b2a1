"""The tables and their columns: the only place that says what they are, for the files and for the documents. Pure."""

from typing import Final, Literal, NamedTuple

VERSION: Final = 1  # rises when a column is added, or means something else
Kind = Literal["text", "texts", "json", "time", "day", "count", "number", "flag"]


class TableColumn(NamedTuple):
    """One column; `repeats` if few different values are in many rows."""

    name: str
    kind: Kind
    about: str
    repeats: bool = False


class TableSpec(NamedTuple):
    """One table, and what a row of it is."""

    name: str
    about: str
    columns: tuple[TableColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.columns)


_SESSION: Final = TableColumn("session", "text", "`agent:id`, or `agent:id/sub-agent`", repeats=True)
_NUMBER: Final = TableColumn("number", "count", "the number of its event in the session, from 0")
_TURN: Final = TableColumn("turn", "text", "the turn, if the agent records turns", repeats=True)
_MODEL: Final = TableColumn("model", "text", "the model, if it is recorded", repeats=True)
_TIME: Final = TableColumn("time", "time", "when it happened, as the agent recorded it")

SESSIONS: Final = TableSpec("sessions", "a session, or a sub-agent with a session file of its own", (
    TableColumn("session", "text", "`agent:id`, or `agent:id/sub-agent`: the key of all tables"),
    TableColumn("id", "text", "its id, as its agent knows it"),
    TableColumn("subagent", "text", "the id of the sub-agent, if it is one"),
    TableColumn("parent", "text", "the session whose sub-agent it is, or that it continues"),
    TableColumn("project", "text", "the directory in which it began", repeats=True),
    TableColumn("title", "text", "what lists call it"),
    TableColumn("started", "time", "when its first message was sent"),
    TableColumn("ended", "time", "the time of its last event"),
    TableColumn("version", "text", "the version of the client", repeats=True),
    TableColumn("branch", "text", "the branch of git at its beginning", repeats=True),
    TableColumn("models", "texts", "the models that answered, in this order"),
    TableColumn("events", "count", "how many rows it has in `events`"),
    TableColumn("messages", "count", "how many rows it has in `messages`"),
    TableColumn("typed", "count", "how many of these a person is known to have typed"),
    TableColumn("calls", "count", "how many rows it has in `calls`"),
))  # fmt: skip
EVENTS: Final = TableSpec("events", "an event, as a line of `-f jsonl` has it", (
    _SESSION,
    TableColumn("number", "count", "its number in the session, from 0"),
    TableColumn("id", "text", "its id"),
    TableColumn("kind", "text", "what it is, such as `user.message`", repeats=True),
    _TIME, _TURN, _MODEL,
    TableColumn("payload", "json", "all that it says"),
))  # fmt: skip
MESSAGES: Final = TableSpec("messages", "a message of the user or the assistant", (
    _SESSION, _NUMBER,
    TableColumn("id", "text", "the id of its event"),
    TableColumn("role", "text", "`user` or `assistant`", repeats=True),
    TableColumn("typed", "flag", "whether a person is known to have typed it"),
    TableColumn("subtype", "text", "what it is besides that, such as `slash-command` or `task`", repeats=True),
    TableColumn("speaker", "text", "which agent said it, if it is between agents", repeats=True),
    TableColumn("text", "text", "what was said"),
    _TIME, _TURN, _MODEL,
))  # fmt: skip
CALLS: Final = TableSpec("calls", "a call of a tool, with its result", (
    _SESSION, _NUMBER,
    TableColumn("id", "text", "the id of its event"),
    TableColumn("call", "text", "its own id, which its result names"),
    TableColumn("name", "text", "the tool", repeats=True),
    TableColumn("family", "text", "what the tool is for: `read`, `edit`, `execute`, …", repeats=True),
    TableColumn("input", "json", "its arguments"),
    TableColumn("started", "time", "when it was called"),
    TableColumn("ended", "time", "when its result was recorded"),
    TableColumn("duration_ms", "count", "how long it took, if the agent records that"),
    TableColumn("status", "text", "its outcome in the agent's words", repeats=True),
    TableColumn("exit_code", "count", "of a command"),
    TableColumn("is_error", "flag", "whether the result is an error; null without a result"),
    TableColumn("denied", "flag", "whether the user refused it; null without a result"),
    TableColumn("succeeded", "flag", "whether it did what it was asked to; null without a result"),
    TableColumn("result", "text", "the text of the result"),
    _TURN, _MODEL,
))  # fmt: skip
USAGE: Final = TableSpec("usage", "a session's usage per day and model, as `katod usage` counts", (
    _SESSION,
    TableColumn("project", "text", "the directory that it counts for", repeats=True),
    TableColumn("day", "day", "the day, in the time zone of the machine; null if it is unknown"),
    TableColumn("model", "text", "the model", repeats=True),
    TableColumn("answers", "count", "how many answers"),
    TableColumn("input", "count", "tokens that were neither read from the cache nor written to it"),
    TableColumn("output", "count", "tokens of the answers, with the reasoning"),
    TableColumn("cache_read", "count", "tokens that were read from the cache"),
    TableColumn("cache_write", "count", "tokens that were written to the cache"),
    TableColumn("cache_write_1h", "count", "those of `cache_write` that are kept for an hour"),
    TableColumn("reasoning", "count", "those of `output` that were reasoning"),
    TableColumn("has_cost", "flag", "whether the agent recorded a cost"),
    TableColumn("cost_usd", "number", "that cost, in US dollars; null if there is none"),
))  # fmt: skip
EDITS: Final = TableSpec("edits", "what a call of an editing tool does to one file", (
    _SESSION, _NUMBER,
    TableColumn("call", "text", "the call: `calls.id`"),
    TableColumn("path", "text", "the file", repeats=True),
    TableColumn("change", "text", "`write` (all of it), `edit` (a part) or `delete`", repeats=True),
    TableColumn("added", "count", "lines"),
    TableColumn("removed", "count", "lines; null for `write` and `delete`, as the call does not say"),
    TableColumn("succeeded", "flag", "whether the call did what it was asked to; null without a result"),
    TableColumn("prompt", "text", "the message that led to it: `messages.id`"),
    TableColumn("answer", "text", "the latest message of the assistant before it: `messages.id`"),
    _TIME, _TURN, _MODEL,
))  # fmt: skip
# Those that are made of the events of one session, `sessions` first: it tells whether a partition is empty.
OF_EVENTS: Final = (SESSIONS, EVENTS, MESSAGES, CALLS, EDITS)
TABLES: Final = (*OF_EVENTS, USAGE)

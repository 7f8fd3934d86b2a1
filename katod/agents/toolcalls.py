"""Tool calls: the purpose of a tool, a one-line summary of a call, and which calls are still open."""

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

from katod import events as ev
from katod.agents.fields import dicts_of, safe_repr, text_of, texts_in
from katod.agents.tooltable import UNKNOWN, Keys, ToolEntry, tool
from katod.model import LONGEST_NAME
from katod.paths import below

# Far more than a line shows: a secret that is cut here could no longer be recognised.
LONGEST_DESCRIPTION: Final = 1000
# What stands before the words of a person who refuses a call: Claude Code, Claude Code 2.0, Copilot, OpenCode.
_REFUSALS: Final = (
    "the user said:", "the following reason for the rejection:", "User feedback:", "with the following feedback:",
)  # fmt: skip
# Claude Code, in the user's place: its instructions follow.
_CLARIFY: Final = "The user wants to clarify these questions."
_MOST_OPEN: Final = 256
_MOST_REMEMBERED: Final = 16_384  # characters of the questions of one call, until it is answered
T = TypeVar("T")


class OpenCalls(Generic[T]):
    """What is remembered about calls until their results arrive, by id; of too many, the oldest are forgotten.

    A call without an id, or with an implausibly long one, is not remembered.
    """

    def __init__(self, calls: dict[str, T] | None = None) -> None:
        self._calls: dict[str, T] = calls or {}

    def state(self) -> dict[str, T]:
        """Return the open calls as JSON."""
        return self._calls

    def __contains__(self, call: str) -> bool:
        return call in self._calls

    def get(self, call: str) -> T | None:
        """Return the state of an open call."""
        return self._calls.get(call)

    def add(self, call: str, known: T) -> bool:
        """Remember a call; return False if it is already open."""
        if call in self._calls:
            return False
        if 0 < len(call) <= LONGEST_NAME:
            self._calls[call] = known
            if len(self._calls) > _MOST_OPEN:
                del self._calls[next(iter(self._calls))]
        return True

    def replace(self, call: str, known: T) -> None:
        """Remember a call, replacing an open one with the same id."""
        self._calls.pop(call, None)
        self.add(call, known)

    def close(self, call: str) -> T | None:
        """Forget a call, and return what was remembered about it."""
        return self._calls.pop(call, None)


def family(name: str) -> str:
    """Return the kind of a tool, `other` if it is unknown."""
    return "mcp" if name.startswith("mcp__") else tool(name).family


def describe(name: str, arguments: Mapping[str, Any] | str, cwd: str = "") -> str:
    """Return one line, at most 1,000 characters, that says what a call is about; may be empty."""
    known = tool(name)
    if known.patch and (patch := known.patch_in(arguments)):
        return one_line(_patch_files(patch, cwd))
    if isinstance(arguments, str):
        return one_line(arguments)
    if known.items:
        return _count(arguments, known.items)
    if known.within:
        return one_line(_search(arguments, known, cwd))
    about = first_text(arguments, (*known.about, *UNKNOWN.about)) or next(iter(texts_in(arguments).values()), "")
    return one_line(relative(about, cwd))


def call_of(call: str, name: str, given: Any, cwd: str = "", server: str = "") -> dict[str, Any]:
    """Return the payload of a call: its id, its name, what it is about, and its arguments unchanged."""
    payload: dict[str, Any] = {"toolCallId": call, "name": name, "family": "mcp" if server else family(name)}
    if server:
        payload["server"] = server
    if description := describe(name, given if isinstance(given, dict | str) else {}, cwd):
        payload["description"] = description
    payload["input"] = given
    return payload


def question_of(decision: str, key: str, prompt: str, options: Any, *, several: bool) -> dict[str, Any]:
    """Return the payload of a question that a tool asks; options without a label are left out."""
    rows = [row for row in options if isinstance(row, dict)] if isinstance(options, list) else []
    names = ("label", "description")
    shown = [
        {k: row[k] for k in names if isinstance(row.get(k), str)} for row in rows if isinstance(row.get("label"), str)
    ]
    asked = {"decisionId": decision, "decisionKey": key or prompt, "prompt": prompt, "options": shown}
    return asked | ({"multiSelect": True} if several else {})


def questions_of(call: str, given: Mapping[str, Any], several: str = "multiSelect") -> list[dict[str, Any]]:
    """Return the payloads of the questions in the arguments of a call, `{"questions": [{question, header, options}]}`.

    `several` is the name of the field that says that more than one option may be chosen.
    """
    rows = enumerate(dicts_of(given.get("questions")))
    return [
        question_of(
            f"{call}:{n}", text_of(row.get("header")), text_of(row.get("question")), row.get("options"),
            several=row.get(several) is True,
        )
        for n, row in rows
    ]  # fmt: skip


def remembered(asked: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what answers need to know of their questions, as `asked`; nothing if that is very long."""
    rows = [{name: question[name] for name in ("decisionId", "prompt", "options")} for question in asked]
    return {"asked": rows} if rows and len(safe_repr(rows)) <= _MOST_REMEMBERED else {}


def answer_of(question: dict[str, Any], chosen: list[str]) -> dict[str, Any]:
    """Return the payload of an answer: the selected labels, and the user's own text."""
    labels = {option["label"] for option in question["options"]}
    words = ", ".join(part for part in chosen if part not in labels)
    row = {"decisionId": question["decisionId"], "selections": [part for part in chosen if part in labels]}
    return row | ({"freeText": words} if words else {})


def one_line(text: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """Return the first line of a text, with an ellipsis if there is more."""
    text = text.strip()
    first, newline, _ = text.partition("\n")
    if len(first) > longest:
        return first[: longest - 1].rstrip() + "…"
    return first.rstrip() + (" …" if newline else "")


def words_of_refusal(text: str) -> str:
    """Return what the user said when refusing a call, empty if nothing."""
    said = next((text.partition(mark)[2].strip() for mark in _REFUSALS if mark in text), "")
    return _CLARIFY if said.startswith(_CLARIFY) else said


def verdict_of(question: dict[str, Any], result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the user's answer to a plan, given the result of its call: none if the call failed, or was left."""
    if not (result.get("denied") or ev.went_well(result)):
        return []
    chosen = "rejected" if result.get("denied") else "approved"
    return [{"decisionId": question["decisionId"], "selections": [chosen]}]


def relative(text: str, cwd: str) -> str:
    """Return a path inside the project relative to it, any other text unchanged."""
    return below(text, cwd) or text


def first_text(arguments: Mapping[str, Any], keys: Keys) -> str:
    """Return the first of these arguments that says something: a text, words, or the paths of a list of files."""
    return next((words for key in keys if (words := _words_of(arguments.get(key))).strip()), "")


def _words_of(value: Any) -> str:
    if not isinstance(value, list):
        return text_of(value)
    if value and all(isinstance(part, str) for part in value):
        return _shell_words(value)
    names = [path for row in dicts_of(value) if (path := text_of(row.get("path")))]
    return _with_number(names) if names else ""


def _with_number(names: list[str]) -> str:
    """Return the first of these names, and how many more there are."""
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _shell_words(words: list[str]) -> str:
    """Return `["bash", "-lc", "make"]` as `make`."""
    return words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else " ".join(words)


def _count(arguments: Mapping[str, Any], keys: Keys) -> str:
    items = next((arguments[key] for key in keys if isinstance(arguments.get(key), list)), None)
    return "" if items is None else f"{len(items)} item{'s' if len(items) != 1 else ''}"


def _search(arguments: Mapping[str, Any], known: ToolEntry, cwd: str) -> str:
    pattern, where = (first_text(arguments, keys) for keys in (known.about, known.within))
    shown = f'"{pattern}"' if pattern else ""
    if where and where != cwd:
        shown += f" in {relative(where, cwd)}"
    return shown.strip()


def _patch_files(patch: str, cwd: str) -> str:
    """Return the names of the files that an `apply_patch` text changes."""
    heads = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")
    names = [relative(line[len(h) :], cwd) for line in patch.splitlines() for h in heads if line.startswith(h)]
    return _with_number(names) if names else patch

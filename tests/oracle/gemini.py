"""The oracle for Gemini CLI: reads one session, a document or a stream of lines, into four multisets."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.common import Record, Sets, as_dict, as_text, begin, canonical, records, shell_text

CONTEXT = ("<session_context>", "<hook_context>")
OPENING, CLOSING = "<untrusted_context>\n", "\n</untrusted_context>"
SHELLS = frozenset(("run_shell_command", "run_command"))
FINAL = frozenset(("success", "error", "cancelled"))


def read(path: Path) -> Sets:
    """Read every message of the file into one of the four multisets, or count it in `other`."""
    session = _Session()
    document = whole(path)
    if document is None:
        for _, _, row in records(path, session.sets.other):
            session.record(row)
    elif isinstance(document.get("messages"), list):
        session.document(document)
    else:
        session.record(document)
    return session.sets


def whole(path: Path) -> Record | None:
    """Return the file as one JSON object, as older versions write it, or None."""
    try:
        document = json.loads(path.read_bytes().decode("utf-8", "replace"))
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


_RAN = re.compile(
    r"I ran the following shell command:\n```sh\n(.*?)\n```\n\nThis produced the following result:\n```\n.*```\s*",
    re.DOTALL,
)
_GROUP = re.compile(r"(^|\n)Process Group PGID: \d+\s*$")


class _Session:
    """Counts a message when its id first appears, and a call when its id first appears in that message."""

    def __init__(self) -> None:
        self.sets = Sets()
        self.once: set[tuple[str, ...]] = set()
        self.own_lines = False
        self.again = ""  # the second in which the client writes its history again

    def document(self, document: Record) -> None:
        self.sets.other["other:header"] += 1
        for number, row in enumerate(document["messages"]):
            begin(self.sets.other, number)
            self._message(as_dict(row))

    def record(self, row: Record) -> None:
        if "$set" in row:
            self._patch(as_dict(row["$set"]))
        elif "$rewindTo" in row:
            self.sets.other["other:$rewindTo"] += 1
        elif self._is_written_again(row):
            answers = [part for part in parts(row.get("content")) if "functionResponse" in part]
            self.sets.other["user/functionResponse" if answers else "written again"] += 1
        elif "type" in row:
            self.own_lines = True
            self._message(row)
        elif "sessionId" in row:
            self.sets.other["other:header" if self._first("header") else "header/repeated"] += 1
        else:
            self.sets.other["other:untyped"] += 1

    def _is_written_again(self, row: Record) -> bool:
        """Return whether a record is of a history that is written again: from its context, with the first prompt, on."""
        moment = as_text(row.get("timestamp"))[:19]
        texts = [as_text(part.get("text")) for part in parts(row.get("content"))]
        if self.own_lines and len(texts) > 1 and texts[0].startswith("<session_context>"):
            self.again = moment
        return bool(moment) and moment == self.again

    def _patch(self, patch: Record) -> None:
        """Read a checkpoint, which repeats the history; it counts only if no message had a line of its own before."""
        keys = "+".join(sorted(patch.keys() - {"lastUpdated"})) or "lastUpdated"
        messages = patch.get("messages")
        if isinstance(messages, list) and not self.own_lines:
            self.sets.other["$set/messages-first"] += 1
            for row in messages:
                self._message(as_dict(row))
        else:
            self.sets.other[f"$set/{keys}"] += 1

    def _first(self, *key: str) -> bool:
        seen = key in self.once
        self.once.add(key)
        return not seen

    def _message(self, row: Record) -> None:
        kind, ident = as_text(row.get("type")), as_text(row.get("id"))
        if kind == "gemini":
            self._gemini(row, ident)
        elif not self._first(ident, kind):
            self.sets.other[f"{kind}/repeated"] += 1
        elif kind == "user":
            self._user(row, ident)
        else:
            self.sets.other[f"other:{kind or 'untyped'}"] += 1

    def _user(self, row: Record, ident: str) -> None:
        """Count what was typed, which some files keep separate from the client's expansion."""
        said = []
        for part in parts(row.get("displayContent") or row.get("content")):
            if "functionResponse" in part:
                self.sets.other["user/functionResponse"] += 1
            elif not isinstance(part.get("text"), str):
                self.sets.other[f"other:user/{'+'.join(sorted(part))}"] += 1
            elif part["text"].lstrip().startswith(CONTEXT):
                self.sets.other["other:user/context"] += 1
            else:
                said.append(part["text"])
        if said and (ran := _RAN.fullmatch("\n".join(said))):
            self.sets.user(ident, shell_text(ran[1]))
            self.sets.other["other:shell-output"] += 1
        elif said:
            self.sets.user(ident, "\n".join(said))

    def _gemini(self, row: Record, ident: str) -> None:
        text = "\n".join(as_text(part.get("text")) for part in parts(row.get("content")) if not part.get("thought"))
        if not text.strip():
            self.sets.other["gemini/empty-text"] += 1
        elif self._first(ident, "text"):
            self.sets.assistant(ident, text)
        else:
            self.sets.other["gemini/repeated"] += 1
        if as_dict(row.get("tokens")) and self._first(ident, "tokens"):
            self.sets.usage(ident, row["tokens"], ("input", "output"))
        for number, _ in enumerate(row.get("thoughts") or []):
            if self._first(ident, "thought", str(number)):
                self.sets.other["other:gemini/thought"] += 1
        for number, call in enumerate(row.get("toolCalls") or []):
            self._call(as_dict(call), ident, str(number))

    def _call(self, call: Record, ident: str, number: str) -> None:
        """Count a call and its result, which share one object that may be repeated when the tool has ended."""
        call_id = as_text(call.get("id"))
        if self._first(ident, "call", call_id or number):
            self.sets.call(call_id, as_text(call.get("name")), call.get("args") or {})
        else:
            self.sets.other["call/repeated"] += 1
        if call.get("status") in FINAL and self._first(ident, "result", call_id or number):
            self.sets.result(call_id, result_text(call))


def parts(content: Any) -> list[Record]:
    """Return the parts of a content: a string, a part, or a list of parts."""
    if isinstance(content, str):
        return [{"text": content}]
    if isinstance(content, dict):
        return [content]
    return [as_dict(part) for part in content] if isinstance(content, list) else []


def result_text(call: Record) -> str:
    """Return what the model received, the output or error of each response, otherwise what was displayed."""
    told = [as_dict(as_dict(part).get("functionResponse")) for part in parts(call.get("result"))]
    shell = call.get("name") in SHELLS
    texts = [_bare(_response(as_dict(one.get("response"))), shell) for one in told if one]
    return "\n".join(texts) if texts else as_text(call.get("resultDisplay"))


def _bare(text: str, shell: bool) -> str:
    """Return a result without the client's wrapper, and without a command's process group."""
    if text.startswith(OPENING) and text.endswith(CLOSING):
        text = text[len(OPENING) : -len(CLOSING)]
    return _GROUP.sub("", text) if shell else text


def _response(response: Record) -> str:
    value = response.get("output", response.get("error", response))
    return value if isinstance(value, str) else canonical(value)

"""What calls did to files: changes, and what was read and written of an agent's memory. Pure."""

from posixpath import basename
from typing import Any, Final

from katod.agents.fields import dict_of, dicts_of, list_of, text_of
from katod.agents.tooltable import tool
from katod.formats.matrix.lines import Draft
from katod.formats.matrix.values import Content, integer
from katod.formats.records.changes import relative
from katod.formats.transcript.calls import edit_size

_KINDS: Final = {"add": "created", "update": "modified", "delete": "deleted"}
_HEADS: Final = {"*** Add File: ": "add", "*** Update File: ": "update", "*** Delete File: ": "delete"}
_MEMORY: Final = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md", "MEMORY.md"})
READ: Final = "memory-read"
_MOST_FILES: Final = 100  # of one call
_LONGEST_PATH: Final = 1_000
_COUNTS: Final = (("lines_added", "added"), ("lines_removed", "removed"))
_HASHES: Final = (("before_hash", "before"), ("after_hash", "after"))


def edits_in(call: Content) -> list[Content]:
    """Return what a call is going to change, as `structured.files` says afterwards: for agents that keep no such thing.

    A file that is written as a whole may be new or not.
    """
    name, family, given = call["name"], call.get("family"), call.get("input")
    if family not in ("edit", "delete"):
        return []
    patch = tool(name).patch_in(given) if family == "edit" else ""
    files = _patched(patch) if patch else _named(name, family, given)
    if len(files) == 1 and files[0].get("change") != "delete":
        added, removed = edit_size(call)
        files[0] |= {"added": added, "removed": removed} if "change" in files[0] else {"added": added}
    return [row for row in files[:_MOST_FILES] if len(row["path"]) <= _LONGEST_PATH]


def _named(name: str, family: str, given: Any) -> list[Content]:
    """Return the file that a call names."""
    known = tool(name)
    path = next((text for key in known.about if (text := text_of(dict_of(given).get(key)))), "")
    replaces = any(before for before, _ in known.changes(given))
    change = {"change": "delete"} if family == "delete" else {"change": "update"} if replaces else {}
    return [{"path": path} | change] if path else []


def _patched(patch: str) -> list[Content]:
    lines = [line for line in patch.splitlines() if line.startswith("*** ")]
    return [
        {"path": line[len(head) :].strip(), "change": change}
        for line in lines for head, change in _HEADS.items() if line.startswith(head)
    ]  # fmt: skip


def changed(payload: Content, edits: list[Content], cwd: str, call: str, ids: Content) -> list[Draft]:
    """Return the changes that a successful call made: as the agent recorded them, else as the call was going to."""
    recorded = [row for row in dicts_of(dict_of(payload.get("structured")).get("files")) if text_of(row.get("path"))]
    drafts = []
    for number, row in enumerate((recorded or edits)[:_MOST_FILES]):
        path = relative(row["path"], cwd)
        about = ids | ({"tool_use_id": call} if call else {}) | {"path": path} | _change(row)
        drafts.append(Draft("file.change", about, f"file.{number}", derived=not recorded))
        if is_memory(row["path"]):
            kept = {name: value for name, value in about.items() if name in ("before_hash", "after_hash")}
            written = ids | {"file_path": path} | _scope(row["path"], cwd) | kept
            drafts.append(Draft("memory.write", written, f"memory.{number}", derived=not recorded))
    return drafts


def _change(row: Content) -> Content:
    about: Content = {"change_type": _KINDS[row["change"]]} if row.get("change") in _KINDS else {}
    about |= {name: count for name, key in _COUNTS if (count := integer(row.get(key))) is not None}
    about |= {name: f"sha256:{digest}" for name, key in _HASHES if (digest := text_of(row.get(key)))}
    ranges = [lines for lines in list_of(row.get("ranges")) if isinstance(lines, list)]
    return about | ({"katod_ranges": ranges} if ranges else {})


def read(path: str, cwd: str, ids: Content) -> list[Draft]:
    """Return that a memory file was read, if the file is one."""
    if not is_memory(path):
        return []
    return [Draft("memory.read", ids | {"file_path": relative(path, cwd)} | _scope(path, cwd), "memory")]


def told_read(data: Content, cwd: str, ids: Content) -> list[Draft]:
    """Return that the client gave a memory file to the model."""
    path = text_of(data.get("path"))
    scope = {"Project": "project", "User": "user"}.get(text_of(data.get("scope")))
    about = ids | {"file_path": relative(path, cwd)} | ({"scope": scope} if scope else {})
    size, digest = integer(data.get("bytes")), text_of(data.get("sha256"))
    known = {"size_bytes": size, "content_hash": digest and f"sha256:{digest}"}
    return [Draft("memory.read", about | {name: value for name, value in known.items() if value})] if path else []


def path_read(call: Content) -> str:
    """Return the path of a memory file that a call is going to read, empty for any other call."""
    if call.get("family") != "read":
        return ""
    given = dict_of(call.get("input"))
    path = next((text for key in tool(call["name"]).about if (text := text_of(given.get(key)))), "")
    return path if is_memory(path) and len(path) <= _LONGEST_PATH else ""


def is_memory(path: str) -> bool:
    """Return whether a path is that of a file that agents read at every start, or write for themselves."""
    return basename(path) in _MEMORY or ("/.claude/" in path and "/memory/" in path and path.endswith(".md"))


def _scope(path: str, cwd: str) -> Content:
    """Return the scope of a memory file as far as its path tells."""
    if not path.startswith("/") or relative(path, cwd) != path:
        return {"scope": "project"}
    return {"scope": "user"} if path.endswith("/.claude/CLAUDE.md") else {}

"""Which lines of which files an agent wrote, as the results of its tools say. Pure."""

from posixpath import relpath
from typing import Any, Final

from katod.formats.changes import ChangedFile, Range, changed_files

_MOST: Final = 20_000  # ranges of one session

Ranges = list[Range]


class Attribution:
    """The ranges of lines written to each file, by model, as they were right after each change.

    Later changes may move lines; the events do not say where lines were removed, so nothing is computed from them. A
    file that is written as a whole, or deleted, has none of its earlier lines any more.
    """

    def __init__(self) -> None:
        self._files: dict[str, dict[str, Ranges]] = {}
        self._count = 0

    def take(self, payload: dict[str, Any], model: str) -> None:
        """Take up the payload of a tool's result."""
        for file in changed_files(payload):
            self._change(file, model)

    def _change(self, file: ChangedFile, model: str) -> None:
        if file.change in ("add", "delete"):
            before = self._files.pop(file.path, {})
            self._count -= sum(map(len, before.values()))
        if new := file.ranges[: _MOST - self._count]:
            self._files.setdefault(file.path, {}).setdefault(model, []).extend(new)
            self._count += len(new)

    def record(self, cwd: str) -> dict[str, Any]:
        """Return the draft's `file-attribution`, empty if no line is known; paths are relative to the directory."""
        files = [
            {"path": _relative(path, cwd), "conversations": [_conversation(*one) for one in by_model.items()]}
            for path, by_model in self._files.items()
        ]
        return {"files": files} if files else {}


def _conversation(model: str, ranges: Ranges) -> dict[str, Any]:
    contributor = {"type": "ai"} | ({"model-id": model} if model else {})
    rows = [{"start-line": first, "end-line": last} for first, last in ranges]
    return {"contributor": contributor, "ranges": rows}


def _relative(path: str, cwd: str) -> str:
    inside = cwd.startswith("/") and path.startswith(f"{cwd.rstrip('/')}/")
    return relpath(path, cwd) if inside else path

"""Which lines of which files an agent wrote, as the results of its tools say. Pure."""

from posixpath import relpath
from typing import Any, Final

_MOST_FILES: Final = 2000
_MOST_RANGES: Final = 2000  # of one file

Ranges = list[list[int]]


class Attribution:
    """The ranges of lines written to each file, by model, as they were right after each change.

    Later changes may move lines; the events do not say where lines were removed, so nothing is computed from them. A
    file that is written as a whole, or deleted, has none of its earlier lines any more.
    """

    def __init__(self) -> None:
        self._files: dict[str, dict[str, Ranges]] = {}

    def take(self, payload: dict[str, Any], model: str) -> None:
        """Take up the payload of a tool's result."""
        structured = payload.get("structured")
        files = structured.get("files") if isinstance(structured, dict) and not payload.get("isError") else None
        for file in files if isinstance(files, list) else ():
            if isinstance(file, dict) and isinstance(file.get("path"), str):
                self._change(file, model)

    def _change(self, file: dict[str, Any], model: str) -> None:
        path, ranges = file["path"], file.get("ranges")
        if file.get("change") in ("add", "delete"):
            self._files.pop(path, None)
        if not ranges or (path not in self._files and len(self._files) >= _MOST_FILES):
            return
        kept = self._files.setdefault(path, {}).setdefault(model, [])
        kept.extend(ranges[: _MOST_RANGES - len(kept)])

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

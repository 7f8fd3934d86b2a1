"""Which lines of which files an agent wrote, as the results of its tools say. Pure."""

from typing import Any, Final, NamedTuple

from katod.formats.records.changes import ChangedFile, Range, changed_files, relative
from katod.formats.records.written import Written, hashes

_MOST: Final = 20_000  # ranges of one session


class _Version(NamedTuple):
    """What is known of a file right after a change: by which model, which lines, and their hashes as far as known."""

    model: str
    ranges: list[Range]
    hashes: list[str]


class Attribution:
    """The lines that the last change of each file wrote, as they are numbered after it.

    Those of earlier changes are left out: the last one may have moved or replaced them, and the events do not say where
    lines were removed. All ranges of a file are of one version of it, and so can be compared with it.
    """

    def __init__(self) -> None:
        self._files: dict[str, _Version] = {}
        self._written = Written()
        self._count = 0

    def call(self, payload: dict[str, Any]) -> None:
        """Take up the payload of a call that may write files."""
        self._written.call(payload)

    def take(self, payload: dict[str, Any], model: str) -> None:
        """Take up the payload of a tool's result."""
        texts = self._written.take(str(payload.get("toolCallId")))
        for file in changed_files(payload):
            self._change(file, model, texts)

    def _change(self, file: ChangedFile, model: str, texts: dict[str, list[str]]) -> None:
        before = self._files.pop(file.path, None)
        self._count -= len(before.ranges) if before else 0
        if file.change != "delete" and (new := file.ranges[: _MOST - self._count]):
            self._files[file.path] = _Version(model, new, hashes(texts, file.path, new))
            self._count += len(new)

    def record(self, cwd: str) -> dict[str, Any]:
        """Return the draft's `file-attribution`, empty if no line is known; paths are relative to the directory."""
        files = [
            {"path": relative(path, cwd), "conversations": [_conversation(version)]}
            for path, version in self._files.items()
        ]
        return {"files": files} if files else {}


def _conversation(version: _Version) -> dict[str, Any]:
    contributor = {"type": "ai"} | ({"model-id": version.model} if version.model else {})
    rows = [
        {"start-line": first, "end-line": last} | ({"content-hash": digest} if digest else {})
        for (first, last), digest in zip(version.ranges, version.hashes, strict=True)
    ]
    return {"contributor": contributor, "ranges": rows}

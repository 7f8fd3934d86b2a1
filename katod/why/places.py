"""Which of the files that are asked about a path may be of."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from katod.why.target import AskedFile


class FilePlaces:
    """The places of files, each as it is or as a hash of it."""

    def __init__(self, files: Sequence[AskedFile], form: Callable[[str], Any] = str) -> None:
        self._files = files
        self._here = [frozenset(map(form, file.places)) for file in files]
        self._elsewhere = [frozenset(map(form, file.places_elsewhere)) for file in files]
        self._known: dict[tuple[int, str], bool] = {}

    def of(self, ends: Iterable[Hashable], cwd: str) -> list[int]:
        """Return the numbers of the files that a path may be of, given its ends; a session in `cwd` has it."""
        found = set(ends)
        return [number for number in range(len(self._files)) if self._is_at(number, found, cwd)]

    def _is_at(self, number: int, ends: set[Hashable], cwd: str) -> bool:
        if not ends.isdisjoint(self._here[number]):
            return True
        return not ends.isdisjoint(self._elsewhere[number]) and self._may_be_of(number, cwd)

    def _may_be_of(self, number: int, cwd: str) -> bool:
        if (number, cwd) not in self._known:
            self._known[number, cwd] = self._files[number].may_be_of(cwd)
        return self._known[number, cwd]

"""When agents delete sessions by themselves: from times of files and settings alone. Pure, no file is opened."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from katod.agents.spec import Retention

DAY_NS: Final = 24 * 3600 * 10**9


class Deletable(NamedTuple):
    """What an agent deletes as a whole: a name for it, the folder it is in, its last change (ns), how many files."""

    name: str
    folder: str
    changed_ns: int
    files: int = 1


def days_left(found: Iterable[Deletable], retention: Retention, now_ns: int) -> Iterator[tuple[str, float]]:
    """Yield what will be deleted, and in how many days: none or less are left if the agent's next start does it.

    Of the sessions of one folder, the next start is one itself.
    """
    folders: dict[str, list[Deletable]] = defaultdict(list)
    for one in found:
        folders[one.folder].append(one)
    for beside in folders.values():
        beside.sort(key=lambda one: -one.changed_ns)
        for number, one in enumerate(beside):
            is_beyond = retention.most is not None and number >= max(retention.most - 1, 0)
            if is_beyond or (retention.pairs and one.files > 1):
                yield one.name, 0.0
            elif retention.days is not None:
                yield one.name, age_left(one.changed_ns, retention.days, now_ns)


def age_left(changed_ns: int, days: float, now_ns: int) -> float:
    """Return how many days are left until a file is that old."""
    return days - (now_ns - changed_ns) / DAY_NS

"""What protects katod from each fault, and which tests fail when that is taken out.

`old` is a piece of a module that stands in it once; with `new` in its place the protection is gone.
"""

from typing import NamedTuple


class Protection(NamedTuple):
    """A piece of code without which tests fail."""

    name: str
    module: str
    old: str
    new: str
    tests: tuple[str, ...]


PROTECTIONS = [
    Protection(
        "the intent is completed after a crash",
        "katod/pipeline.py",
        "            written = self.delivery.retry(row)\n",
        "            row.intent, written = None, True\n",
        ("tests/faults/test_power.py::TestLostPower", "tests/faults/test_kills.py", "tests/faults/test_syscalls.py"),
    ),
]

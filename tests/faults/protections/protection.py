"""One entry of the lists."""

from typing import NamedTuple


class Protection(NamedTuple):
    """A piece of code without which tests fail.

    `old` stands in the module once; with `new` in its place the protection is gone.
    """

    name: str
    module: str
    old: str
    new: str
    tests: tuple[str, ...]

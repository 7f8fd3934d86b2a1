"""Several machines of one person that share a folder: homes, each with katod's configuration and a name."""

from pathlib import Path
from typing import Any

from katod.archive.machine import this_machine
from tests.support.world import World


class Machine(World):
    """One home; what it exports goes to its part of the shared folder, which it reads, too."""

    def __init__(self, name: str, folder: Path, **more: Any) -> None:
        self.shared = folder / "shared"
        self.name = name
        super().__init__(folder / name, **more)

    def configure(self, **settings: Any) -> None:
        """Write the configuration: with a name and the shared folder, unless these are given."""
        own = {"archive.machine": self.name, "archive.folders": [str(self.shared)]}
        super().configure(**own | settings)

    @property
    def part(self) -> Path:
        """Its part of the shared folder."""
        return self.shared / this_machine(self.name, self.state).folder

    def share(self, form: str = "jsonl") -> str:
        """Export everything."""
        return self.cli("export", "--all", "-f", form, "-o", str(self.shared))

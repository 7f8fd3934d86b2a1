"""What is examined: the settings in effect, where katod keeps its state, and what time it is."""

from dataclasses import dataclass
from pathlib import Path

from katod.config import Settings
from katod.store.ledger import Ledger
from katod.store.rows import OutputRow

DAY_NS = 24 * 3600 * 10**9


@dataclass(frozen=True, slots=True)
class Case:
    """One examination; without a ledger, katod never ran, or its ledger cannot be used."""

    settings: Settings
    state: Path
    now_ns: int
    config: str = ""  # the configuration file, if it was named for this call
    ledger: Ledger | None = None

    @property
    def output_directory(self) -> Path:
        """The output directory."""
        return Path(self.settings.output.directory).expanduser()

    def outputs(self) -> list[OutputRow]:
        """Return all outputs that katod knows."""
        return [] if self.ledger is None else self.ledger.outputs()

"""What is examined: the settings in effect, where katod keeps its state, and what time it is."""

from dataclasses import dataclass
from pathlib import Path

from katod.agents import AGENTS
from katod.config import Settings
from katod.discover.roots import find_roots
from katod.record.policy import Policy
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

    def policy(self) -> Policy:
        """Return what the settings decide about recordings."""
        return Policy.here(self.settings, find_roots(self.settings, AGENTS), self.state)

    def outputs(self) -> list[OutputRow]:
        """Return all outputs that katod knows."""
        return [] if self.ledger is None else self.ledger.outputs()

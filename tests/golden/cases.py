"""The fixtures as cases: their files, and katod's output for each."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from katod.agents import AGENTS as KNOWN
from katod.events import Event
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Options
from katod.record.export import Stretch, render_all, replay

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
GOLDEN: Final = FIXTURES / "golden"
AGENTS: Final = tuple(sorted(name for name, spec in KNOWN.items() if not spec.form))
# A recording freezes its time zone and recorder; the other options are named here.
PLAIN: Final = Options(time_zone="Europe/Berlin", recorder="katod", exported=True)
FULL: Final = Options(time_zone="Europe/Berlin", recorder="katod", exported=True, tools="full", thinking=True)
FORMS: Final = {".md": ("markdown", PLAIN), ".full.md": ("markdown", FULL), ".jsonl": ("jsonl", PLAIN)}


class Case(NamedTuple):
    """One session: its agent, its name, and its files in order."""

    agent: str
    name: str
    paths: tuple[Path, ...]

    def __str__(self) -> str:
        return f"{self.agent}/{self.name}"

    def events(self) -> Iterator[tuple[Event, SessionMetadata]]:
        """Return the events of the session, as an export reads them."""
        identities = [KNOWN[self.agent].named(path) for path in self.paths]
        stretches = [Stretch(str(path), identity) for path, identity in zip(self.paths, identities, strict=True)]
        return replay(identities[0].key, stretches, EventLog())

    def render(self, form: str) -> bytes:
        """Return the output of `katod export`, cached for the test run."""
        return _rendered(self, form)

    def golden(self, form: str) -> Path:
        """Return the path of the expected output."""
        return GOLDEN / self.agent / f"{self.name}{form}"


@lru_cache(maxsize=512)
def _rendered(case: Case, form: str) -> bytes:
    name, options = FORMS[form]
    return "".join(render_all(case.events(), name, options)).encode()


def cases() -> list[Case]:
    """Return a case for every fixture file, and one more for the two files of the reverted thread as one session."""
    paths = [(agent, path) for agent in AGENTS for path in sorted((FIXTURES / agent).rglob("*.json*"))]
    found = [_case(agent, path) for agent, path in paths if not path.name.endswith(".meta.json")]
    revert = tuple(sorted((FIXTURES / "codex" / "revert").glob("*.jsonl")))
    return [*found, Case("codex", "revert", revert)]


def _case(agent: str, path: Path) -> Case:
    return Case(agent, str(path.relative_to(FIXTURES / agent).with_suffix("")), (path,))

"""Agents that use another agent's format: a name, a label, places, and what differs, in one row each.

What an agent of this table says of its state beside its records, deletes, or reads as instructions is not known of it.
Its sessions are resumed in programs of its own.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from katod.agents import claude, codex, opencode, pi
from katod.agents.spec import AgentSpec, Retention, from_environment, later
from katod.model import Identity


def _relative(base: AgentSpec, *, name: str, label: str, product: str, **differences: Any) -> AgentSpec:
    """Return an agent that writes what another one does; what only the other's own client does is left out."""
    identity_of = _as_agent(name, differences.pop("identity_of", base.identity_of))
    own: dict[str, Any] = {
        "identity_of": identity_of, "variables": (), "reports": "",
        "reported": lambda _path, _session, _start: None, "runs": lambda _path, _session, _start: None,
        "retention": lambda _root: Retention(), "instructions": None, "resume": None, "settings": None,
    }  # fmt: skip
    return replace(base, **own | {"name": name, "label": label, "product": product, "form": base.name} | differences)


def _as_agent(name: str, identity_of: Callable[[Path], Identity | None]) -> Callable[[Path], Identity | None]:
    def identity(path: Path) -> Identity | None:
        found = identity_of(path)
        return found and found._replace(key=found.key._replace(agent=name))

    return identity


def _whole_names(path: Path) -> Identity | None:
    """Return the identity of `<id>.jsonl`: a copy for a checkpoint, or a trajectory, has more in its name."""
    return None if "." in path.stem else pi.SPEC.identity_of(path)


def _home(*parts: str) -> Callable[[], list[Path]]:
    return lambda: [Path.home().joinpath(*parts)]


def _data(name: str) -> Callable[[], list[Path]]:
    return lambda: [(from_environment("XDG_DATA_HOME") or Path.home() / ".local" / "share") / name]


FAMILIES: Final = (
    _relative(
        claude.SPEC, name="cowork", label="Claude", product="Claude Cowork", adapter_name="cowork.CoworkAdapter",
        roots=lambda: [Path.home() / ".config" / "Claude", Path.home() / "Library" / "Application Support" / "Claude"],
        folders=("local-agent-mode-sessions/*/*/local_*/.claude/projects",),
        name_beside=later("agents.cowork.name_of"),
    ),
    _relative(
        claude.SPEC, name="openclaude", label="OpenClaude", product="OpenClaude",
        roots=lambda: [from_environment("OPENCLAUDE_CONFIG_DIR") or Path.home() / ".openclaude"],
        variables=("OPENCLAUDE_CONFIG_DIR",),
    ),
    _relative(
        pi.SPEC, name="openclaw", label="OpenClaw", product="OpenClaw", roots=_home(".openclaw"),
        folders=("agents/*/sessions",), identity_of=_whole_names, commands=False,
    ),
    _relative(pi.SPEC, name="omp", label="Oh My Pi", product="Oh My Pi", roots=_home(".omp", "agent")),
    _relative(pi.SPEC, name="prime", label="Prime", product="Prime Agent", roots=_home(".prime", "agent")),
    _relative(codex.SPEC, name="traex", label="TraeX", product="TraeX", roots=_home(".trae", "cli")),
    _relative(
        opencode.SPEC, name="kilo", label="Kilo", product="Kilo Code", roots=_data("kilo"),
        variables=("XDG_DATA_HOME",),
    ),
    _relative(
        opencode.SPEC, name="mimo", label="MiMo", product="MiMo Code", roots=_data("mimocode"),
        variables=("XDG_DATA_HOME",),
    ),
)  # fmt: skip

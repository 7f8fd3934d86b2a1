"""Which part of katod may import which: the arrows go one way."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import katod
from katod.agents import AGENTS

ROOT = Path(katod.__file__).parent

# Each part, and all that it may import. A part is a package, or a module beside the packages.
ARROWS = {
    # what all may know
    "errors": "",
    "model": "",
    "events": "",
    "slug": "",
    "log": "",
    "metadata": "events model",
    "requests": "model",
    "config": "agents errors log model",
    # the stages: bytes come in at the top and go out at the bottom
    "tail": "errors model",
    "agents": "errors events model tail",
    "discover": "agents config errors log model",
    "command": "agents errors events model tail",
    "formats": "agents events metadata model slug",
    "write": "errors",
    # what is remembered between the stages, and the stages put together
    "record": "agents command config discover errors events metadata formats log model slug tail write",
    "pipeline": "agents errors events log model record tail",
    "service": "errors",
    "daemon": "agents config discover errors log pipeline record requests service",
    "cli": "agents config daemon discover errors metadata formats log model record requests service",
    "__main__": "cli",
    "__init__": "",
}
ALL = {part: set(allowed.split()) for part, allowed in ARROWS.items()}


def part_of(path):
    """The package below katod that a file lies in, or its own name."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path):
    """The parts that a file imports, at its top or within a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [f"{node.module}.{alias.name}" if node.module == "katod" else node.module for alias in node.names]
        else:
            continue
        yield from (
            name.split(".")[1] for name in names if name.startswith("katod.") and not name.endswith("__version__")
        )


def used():
    """What each part imports of the others today."""
    found = {part: set() for part in ALL}
    for path in ROOT.rglob("*.py"):
        found.setdefault(part_of(path), set()).update(set(imports(path)) - {part_of(path)})
    return found


@pytest.mark.parametrize("part", sorted(used()))
def test_part_imports_only_what_the_table_allows(part):
    """No part reaches for another that it should not know."""
    assert part in ALL, "a new part of katod needs a line in the table"
    assert used()[part] <= ALL[part]


def test_table_holds_no_arrow_that_nobody_uses():
    """The table says how it is: an arrow that is gone is taken out."""
    assert {part: allowed - used()[part] for part, allowed in ALL.items() if allowed - used()[part]} == {}


def test_arrows_never_go_round():
    """Parts can be read, and tested, in an order in which each needs only those before it."""
    order = list(TopologicalSorter(ALL).static_order())
    assert order.index("write") < order.index("record") < order.index("pipeline") < order.index("daemon")


def modules():
    """What each module imports of the others, under `TYPE_CHECKING` as well."""
    paths = {".".join(("katod", *path.relative_to(ROOT).with_suffix("").parts)): path for path in ROOT.rglob("*.py")}
    found = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    graph = {}
    for name, path in found.items():
        named = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        wanted = {f"{node.module}.{alias.name}" for node in named for alias in node.names}
        wanted = {one if one in found else one.rpartition(".")[0] for one in wanted}
        graph[name] = (wanted & set(found)) - {name}
    return graph


def test_modules_of_the_agents_import_each_other_in_one_direction():
    """Parts of an adapter get what they need; they do not know the adapter."""
    graph = {name: wanted for name, wanted in modules().items() if name.startswith("katod.agents")}
    assert list(TopologicalSorter(graph).static_order())


def test_no_agent_is_named_outside_its_module():
    """What differs between agents is a field of their description, not a case somewhere else."""
    names = set(AGENTS) - {"cursor"}  # which is also a place in a file
    for path in ROOT.rglob("*.py"):
        if part_of(path) != "agents" and path.name != "demo.py":
            strings = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
            assert not strings & names, path


@pytest.mark.parametrize("stage", ["discover", "tail", "agents", "command", "formats", "write"])
def test_stages_know_nothing_of_what_puts_them_together(stage):
    """A stage knows neither the ledger nor the pipeline nor the program around it."""
    assert not ALL[stage] & {"record", "pipeline", "daemon", "cli", "service", "requests"}


@pytest.mark.parametrize(
    ("library", "parts"),
    [
        ("sqlite3", {"agents", "record"}),
        ("watchdog", {"discover"}),
        ("structlog", {"log"}),
        ("logging", {"log", "discover"}),
        ("click", {"cli"}),
        ("rich", {"cli"}),
        ("platformdirs", {"config"}),
        ("socket", {"service"}),
        ("subprocess", {"service", "cli"}),
        ("random", set()),
        ("locale", set()),
    ],
)
def test_library_is_known_in_one_place(library, parts):
    """What talks to the world outside is imported where it belongs, and nowhere else."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {part_of(path) for name in names if name.split(".")[0] == library}
    assert found <= parts


PURE = [
    "tail/framing.py",
    "tail/decode.py",
    "command/grammar.py",
    "command/machine.py",
    "command/split.py",
    "write/recover.py",
]
PURE += [
    f"formats/{name}.py"
    for name in ("mdtext", "toolview", "markdown", "jsonl", "when", "redact", "protocol", "__init__")
]
PURE += [
    f"agents/{name}.py"
    for name in (
        "fields", "toolcalls", "copilot", "codex/adapter", "codex/builder", "codex/calls", "codex/notes",
        "codex/tools", "claude/adapter", "claude/assistant", "claude/builder", "claude/queue", "claude/queued",
        "claude/system", "claude/text", "claude/usage", "claude/user", "opencode/adapter",
    )
]  # fmt: skip
PURE += ["events.py", "model.py", "metadata.py", "slug.py", "record/recorder.py"]


@pytest.mark.parametrize("name", PURE)
def test_pure_module_reads_neither_clock_nor_disk_nor_environment(name):
    """What decides the bytes of an output depends on what it is given, and on nothing else."""
    tree = ast.parse((ROOT / name).read_text())
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    called = {n.func.attr for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    assert not modules & {"os", "time", "random", "uuid", "socket", "tempfile"}
    assert not called & {"now", "today", "utcnow", "read_text", "read_bytes", "resolve", "exists", "stat", "open"}
    assert "hash" not in {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}

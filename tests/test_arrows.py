"""Which part of katod may import which: arrows go one way, between parts and between the modules inside each."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter

from katod.agents import AGENTS
from tests.modules import modules

# Each part, and all that it may import. A part is a package, or a module beside the packages.
ARROWS = {
    # what all may know
    "errors": "",
    "model": "",
    "events": "",
    "slug": "",
    "log": "",
    "backoff": "",
    "metadata": "events model",
    "config": "agents errors log model",
    # what is remembered between the stages
    "store": "errors log model",
    # the stages: bytes come in at the top and go out at the bottom
    "tail": "errors model",
    "agents": "errors events model tail",
    "discover": "agents config errors log model store tail",
    "command": "agents errors events model tail",
    "record": ("agents backoff command config discover errors events formats log metadata model slug store tail write"),
    "formats": "agents events metadata model slug",
    "write": "errors",
    # the stages put together
    "pipeline": "command discover errors events log model record store tail",
    "schedule": "backoff discover",
    "service": "errors model",
    "daemon": "agents config discover errors log pipeline record schedule service store",
    "cli": "agents config daemon discover errors formats log metadata model record service store",
    "__main__": "cli",
    "__init__": "",
}
ALL = {part: set(allowed.split()) for part, allowed in ARROWS.items()}
STAGES = ("discover", "tail", "agents", "command", "formats", "write")
AROUND = {"record", "pipeline", "schedule", "daemon", "cli", "service"}

# The libraries that talk to the world outside, or that make an output depend on more than its input: where each is known.
LIBRARIES = {
    "sqlite3": {"agents", "store"},
    "watchdog": {"discover"},
    "structlog": {"log"},
    "logging": {"log", "discover"},
    "click": {"cli"},
    "rich": {"cli"},
    "platformdirs": {"config"},
    "socket": {"service"},
    "subprocess": {"service", "cli"},
    "random": set(),
    "locale": set(),
}

# A module that uses one of these depends on more than what it is given: the clock, the disk, the environment, chance.
OUTSIDE_LIBRARIES = {
    "click", "fcntl", "getpass", "glob", "importlib", "locale", "logging", "os", "platformdirs", "random", "rich", "secrets",
    "select", "shutil", "signal", "socket", "sqlite3", "structlog", "subprocess", "sys", "tempfile", "threading", "time",
    "watchdog",
}  # fmt: skip
OUTSIDE_CALLS = {
    "cwd", "exists", "expanduser", "glob", "hash", "home", "input", "is_dir", "is_file", "iterdir", "lstat", "mkdir", "now",
    "open", "print", "read_bytes", "read_text", "resolve", "rglob", "stat", "today", "touch", "unlink", "utcnow",
    "uuid1", "uuid4", "write_bytes", "write_text",
}  # fmt: skip
# The modules that do; all others are pure, a new one included.
IMPURE = {
    "cli": "katod.cli .config .context .demo .export .record .run .sessions .status .verify",
    "config": "katod.config",
    "daemon": "katod.daemon",
    "log": "katod.log",
    "pipeline": "katod.pipeline",
    "discover": ".catalog .discovery .roots .sweep .watch",
    "tail": ".compressed .reader .source",
    "agents": (
        ".base .claude .claude.tools .codex .copilot .cursor .gemini .opencode .opencode.database .opencode.readonly"
        " .opencode.sweep .opencode.tree .pi .zot"
    ),
    "command": ".target",
    "write": ".output .safe",
    "store": ".integrity .ledger",
    "record": ".backfill .catchup .delivery .export .history .naming .policy .session .stream",
    "service": ".control .desktop .lock .sd_notify .signals",
}
# What decides the bytes of an output: pure, and built of nothing but pure modules.
DECIDING = (
    "katod.formats",
    "katod.command.grammar",
    "katod.command.decide",
    "katod.command.split",
    "katod.events",
    "katod.metadata",
    "katod.model",
    "katod.record.ranges",
    "katod.slug",
    "katod.tail.decode",
    "katod.tail.framing",
    "katod.write.recover",
)
# Those that know every agent by its reader, for no more than its names: to be given the names instead.
KNOW_THE_READERS = ("katod.formats.markdown", "katod.formats.registry", "katod.formats.toolview", "katod.record.ranges")


@cache
def graph():
    """What each module imports of katod, other modules only."""
    return {
        name: {other for other in module.imported if other in modules()} - {name} for name, module in modules().items()
    }


@cache
def reach(name):
    """All modules that one module needs, directly or through others."""
    found, left = set(), [name]
    while left:
        new = graph()[left.pop()] - found
        found |= new
        left += new
    return found


@cache
def used():
    """What each part imports from the others today."""
    found = defaultdict(set)
    for name, module in modules().items():
        if module.part != "__init__":
            others = {modules()[other].part for other in graph()[name]}
            found[module.part] |= others - {module.part, "__init__"}
    return dict(found)


def touches(module):
    """What a module uses apart from its arguments."""
    libraries = {name.split(".")[0] for name in module.imported} & OUTSIDE_LIBRARIES
    return libraries | (module.called & OUTSIDE_CALLS)


def impure():
    """The full names for the table above."""
    return {
        f"katod.{part}{name}" if name.startswith(".") else name
        for part, names in IMPURE.items()
        for name in names.split()
    }


def test_every_part_is_in_the_table_and_no_arrow_is_unused():
    """Each part imports what its line in the table says: all of it and nothing else."""
    table = {part: allowed for part, allowed in ALL.items() if part != "__init__"}
    found = used()
    assert {
        part: found.get(part, set()) - table.get(part, set()) for part in found if found[part] - table.get(part, set())
    } == {}
    assert {
        part: allowed - found.get(part, set()) for part, allowed in table.items() if allowed - found.get(part, set())
    } == {}
    assert set(found) == set(table), "each part of katod needs a line in the table"


def test_arrows_never_go_round():
    """Parts can be read, and tested, in an order in which each needs only those before it."""
    order = list(TopologicalSorter(ALL).static_order())
    assert order.index("write") < order.index("record") < order.index("pipeline") < order.index("daemon")


def test_no_modules_import_each_other_in_a_circle():
    """Inside a package, too, each module needs only those before it; imports for types count."""
    assert [name for name in graph() if name in reach(name)] == []


def test_no_agent_is_named_outside_its_module():
    """What differs between agents is a field of their description, not a case somewhere else."""
    names = set(AGENTS) - {"cursor"}  # which is also a place in a file
    named = {
        name: sorted(found)
        for name, module in modules().items()
        if module.part != "agents" and name != "katod.cli.demo"
        and (found := {node.value for node in module.nodes if isinstance(node, ast.Constant)} & names)
    }  # fmt: skip
    assert named == {}


def test_stages_know_nothing_of_what_puts_them_together():
    """A stage knows neither the ledger nor the pipeline nor the program around it."""
    assert {stage: ALL[stage] & AROUND for stage in STAGES if ALL[stage] & AROUND} == {}


def test_each_library_is_known_in_one_place():
    """What accesses the outside world is imported in the module it belongs to, and nowhere else."""
    wrong = [
        f"{module.name}: {library}"
        for module in modules().values()
        for library in sorted({name.split(".")[0] for name in module.imported} & set(LIBRARIES))
        if module.part not in LIBRARIES[library]
    ]
    assert wrong == []


def test_every_module_is_pure_but_those_of_the_table():
    """A module that reads clock, disk or environment, or writes, is in the table; the others do not."""
    found = {name: sorted(touches(module)) for name, module in modules().items() if touches(module)}
    assert {name: what for name, what in found.items() if name not in impure()} == {}, "make it pure, or name it"
    assert impure() - set(found) == set(), "these are pure now: take them out of the table"


def test_what_decides_the_bytes_of_an_output_is_pure_all_the_way_down():
    """They depend on what they are given and on nothing else, and so do the modules they use."""
    deciding = [name for name in modules() if name.startswith(DECIDING)]
    assert [name for name in DECIDING if name not in modules()] == []
    found = {name: sorted(({name} | reach(name)) & impure()) for name in deciding}
    assert {name: what for name, what in found.items() if what and name not in KNOW_THE_READERS} == {}
    assert [name for name in KNOW_THE_READERS if not found[name]] == [], "these are pure all the way down now"

"""Which part of katod may import which: imports go one way, between parts and between the modules of each."""

import ast
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter

import pytest

from katod.agents import AGENTS
from tests.modules import modules

pytestmark = pytest.mark.form
# Each part, and everything that it may import. A part is a package, or a module next to the packages.
ARROWS = {
    # what every part may use
    "errors": "",
    "model": "",
    "events": "",
    "shell": "",
    "text": "",
    "paths": "",
    "log": "",
    "backoff": "",
    "durable": "",
    "processes": "",
    "localzone": "",
    "smallfile": "durable",
    "gitcommand": "errors",
    "formatspec": "formats model",
    "exchanges": "events model",
    "receipt": "events",
    "metadata": "events model paths receipt",
    "states": "",
    "lifecycle": "events states",
    "destinations": "",
    "config": "agents destinations errors formatspec localzone log model smallfile text",
    "project": "command config durable errors formatspec model shell smallfile write",
    # what is stored between the stages
    "store": "durable errors log model shell text",
    # the stages, from bytes to outputs
    "edits": "agents events model paths",
    "tail": "errors model",
    "agents": "errors events lifecycle metadata model paths smallfile states tail",
    "discover": "agents config errors log model store tail",
    "command": "agents errors events formatspec model tail",
    "record": (
        "agents backoff command config discover edits errors events exchanges formats formatspec log metadata model paths project receipt smallfile states store tail text write"
    ),
    "formats": "agents events lifecycle metadata model paths text states",
    "write": "durable errors model shell",
    "search": "agents archive discover errors events formats formatspec localzone log metadata model paths processes record store tail text write",
    "usage": "agents discover errors events formats log metadata model processes record smallfile store tail",
    "why": "agents archive discover edits errors events formats formatspec gitcommand log metadata model paths processes record search store",
    # the stages put together
    "pipeline": "backoff command discover errors events log metadata record store tail",
    "preload": "agents errors formats formatspec",
    "shellrequests": "discover errors log model pipeline record store",
    "service": "durable errors log model smallfile store",
    # what katod keeps beside outputs: exports of everything
    "archive": "agents command discover durable errors events formats formatspec gitcommand log metadata model paths processes record text smallfile store write",
    # all sessions as tables for query engines
    "tables": (
        "agents archive discover durable edits errors events formats log metadata model processes record smallfile store usage write"
    ),
    # signatures of what was exported
    "seal": "durable errors events formats model smallfile",
    # what katod adds to the agents' own files
    "setup": "agents command durable errors service smallfile write",
    # sessions that are saved from deletion
    "rescue": (
        "agents archive discover durable errors events formats formatspec log metadata model project record smallfile store tail write"
    ),
    "chores": "config delivery discover log matrix otlp record rescue store",
    # recordings that are delivered elsewhere
    "delivery": "backoff config destinations discover errors log model record smallfile store",
    "matrix": "config delivery destinations errors formats log",
    "otlp": "config delivery destinations errors log",
    # what was recorded, for other agents
    "mcp": "agents archive errors formats formatspec log metadata model record search store text",
    # sessions for clients and browsers
    "serve": (
        "agents archive discover durable errors events exchanges formats formatspec log metadata model paths preload record search service shell text smallfile states store usage"
    ),
    "livesettings": "agents config discover errors model record service smallfile",
    "daemon": "agents chores config discover errors livesettings log model pipeline preload record service shellrequests store",
    "doctor": "agents archive config destinations discover errors log matrix otlp project record rescue service shell store write",
    "cli": (
        "agents archive command config daemon destinations discover doctor durable errors events formats formatspec localzone log mcp metadata model paths project record rescue seal search serve service setup"
        " shell smallfile states store tables text usage why"
    ),
    "__main__": "cli",
    "__init__": "",
}
ALL = {part: set(allowed.split()) for part, allowed in ARROWS.items()}
STAGES = ("discover", "tail", "agents", "command", "formats", "write")
AROUND = {"record", "store", "pipeline", "shellrequests", "daemon", "cli", "service", "doctor", "search"}

# Libraries that reach the outside world, or make an output depend on more than its input: who may import them.
LIBRARIES = {
    "sqlite3": {"agents", "store", "serve"},
    "watchdog": {"discover"},
    "httpx": {"delivery"},
    "google": {"otlp"},
    "opentelemetry": {"otlp"},
    "mcp": {"mcp"},
    "mcp_types": {"mcp"},
    "anyio": {"mcp"},
    "jsonschema": {"mcp"},
    "structlog": {"log"},
    "logging": {"log", "discover"},
    "click": {"cli"},
    "rich": {"cli"},
    "prompt_toolkit": {"cli"},
    "platformdirs": {"config"},
    "cbor2": {"seal"},
    "pyarrow": {"tables"},
    "genai_prices": {"usage"},
    "cryptography": {"seal"},
    "re2": {"formats"},
    "markdown_it": {"formats"},
    "pygments": {"formats"},
    "socket": {"service", "serve"},
    "starlette": {"serve"},
    "uvicorn": {"serve"},
    "subprocess": {"service", "cli", "gitcommand"},
    "random": set(),
    "locale": set(),
}

# A module that uses one of these depends on more than its arguments: the clock, the disk, the environment, chance.
OUTSIDE_LIBRARIES = {
    "click", "fcntl", "getpass", "glob", "importlib", "locale", "logging", "os", "platformdirs", "prompt_toolkit", "random", "rich", "secrets",
    "anyio", "httpx", "mcp", "select", "shutil", "signal", "socket", "sqlite3", "structlog", "subprocess", "sys", "tempfile", "threading", "time",
    "watchdog",
}  # fmt: skip
OUTSIDE_CALLS = {
    "cwd", "exists", "expanduser", "glob", "hash", "home", "input", "is_dir", "is_file", "iterdir", "lstat", "mkdir", "now",
    "open", "print", "read_bytes", "read_text", "resolve", "rglob", "stat", "today", "touch", "unlink", "utcnow",
    "uuid1", "uuid4", "write_bytes", "write_text",
}  # fmt: skip
# The modules that do; all others, including new ones, must be pure.
IMPURE = {
    "cli": (
        "katod.cli .allow .archiving .completion .config .content .context .demo .doctor .ending .export .exporting .follow .forget .formatchoice .groups .handoff .layout .mcp"
        " .open .opening .parameters .pause .personal .picker .printing .record .rendering .rescue .resume .run .saving .seal .sealhead .search .searchscope .selection .serve .service"
        " .sessionrow .sessions .setup .show .progressline .standardstreams .status .tabling .transcripts .usage .verify .why .wrapping"
    ),
    "config": "katod.config",
    "chores": "katod.chores",
    "daemon": "katod.daemon",
    "livesettings": "katod.livesettings",
    "localzone": "katod.localzone",
    "log": "katod.log",
    "pipeline": "katod.pipeline",
    "durable": "katod.durable",
    "processes": "katod.processes",
    "smallfile": "katod.smallfile",
    "project": ".allowed",
    "rescue": ".copyfile .folder .names .notes .plan .rescuer .restoring .saving",
    "doctor": ".agents .case .daemon .ledger .machine .outputs",
    "discover": ".catalog .discovery .folders .live .roots .source .watch",
    "tail": ".reader",
    "agents": (
        ".antigravity .antigravity.places .claude .claude.cleanup .claude.running .claude.tools .cline .codex .copilot .copilot.states .cursor .families .gemini .gemini.retention .kimi .opencode .opencode.database .opencode.readonly .opencode.second"
        " .opencode.sweep .opencode.tree .others .pi .processes .qwen .spec .vscode .zot"
    ),
    "command": ".target",
    "archive": ".commit .drop .excludedonce .folder .folders .machine .naming .parts .sessiontext",
    "tables": ".bucket .dataset .place .staging .update",
    "write": ".moved .output .reading .remove .root .safe .whole",
    "store": ".collections .deliveries .edits .integrity .keyedhash .ledger .statefolder .usagecache",
    "record": ".catchup .currentstate .delivery .export .follow .history .naming .native .policy .projectglobs .promptfiles .resync .sample .session .stream",
    "service": ".control .desktop .home .interrupted .lock .manager .openstate .pause .program .recordingfiles .running .sandbox .sd_notify .signals",
    "setup": ".files .hook .made .plan",
    "search": ".outputs .sessions .shared .since .transcriptfiles",
    "usage": ".overall .pricetable",
    "why": ".explain .git .places .target",
    "gitcommand": "katod.gitcommand",
    "delivery": ".bounds .delivery .exchange .http .progress .reader .readers .worker",
    "matrix": ".room",
    "mcp": ".recordings .server",
    "seal": ".keys",
    "serve": (
        ".access.guard .access.token .address .app .index.changes .index.entry .index.sessions .page.listwatch .page.machines .page.pages .page.recording .page.search .page.sessionlist .page.streams"
        " .page.login .protocol.connection .protocol.rest .server .worker"
    ),
}
# Parts that read what agents write, and their modules that may parse JSON themselves.
READING_AGENTS = {"agents", "command", "discover", "rescue", "tail"}
READING_JSON = {
    "katod.rescue.cleaning",  # which writes what strict JSON has no place for as it was
    "katod.rescue.copyfile",  # katod's own
    "katod.rescue.notes",  # katod's own
    "katod.tail.decode",  # for all others
}
# What determines the bytes of an output: pure, and using only pure modules.
DECIDING = (
    "katod.formats",
    "katod.command.grammar",
    "katod.events",
    "katod.lifecycle",
    "katod.metadata",
    "katod.states",
    "katod.model",
    "katod.record.ranges",
    "katod.text",
    "katod.tail.decode",
    "katod.write.recover",
)
# These import every agent's reader only for the agents' names; the names should be passed to them instead.
KNOW_THE_READERS = (
    "katod.formats.records.agentrecord",
    "katod.formats.records.agenttrace",
    "katod.formats.atif.document",
    "katod.formats.transcript.between",
    "katod.formats.transcript.brief",
    "katod.formats.transcript.html",
    "katod.formats.lifecycle",
    "katod.formats.matrix.printer",
    "katod.formats.otlp.printer",
    "katod.formats.transcript.pullrequest",
    "katod.formats.transcript.turns",
    "katod.formats.transcript.markdown",
    "katod.formats.stream.bridge",
    "katod.formats.stream.printer",
    "katod.formats.stream.messages",
    "katod.formats.transcript.base",
    "katod.formats.records.vcon",
)


@cache
def graph():
    """Return what each module imports of katod, without itself."""
    return {
        name: {other for other in module.imported if other in modules()} - {name} for name, module in modules().items()
    }


@cache
def reach(name):
    """Return all modules that a module needs, directly or through others."""
    found, left = set(), [name]
    while left:
        new = graph()[left.pop()] - found
        found |= new
        left += new
    return found


@cache
def used():
    """Return what each part imports from the others."""
    found = defaultdict(set)
    for name, module in modules().items():
        if module.part != "__init__":
            others = {modules()[other].part for other in graph()[name]}
            found[module.part] |= others - {module.part, "__init__"}
    return dict(found)


def touches(module):
    """Return what a module uses apart from its arguments."""
    libraries = {name.split(".")[0] for name in module.imported} & OUTSIDE_LIBRARIES
    libraries |= {"katod.durable"} & module.imported
    return libraries | (module.called & OUTSIDE_CALLS)


def impure():
    """Return the full names of the modules in the table above."""
    return {
        f"katod.{part}{name}" if name.startswith(".") else name
        for part, names in IMPURE.items()
        for name in names.split()
    }


def test_every_part_is_in_the_table_and_no_arrow_is_unused():
    """Each part imports exactly what its row in the table allows."""
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
    """There is an order of the parts in which each needs only those before it."""
    order = list(TopologicalSorter(ALL).static_order())
    assert order.index("write") < order.index("record") < order.index("pipeline") < order.index("daemon")


def test_no_modules_import_each_other_in_a_circle():
    """No module imports itself through others, including imports for types only."""
    assert [name for name in graph() if name in reach(name)] == []


def test_no_agent_is_named_outside_its_module():
    """Differences between agents are fields of their spec, not cases in other modules."""
    names = set(AGENTS) - {"cursor"}  # which is also a place in a file
    named = {
        name: sorted(found)
        for name, module in modules().items()
        if module.part != "agents" and name != "katod.cli.demo"
        and (found := {node.value for node in module.nodes if isinstance(node, ast.Constant)} & names)
    }  # fmt: skip
    assert named == {}


def test_stages_know_nothing_of_what_puts_them_together():
    """A stage imports neither the recording nor the pipeline nor the program around it; sources are in the ledger."""
    assert {stage: ALL[stage] & AROUND for stage in STAGES if ALL[stage] & AROUND} == {"discover": {"store"}}
    found = [module for module in modules().values() if module.part == "discover"]
    using = {module.name for module in found if any(name.startswith("katod.store") for name in module.imported)}
    assert using == {"katod.discover.catalog", "katod.discover.found", "katod.discover.source"}


def test_each_library_is_known_in_one_place():
    """A library with access to the outside world is imported only by the part it belongs to."""
    wrong = [
        f"{module.name}: {library}"
        for module in modules().values()
        for library in sorted({name.split(".")[0] for name in module.imported} & set(LIBRARIES))
        if module.part not in LIBRARIES[library]
    ]
    assert wrong == []


def test_what_agents_write_is_parsed_in_one_place():
    """So half a character, which strict JSON refuses, hides neither words nor that their project is excluded."""
    found = {
        module.name
        for module in modules().values()
        for node in module.nodes
        if module.part in READING_AGENTS and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id in {"json", "orjson"} and node.attr in {"load", "loads"}
    }
    assert READING_JSON - found == set(), "these read none any more: take them out of the list"
    assert found - READING_JSON == set(), "`katod.tail.decode.loads` takes all that agents write"


def test_every_module_is_pure_but_those_of_the_table():
    """Only modules in the table use the clock, the disk or the environment, and all of them do."""
    found = {name: sorted(touches(module)) for name, module in modules().items() if touches(module)}
    assert {name: what for name, what in found.items() if name not in impure()} == {}, "make it pure, or name it"
    assert impure() - set(found) == set(), "these are pure now: take them out of the table"


def test_what_decides_the_bytes_of_an_output_is_pure_all_the_way_down():
    """These modules depend only on their arguments, and so do all modules that they use."""
    deciding = [name for name in modules() if name.startswith(DECIDING)]
    assert [name for name in DECIDING if name not in modules()] == []
    found = {name: sorted(({name} | reach(name)) & impure()) for name in deciding}
    assert {name: what for name, what in found.items() if what and name not in KNOW_THE_READERS} == {}
    assert [name for name in KNOW_THE_READERS if not found[name]] == [], "these are pure all the way down now"

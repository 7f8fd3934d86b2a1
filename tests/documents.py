"""The generated parts of the documents: `python -m tests.documents` writes them, `test_docs.py` compares them.

A generated part is between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. Its source is katod itself: the help
texts, the default configuration, the registry of agents, the redaction rules and the log events.
"""

import ast
import inspect
import json
import re
import runpy
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import click
from click.testing import CliRunner

from katod import events as ev
from katod.agents import AGENTS
from katod.cli import app
from katod.cli.overview import Surroundings, overview
from katod.events import Event, SessionRef
from katod.formats.lifecycle import LifecycleLines
from katod.formats.matrix.names import ROWS as MATRIX
from katod.formats.otlp import names as spans
from katod.formats.redact.forms import FORMS
from katod.formats.redact.names import FACTS
from katod.formats.redact.rules import RULES
from katod.formats.stream.bridge import ROWS
from katod.formatspec import FORMATS as KNOWN_FORMATS
from katod.formatspec import recorded_formats
from katod.lifecycle import AFTER, PERMISSION_COMPLETED, PERMISSION_REQUESTED, Lifecycle
from katod.log import EventLog
from katod.metadata import SessionMetadata
from katod.model import Options, SessionKey
from katod.states import State
from katod.tables.schema import TABLES
from katod.tables.schema import VERSION as TABLES_VERSION
from tests.agents import tooldocument
from tests.formats.native import table as native
from tests.support.records import Claude
from tests.support.world import World

ROOT: Final = Path(__file__).parents[1]
README: Final = "README.md"
ARCHITECTURE: Final = "katod/README.md"
MODULES: Final = "katod/modules.md"
AGENTS_README: Final = "katod/agents/README.md"
CLI: Final = "katod/cli/README.md"
FORMATS: Final = "katod/formats/README.md"
TOOLS: Final = "katod/agents/tools.md"
AGENT_RECORD: Final = "katod/formats/docs/agent-record.md"
ATIF: Final = "katod/formats/docs/atif.md"
FIELDS: Final = "katod/formats/docs/fields.md"
JSONL: Final = "katod/formats/docs/jsonl.md"
LIFECYCLE: Final = "katod/formats/docs/lifecycle.md"
MATRIX_FORMAT: Final = "katod/formats/docs/matrix.md"
OTLP_FORMAT: Final = "katod/formats/docs/otlp.md"
REDACTION: Final = "katod/formats/docs/redaction.md"
STREAM: Final = "katod/formats/docs/stream.md"
CONFIG: Final = "config/README.md"
PACKAGING: Final = "packaging/README.md"
SEAL: Final = "katod/seal/README.md"
DELIVERY: Final = "katod/matrix/README.md"
SERVE: Final = "katod/serve/README.md"
TABLES_README: Final = "katod/tables/README.md"
TESTS: Final = "tests/README.md"
FAULTS: Final = "tests/faults/README.md"
DOCUMENTS: Final = (
    README, "CHANGELOG.md", ARCHITECTURE, MODULES, AGENTS_README, TOOLS, CLI, FORMATS, AGENT_RECORD, ATIF, FIELDS, JSONL, LIFECYCLE, MATRIX_FORMAT, REDACTION, STREAM, DELIVERY, SERVE, TABLES_README, SEAL, CONFIG, PACKAGING, TESTS, FAULTS,
    "fixtures/README.md",
)  # fmt: skip


def text(document: str) -> str:
    """Return the text of a document."""
    return (ROOT / document).read_text()


def block(document: str, name: str) -> str:
    """Return a generated part of a document as it is committed."""
    begin, end = _bounds(text(document), name)
    return text(document)[begin:end]


def write(document: str, name: str, content: str) -> None:
    """Replace a generated part of a document."""
    now = text(document)
    begin, end = _bounds(now, name)
    (ROOT / document).write_text(now[:begin] + content + now[end:])


def _bounds(content: str, name: str) -> tuple[int, int]:
    begin = f"<!-- {name}:begin -->\n"
    return content.index(begin) + len(begin), content.index(f"<!-- {name}:end -->")


# -- what is generated ------------------------------------------------------------------------------


def help_text(*words: str) -> str:
    """Return what `katod … --help` prints on a terminal of 80 columns, as a code block."""
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name="katod", terminal_width=80).stdout
    return f"```text\n{shown.rstrip()}\n```\n"


def commands(group: click.Group = app, prefix: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its full name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*prefix, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*prefix, name))


def reference() -> str:
    """Return the help text of katod and of every command."""
    parts = [f"## katod\n\n{help_text()}"] + [
        f"## katod {' '.join(words)}\n\n{help_text(*words)}" for words, _ in commands()
    ]
    return "\n" + "\n".join(parts) + "\n"


def known_agents() -> str:
    """Return the table of agents that have a form of their own, and in one row those that write one of these."""
    relatives = [name for name in sorted(AGENTS) if AGENTS[name].form]
    rows = agents().splitlines(keepends=True)
    own = [row for row in rows if not any(row.startswith(f"| `{name}` ") for name in relatives)]
    names = ", ".join(f"`{name}`" for name in relatives)
    products = ", ".join(AGENTS[name].product for name in relatives)
    return "".join(own) + f"| {names} | {products} | as listed in [config/README.md](config/README.md#agents) |\n"


def agents() -> str:
    """Return the table of agents; the folders are those in the default configuration."""
    roots = {key.split(".")[1]: meaning for key, _, meaning in settings() if key.endswith(".roots")}
    lines = ["| name | agent | session directory |", "|---|---|---|"]
    for name in sorted(AGENTS):
        where = roots[name].partition("Empty: ")[2].rstrip(".")
        lines.append(f"| `{name}` | {AGENTS[name].product} | {_coded(where)} |")
    return "\n".join(lines) + "\n"


def status() -> str:
    """Return what `katod status` prints of the session that README.md describes, as a code block in a list."""
    with TemporaryDirectory() as folder:
        world = World(Path(folder))
        project = world.home / "shop"
        session = Claude(world, cwd=str(project))
        session.append(session.user("::start\nAdd a login page to this shop."), session.says("I begin with the form."))
        world.once()
        row = world.status() | {"daemon": {"running": True, "pid": 4242}}
        around = Surroundings(time.time(), "Europe/Berlin", str(world.home), 100, "katod run")
        lines = ["".join(span.text for span in line).rstrip() for line in overview(row, around)]
    return "\n".join(["   ```text", *(f"   {line}".rstrip() for line in lines), "   ```", "   "])


def _coded(where: str) -> str:
    """Put paths and variables into code spans."""
    return re.sub(r"[$~][\w/.-]*(?: - \w+)?[\w/.-]*\w(?: Support(?:/\w+)?)?", lambda match: f"`{match[0]}`", where)


def settings() -> Iterator[tuple[str, str, str]]:
    """Yield key, default and meaning of every key in the commented default configuration."""
    table, comment = "", ""
    for line in text("config/katod.toml").splitlines():
        if line.startswith("["):
            table, comment = line.strip("[]"), ""
        elif line.startswith("# "):
            comment = f"{comment} {line[2:]}".strip()
        elif " = " in line:
            key, _, default = line.partition(" = ")
            yield f"{table}.{key}", default, comment
            comment = ""


def keys() -> str:
    """Return the table of configuration keys; those of agents are listed once."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    for key, default, meaning in settings():
        _, agent, leaf = key.split(".") if key.startswith("agents.") else ("", "", "")
        if agent and agent != min(AGENTS):
            continue
        name = f"agents.<name>.{leaf}" if agent else key
        shown = "Where it keeps its sessions. Empty: the defaults below." if leaf == "roots" else meaning
        lines.append(f"| `{name}` | `{default}` | {shown.replace(' - ', '<br>• ')} |")
    return "\n".join(lines) + "\n"


def transcript() -> str:
    """Return the transcript of the demo session without its front matter, as in the picture of the README."""
    picture = runpy.run_path(str(ROOT / "packaging/readme/picture.py"))
    lines = "\n".join(line for line, _ in picture["transcript"]())
    return f"````markdown\n{lines}\n````\n"


def rules() -> str:
    """Return the table of redaction rules, one row for each name that a placeholder may contain."""
    facts: dict[str, list[str]] = {}
    for name, fact in [*((rule.name, rule.fact) for rule in (*RULES, *FORMS)), *FACTS.items()]:
        known = facts.setdefault(name, [])
        if fact not in known:
            known.append(fact)
    lines = ["| rule | what it finds |", "|---|---|"]
    return "\n".join(lines + [f"| `{name}` | {'; '.join(all_facts)} |" for name, all_facts in facts.items()]) + "\n"


def log_events() -> str:
    """Return the table of log events."""
    lines = ["| event | level | fields | meaning |", "|---|---|---|---|"]
    for method in filter(inspect.isfunction, vars(EventLog).values()):
        found = re.search(r'self\._emit\("(\w+)", "([a-z._]+)"(.*)\)', inspect.getsource(method))
        if found and method.__doc__:
            fields = ", ".join(f"`{field}`" for field in re.findall(r"(\w+)=", found[3]))
            lines.append(f"| `{found[2]}` | {found[1]} | {fields} | {method.__doc__} |")
    return "\n".join(lines) + "\n"


def formats() -> str:
    """Return the table of formats."""
    recorded = dict.fromkeys(recorded_formats(), "yes")
    rows = [
        f"| `{spec.name}` | `{spec.suffix}` | {spec.about} | {recorded.get(spec.name, 'no')} |"
        for spec in KNOWN_FORMATS.values()
    ]
    return "\n".join(["| format | file extension | what it is | for recordings |", "|---|---|---|---|", *rows]) + "\n"


def matrix() -> str:
    """Return the table of the events of the protocol."""
    needs = {"": "", "thinking": "`thinking`", "tools": "`tools`", "full": '`tools = "full"`'}
    rows = [
        f"| `{row.name}` | {row.evidence if row.is_written else 'not written'} | {needs[row.needs]} | {row.why} |"
        for row in MATRIX
    ]
    head = ["| event | katod has it | needs | what it is made of, or why it is not written |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def conventions() -> str:
    """Return which conventions the names of spans are from."""
    return f"`{spans.CONVENTIONS}`, with the schema `{spans.SCHEMA_URL}`.\n"


def bridge() -> str:
    """Return the table of what viewers of CodingBridge know."""
    lines = ["| event | message | from | what it says, or why there is none |", "|---|---|---|---|"]
    senders = {"format": "the format", "server": "a server", "nobody": "nobody"}
    for row in ROWS:
        message = f"`{row.message}`" if row.message else ""
        lines.append(f"| `{row.event}` | {message} | {senders[row.sender]} | {row.why} |")
    return "\n".join(lines) + "\n"


def states() -> str:
    """Return the table of states, and the lines after which a session is in each."""
    after = {state: [f"`{line}`" for line, found in AFTER.items() if found is state] for state in State}
    rows = [f"| {state} | {', '.join(lines)} |" for state, lines in after.items()]
    return "\n".join(["| state | after |", "|---|---|", *rows]) + "\n"


# The kinds of events that give no lifecycle line, and why.
_SILENT: Final = {
    "the client says it, and nothing follows from it": (ev.SYSTEM_MESSAGE,),
    "the head says it": (ev.SESSION_START,),
    "nobody knows what it means": (ev.PROVIDER_RAW,),
    "the call of a sub-agent, and its result, say it": (ev.AGENT_START, ev.AGENT_END),
    "it is about the recording": (ev.RECEIPT,),
}


def silent() -> str:
    """Return the table of the kinds of events without a lifecycle line. Raises ValueError if it is not complete."""
    if {kind for kinds in _SILENT.values() for kind in kinds} != {*ev.KINDS} - {*Lifecycle.HANDLERS}:
        raise ValueError("name each kind of events without a handler, and say why")
    rows = [f"| {', '.join(f'`{kind}`' for kind in kinds)}: {why} |" for why, kinds in _SILENT.items()]
    return "\n".join(["| events without a line |", "|---|", *rows]) + "\n"


def _happened() -> Iterator[Event]:
    """Yield events that give every line once."""
    call = {"toolCallId": "toolu_1"}
    asked = {"text": "", "subtype": PERMISSION_REQUESTED, "data": call | {"requestId": "r1"}}
    answered = asked | {"subtype": PERMISSION_COMPLETED}
    for kind, payload, model in (
        (ev.USER_MESSAGE, {"text": ""}, ""),
        (ev.ASSISTANT_MESSAGE, {"text": "", "stopReason": "tool_use"}, "claude-opus-4-6"),
        (ev.TOOL_CALL, call | {"name": "Bash"}, ""),
        (ev.PROVIDER_INFO, asked, ""),
        (ev.PROVIDER_INFO, answered, ""),
        (ev.TOOL_RESULT, call, ""),
        (ev.ASSISTANT_MESSAGE, {"text": "", "stopReason": "end_turn"}, "claude-opus-4-6"),
        (ev.COMPACTION, {"trigger": "auto"}, ""),
        (ev.CONFIG_CHANGE, {"what": "model", "after": "claude-sonnet-4-5"}, ""),
        (ev.ERROR, {"message": "overloaded", "code": "529"}, ""),
    ):
        yield Event("e", kind, SessionRef("claude", "s"), payload, {}, "2026-02-10T22:36:40.000Z", model=model)


def lines() -> str:
    """Return an example of each lifecycle line."""
    key = SessionKey("claude", "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11")
    metadata, printer = SessionMetadata(key, {"cwd": "/home/me/shop"}), LifecycleLines(Options())
    said = printer.head(metadata, "2026-02-10T22:36:40.000Z")
    said += "".join(printer.event(event, metadata) for event in _happened())
    found: dict[str, str] = {}
    for text in said.splitlines():
        found.setdefault(json.loads(text)["type"], text)
    return "\n".join(["```json", *found.values(), "```"]) + "\n"


def tables() -> str:
    """Return the tables of a data set, each with its columns."""
    parts = []
    for table in TABLES:
        rows = [f"| `{column.name}` | {column.kind} | {column.about} |" for column in table.columns]
        head = f"### {table.name}\n\nA row is {table.about}.\n\n| column | type | meaning |\n|---|---|---|"
        parts.append("\n".join([head, *rows]))
    return "\n\n".join(parts) + "\n"


def modules() -> str:
    """Return a table of the modules of each package, with what the first paragraph of each says."""
    parts: dict[str, list[str]] = {}
    for path in sorted((ROOT / "katod").rglob("*.py"), key=lambda path: (path.parent.parts, path.name)):
        about = ast.get_docstring(ast.parse(path.read_text()))
        assert about, path
        first, package = " ".join(about.split("\n\n")[0].split()).replace("|", "\\|"), path.parent.relative_to(ROOT)
        if path.name == "__init__.py":
            parts[f"## {package}\n\n{first}"] = []
        elif path.name != "__main__.py":
            parts[[*parts][-1]].append(f"| `{path.stem}` | {first} |")
    return "\n".join(
        "\n".join([head, "", "| module | contents |", "|---|---|", *rows, ""] if rows else [head, ""])
        for head, rows in parts.items()
    )


BLOCKS: Final[dict[tuple[str, str], Callable[[], str]]] = {
    (README, "agents"): known_agents,
    (README, "status"): status,
    (MODULES, "modules"): modules,
    (TOOLS, "tools"): tooldocument.text,
    (CLI, "reference"): reference,
    (CONFIG, "keys"): keys,
    (CONFIG, "agents"): agents,
    (STREAM, "bridge"): bridge,
    (FORMATS, "formats"): formats,
    (FORMATS, "transcript"): transcript,
    (MATRIX_FORMAT, "matrix"): matrix,
    (OTLP_FORMAT, "conventions"): conventions,
    (FIELDS, "native"): native.text,
    (LIFECYCLE, "states"): states,
    (LIFECYCLE, "silent"): silent,
    (LIFECYCLE, "lines"): lines,
    (REDACTION, "rules"): rules,
    (PACKAGING, "log"): log_events,
    (TABLES_README, "schema"): tables,
    (TABLES_README, "version"): lambda: f"{TABLES_VERSION}\n",
}


def main() -> None:
    """Write every generated part, including the table of faults."""
    from tests.faults import table  # noqa: PLC0415 - it collects the whole suite

    for (document, name), content in BLOCKS.items():
        write(document, name, content())
    table.main()
    sys.stdout.write(f"written: {', '.join(sorted({document for document, _ in BLOCKS}))}, {FAULTS}\n")


if __name__ == "__main__":
    main()

"""Makes the tables of `katod/formats/docs/fields.md`: what becomes of each field of each agent."""

from importlib import import_module
from typing import Final

from katod.agents import AGENTS
from tests.formats.native.finding import EVENT, TRANSCRIPT, Field, documents, found, shown
from tests.formats.native.reasons import all_reasons, reason
from tests.formats.native.sections import ADDED

KINDS: Final = "kinds"
NATIVE: Final = ("claude", "codex", "gemini", "opencode", "cursor")
MODULES: Final = (KINDS, *NATIVE)
_HEADINGS: Final = {EVENT: "event", "agent-record": "agent record", "atif": "ATIF"}


def fields(module: str) -> dict[str, tuple[Field, ...]]:
    """Return the fields of a module by section."""
    by_section: dict[str, tuple[Field, ...]] = import_module(f"tests.formats.native.{module}").FIELDS
    return by_section


def every(module: str) -> list[Field]:
    """Return all fields of a module."""
    return [field for section in fields(module).values() for field in section]


def text() -> str:
    """Return the tables, each collapsed, and the reasons that they refer to."""
    reasons = "\n".join(f"{number}. {why}" for number, why in enumerate(all_reasons(), 1))
    return f"{''.join(map(_table, MODULES))}\n{reasons}\n"


def _table(module: str) -> str:
    title = "Kinds of events" if module == KINDS else AGENTS[module].product
    names = [_HEADINGS.get(spec.name, spec.name) for spec in documents()]
    heads = ["kind or field" if module == KINDS else "native field", *names, "Markdown", "note"]
    rows = [heads, ["---"] * len(heads)]
    for section, known in fields(module).items():
        rows.append([f"*{section}*", *[""] * (len(heads) - 1)])
        rows += [_row(module, field, is_named=section != ADDED) for field in known]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"<details><summary>{title}</summary>\n\n{lines}\n\n</details>\n"


def _row(module: str, field: Field, *, is_named: bool) -> list[str]:
    """Return the cells of a field; one in words is no path."""
    events = found(module, field, EVENT)
    cells = [_coded(found(module, field, spec.name)) or _nowhere(spec.name, events) for spec in documents()]
    seen = shown(module, field) or _nowhere(TRANSCRIPT, events)
    return [f"`{field.path}`" if is_named else field.path, *cells, seen, field.note]


def _coded(places: list[str]) -> str:
    return ", ".join(f"`{place}`" for place in places)


def _nowhere(name: str, events: list[str]) -> str:
    """Say that a format does not have a field, with the number of the reason if an event has it."""
    why = reason(name, events[0]) if events else ""
    return f"– ({all_reasons().index(why) + 1})" if why else "–"  # noqa: RUF001 - a dash, not a minus

"""`katod doctor`: what is wrong, and what to do about it."""

import os
import sys
import time

import click
import orjson

from katod import __version__
from katod.cli.context import Context
from katod.cli.printing import say, say_to_programs
from katod.config import Settings
from katod.doctor.case import Case
from katod.doctor.examine import examine
from katod.doctor.findings import ASCII_MARKS, MARKS, Finding, in_order, lines, ok, problem, summary
from katod.doctor.ledger import open_ledger
from katod.doctor.outputs import write_markers
from katod.errors import ConfigError, OutputError

_PROBLEM = 1  # exit code


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--write-marker", is_flag=True, help="Recreate the missing marker of the output directory.")
@click.pass_obj
def doctor(context: Context, as_json: bool, write_marker: bool) -> None:
    """Check the installation, and suggest how to fix problems.

    Checks the agents, the output directory, the service, the ledger and the machine. Changes nothing, except with
    --write-marker. The exit code is 1 if there is a problem; warnings do not count.
    """
    findings = _findings(context, write_marker=write_marker)
    if as_json:
        rows = [finding.row() for finding in findings]
        say_to_programs(orjson.dumps({"version": __version__, "findings": rows}))
    else:
        _print(findings)
    if any(finding.level == "problem" for finding in findings):
        sys.exit(_PROBLEM)


def _findings(context: Context, *, write_marker: bool) -> list[Finding]:
    settings, configured = _settings(context)
    if write_marker:
        settings = context.settings  # with a configuration that is not valid, the directory is not known
    ledger, intact = open_ledger(context.state)
    try:
        named = os.path.abspath(context.config_path) if context.is_named else ""
        case = Case(settings, context.state, time.time_ns(), named, ledger)
        written = _written(case) if write_marker else []
        found = [configured, *written, *intact, *examine(case)]
    finally:
        if ledger is not None:
            ledger.close()
    return in_order(found)


def _settings(context: Context) -> tuple[Settings, Finding]:
    """Return the settings, or the defaults if the file is not valid, and what was found."""
    path = context.config_path
    try:
        settings = context.settings
    except ConfigError as error:
        advice = f"{error.hint or 'correct it, then run `katod config check`'}; the defaults are checked here"
        return Settings(), problem("configuration.valid", str(error), advice, path=str(path))
    said = f"{path} is valid" if os.path.exists(path) else f"{path} does not exist: using the defaults"
    return settings, ok("configuration.valid", said, path=str(path))


def _written(case: Case) -> list[Finding]:
    """Write lost markers, and return what was done."""
    if case.ledger is None:
        raise OutputError("no marker is known", hint="the ledger cannot be read; katod creates a new marker")
    paths = write_markers(case)
    if not paths:
        return [ok("output.written", "no marker is missing")]
    advice = "waiting recordings continue within a minute"
    return [ok("output.written", f"wrote {path}", advice, path=str(path)) for path in paths]


def _print(findings: list[Finding]) -> None:
    """Print for people, with marks and characters that the output can show."""
    encoding = sys.stdout.encoding or "ascii"
    for line in lines(findings, MARKS if _has(encoding, "".join(MARKS.values())) else ASCII_MARKS):
        say(line.encode(encoding, "backslashreplace").decode(encoding))
    say(summary(findings))


def _has(encoding: str, characters: str) -> bool:
    try:
        characters.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True

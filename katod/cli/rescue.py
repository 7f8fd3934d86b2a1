"""`katod rescue`: the sessions that were saved from deletion."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import orjson

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.layout import Line, TextSpan, one_text, show, table, terminal_width
from katod.cli.overview import size
from katod.cli.printing import say, say_as_it_is, say_to_programs
from katod.cli.record import ask
from katod.cli.selection import matching_keys
from katod.config import local_zone, rescue_path
from katod.errors import RescueError, TargetRefused
from katod.formats.text.when import When
from katod.model import SessionKey
from katod.paths import in_home, name_of
from katod.rescue.copyfile import About
from katod.rescue.folder import RescueFolder
from katod.rescue.names import place_of, transcript_of
from katod.rescue.notes import problems
from katod.rescue.restoring import put_back
from katod.service.lock import holder
from katod.store.rows import PersonalRow

_HEADER: Final = ("saved", "agent", "project", "title", "size", "", "session")
_EXACT, _CLEANED = "byte for byte", "secrets removed"
_THERE, _GONE = "still in the agent", "no longer in the agent"


@click.command()
@click.option("--list", "as_list", is_flag=True, help="List what was saved; this is what katod does without options.")
@click.option("--restore", metavar="SESSION", help="Put a session back, so that its agent can resume it.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as a JSON array.")
@click.pass_obj
def rescue(context: Context, as_list: bool, restore: str | None, as_json: bool) -> None:
    """List the sessions saved from deletion, and put them back.

    With `recording.rescue` in the configuration, katod saves a session two days before Claude Code or Gemini CLI
    deletes it because it is old, unless you recorded all of it: its own files, in which secrets are replaced, and a
    transcript. katod has to be running for that. Sessions that you delete yourself or have katod forget, and those of
    excluded projects, are not saved. `katod forget` deletes what was saved.

    `--restore` writes the files again where the agent looks for them. SESSION is an id or the beginning of one, or
    `agent:id`. katod replaces no file, and no command in the session acts again.
    """
    folder = RescueFolder(rescue_path())
    if restore is not None:
        if as_list or as_json:
            raise click.UsageError("--restore prints no list.")
        _restore(context, folder, restore)
        return
    said = context.said()
    copies = sorted((_called(about, said) for about in folder.all().values()), key=lambda about: about.saved)
    for path, what in folder.problems.items():
        say(f"katod: {path}: {what}", err=True)
    if as_json:
        say_to_programs(orjson.dumps([_row(folder, about) for about in copies]))
    elif copies:
        _print(folder, copies)
    elif not folder.problems:
        _say_none(context)


def _called(about: About, said: Mapping[SessionKey, PersonalRow]) -> About:
    """Return what is known of a copy, with the title that the user gave the session, if there is one."""
    own = said.get(about.key)
    return about._replace(title=own.title) if own and own.title else about


def _say_none(context: Context) -> None:
    for name, what in problems(context.state).items():
        say(f"katod: {name}: not saved: {what}", err=True)
    if not context.settings.recording.rescue:
        say("Nothing is saved: set `recording.rescue = true` in the configuration, or run `katod setup`.")
    elif holder(context.state) is None:
        say("Nothing was saved so far, and katod is not running.")
    else:
        say("Nothing was saved so far: katod saves a session two days before its agent deletes it.")


def _row(folder: RescueFolder, about: About) -> dict[str, Any]:
    place = place_of(folder.path, about.key)
    return {
        "agent": about.key.agent, "session": about.key.id, "title": about.title, "project": about.project,
        "saved": about.saved, "due": about.due, "exact": about.is_exact, "files": [file.path for file in about.files],
        "earlier": [file.name for file in about.earlier],
        "bytes": folder.size_of(about.key), "transcript": str(transcript_of(folder.path, about.key)),
        "archive": str(place), "there": _is_there(about),
    }  # fmt: skip


def _print(folder: RescueFolder, copies: list[About]) -> None:
    cells = [[TextSpan(name, "dim") for name in _HEADER], *(_cells(folder, about) for about in copies)]
    lines: list[Line] = table(cells, width=terminal_width(), flexible=(3, 2), optional=(5, 4, 1, 2))
    show(lines)
    where = in_home(str(folder.path), str(Path.home()))
    say(f"To read one: {where}/AGENT/SESSION.md. To put one back into its agent: katod rescue --restore SESSION")


def _cells(folder: RescueFolder, about: About) -> list[TextSpan]:
    return [
        TextSpan(When(local_zone()).day(about.saved)),
        TextSpan(about.key.agent),
        TextSpan(name_of(about.project)),
        TextSpan(one_text(about.title), "bold"),
        TextSpan(size(folder.size_of(about.key))),
        TextSpan(f"{_THERE if _is_there(about) else _GONE}, {_EXACT if about.is_exact else _CLEANED}", "dim"),
        TextSpan(about.key.id),
    ]


def _is_there(about: About) -> bool:
    return any(os.path.lexists(file.path) for file in about.own_files)


def _restore(context: Context, folder: RescueFolder, text: str) -> None:
    found = matching_keys(folder.all(), text) if text else []
    if len(found) != 1:
        what = f"{len(found)} saved sessions match {text!r}" if found else f"no saved session matches {text!r}"
        raise RescueError(what, hint="`katod rescue` lists them")
    about = folder.all()[found[0]]
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def expect(path: Path, length: int) -> None:
        try:
            ask(context, about.key, "expect", f"{length}:{path}")
        except TargetRefused as error:  # says what to do; of the file itself, nothing is wrong
            raise RescueError(f"cannot be put back: {error.what}", path=path) from error

    for path in put_back(folder.path, about, context.roots(), now, expect):
        say_as_it_is(path)
    product = AGENTS[about.key.agent].product
    say(f"{product} has this session again: `katod resume {about.key.id}` says how to go on with it.")

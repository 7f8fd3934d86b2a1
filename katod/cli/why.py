"""`katod why`: which prompt is behind a line."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Final

import click
import orjson

from katod import __version__
from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.layout import Line, TextSpan, line, show, table, terminal_width
from katod.cli.printing import cleaned, say, say_to_programs
from katod.config import local_zone
from katod.errors import SelectionError
from katod.formats.redact.redactor import redact
from katod.formats.text.when import When, utc
from katod.metadata import cut_at_word, first_words
from katod.model import SessionKey
from katod.why.attribution import AttributedFile, LineReport, attribute
from katod.why.blame import Run
from katod.why.explain import Explained
from katod.why.git import Repository
from katod.why.rows import LineOrigin
from katod.why.shown import UNKNOWN, page_of, porcelain, run_row, trace
from katod.why.target import AskedLines, LineRange, file_in_commit, file_on_disk, parse_target

_WORDS: Final = 400  # characters of a prompt or an answer
_TITLE: Final = 80
_FOUND: Final = 6  # words of a prompt by which it is found
_WORD: Final = re.compile(r"[^\W_]{2,}")
_ID: Final = 13  # characters: of an id that begins with its time, all of that
_DETAILED: Final = 24  # lines that are shown with all of their prompts
_UNKNOWN: Final = "katod: no edit of a session is known to have written these lines"
_ELSEWHERE: Final = "`--all` also looks into sessions that are not recorded"


@click.command()
@click.argument("what", metavar="[FILE[:LINE[-LINE]]]", default="")
@click.option(
    "--commit", "revision", metavar="REV", help="Show the lines that a commit added, of FILE or of all files."
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also look into sessions that are not recorded; nothing of them is stored.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each run of lines of the same origin.")
@click.option(
    "--porcelain",
    "as_blame",
    is_flag=True,
    help="Print in the format of `git blame --porcelain`, with call ids in place of commit ids.",
)
@click.option("--agent-trace", "as_trace", is_flag=True, help="Print an Agent Trace record.")
@click.pass_obj
def why(
    context: Context, /, what: str, revision: str | None, *, everything: bool, **forms: bool
) -> None:  # fmt: skip
    """Show which prompt is behind each line of a file.

    For each line: the prompt, the answer and the session that last wrote it. Edits of recorded sessions are played
    forward over the versions of the file in its git repository, so that a line is still known after it was moved or
    indented; so are edits that other machines recorded and share (`archive.folders`). Each line is exact (as the edit
    wrote it, wherever it is now), followed (indented since, or written in a folder that is gone), or unknown: no edit
    of a session is known to have written it. Nothing is guessed.

    A few lines are shown with their prompts, many in a table. With --commit, FILE may also be a folder; without it, the
    sessions behind the commit are shown.

    In a pipe, the columns are separated by tabs: lines, status, time, session, prompt; with --commit, the file and a
    colon stand before the lines.
    """
    if sum(forms.values()) > 1:
        raise click.UsageError("--json, --porcelain and --agent-trace exclude each other")
    found = _report(context, what, revision, everything=everything)
    if any(forms.values()):
        _print(found, forms)
    elif terminal_width() is None:
        _print_columns(found, named=revision is not None)
    elif not any(run.origin for run in found.runs):
        say(_UNKNOWN if everything else f"{_UNKNOWN}; {_ELSEWHERE}", err=True)
    else:
        show(_shown(found, _page_root(context.state)) if len(found.files) == 1 else _sessions(found))


def _report(context: Context, what: str, revision: str | None, *, everything: bool) -> LineReport:
    """Return what is known of the lines that are asked about, without secrets. Raises UsageError, KatodError."""
    asked = _lines(what) if revision is None else _added(what, revision)
    here = context.found() if everything else {}
    shared = context.archived(here)
    with context.reading() as ledger:
        found = attribute(asked, ledger, here.values(), shared, everything=everything)
    for place, problem in (context.problems | context.shared.problems | found.problems).items():
        say(f"katod: {place}: {problem}", err=True)
    return found._replace(explained={call: _redacted(one) for call, one in found.explained.items()})


def _redacted(found: Explained) -> Explained:
    return found._replace(title=redact(found.title), prompt=redact(found.prompt), answer=redact(found.answer))


def _lines(what: str) -> list[AskedLines]:
    """Return the lines of a file as it is now. Raises UsageError, KatodError."""
    if not what:
        raise click.UsageError("Missing argument 'FILE[:LINE[-LINE]]'.")
    path, wanted = parse_target(what)
    file = file_on_disk(path)
    if file.commit:
        say(f"katod: {path}: was deleted; this is how {file.commit[:10]} had it", err=True)
    return [AskedLines(file, wanted.of(len(file.lines)))]


def _added(what: str, revision: str) -> list[AskedLines]:
    """Return the lines that a commit added: of a file, of those in a folder, or of all. Raises KatodError."""
    path, lines = parse_target(what) if what else (Path(), LineRange())
    if lines != LineRange():
        raise click.UsageError("a line range cannot be combined with --commit")
    place = Path(os.path.realpath(path))
    repository = Repository.around(place if place.is_dir() else place.parent)
    if repository is None:
        raise SelectionError("is not in a git repository", path=place)
    commit, own = repository.commit(revision), os.path.relpath(place, repository.root)
    added = {name: numbers for name, numbers in repository.added(commit).items() if not what or _is_in(name, own)}
    if not added:
        raise SelectionError(f"{revision} adds no lines{f' to {what}' if what else ''}")
    return list(_of_commit(repository, commit, added))


def _is_in(name: str, own: str) -> bool:
    return own in (".", name) or name.startswith(f"{own}/")


def _of_commit(repository: Repository, commit: str, added: Mapping[str, list[int]]) -> Iterator[AskedLines]:
    for name, numbers in added.items():
        try:
            file = file_in_commit(repository, name, commit)
            yield AskedLines(file, [number for number in numbers if number <= len(file.lines)])
        except SelectionError as error:
            say(f"katod: {error}", err=True)


# -- for programs ------------------------------------------------------------------------------------


def _print(found: LineReport, forms: Mapping[str, bool]) -> None:
    form = next(name for name, is_wanted in forms.items() if is_wanted)
    for text in {"as_json": _json_lines, "as_blame": _blame_lines, "as_trace": _trace_lines}[form](found):
        say_to_programs(text)


def _name(one: AttributedFile) -> str:
    """Return the name of a file as text, which that of a file need not be."""
    return one.file.name.encode("utf-8", "replace").decode()


def _json_lines(found: LineReport) -> Iterator[str]:
    for one in found.files:
        yield from (orjson.dumps(run_row(_name(one), run, found.of(run))).decode() for run in one.runs)


def _blame_lines(found: LineReport) -> Iterator[str]:
    for one in found.files:
        yield from porcelain(_name(one), one.file.lines, ((run, found.of(run)) for run in one.runs))


def _trace_lines(found: LineReport) -> Iterator[str]:
    files = [(_name(one), one.file.lines, one.runs) for one in found.files]
    commit = next((one.file.commit for one in found.files), "")
    made = next((one.file.versions[-1].time for one in found.files if commit and one.file.versions), 0)
    if not (made or any(run.origin and run.origin.cause.time for run in found.runs)):
        made = int(datetime.now(UTC).timestamp())  # a record has to have a time: that at which it is made
    yield orjson.dumps(trace(files, commit, __version__, utc(made, "seconds") if made else "")).decode()


def _print_columns(found: LineReport, *, named: bool) -> None:
    zone = When(local_zone())
    for one in found.files:
        for run in one.runs:
            lines, *columns = map(_cell, _columns(found, run, zone))
            click.echo("\t".join([f"{_cell(one.file.name)}:{lines}" if named else lines, *columns]))


def _cell(text: str) -> str:
    return cleaned(text).replace("\n", " ").replace("\t", " ")


def _columns(found: LineReport, run: Run, zone: When) -> list[str]:
    lines = f"{run.first}-{run.last}" if run.last > run.first else str(run.first)
    explained = found.of(run)
    if run.origin is None or explained is None:
        return [lines, UNKNOWN, "", "", ""]
    cause = run.origin.cause
    words = first_words(explained.prompt, _WORDS) or explained.title
    return [lines, run.origin.status, _stamp(cause.time, zone), str(cause.session), words]


def _stamp(time: str, zone: When) -> str:
    day = zone.day(time)
    return f"{day} {zone.stamp(time, day)}".strip()


# -- for people --------------------------------------------------------------------------------------


def _shown(found: LineReport, root: str) -> Iterator[Line]:
    """Yield the lines of a file with what is behind them, or if these are many, a table of them."""
    [one] = found.files
    count = sum(run.last - run.first + 1 for run in one.runs)
    if count <= _DETAILED:
        yield from _details(found, one, root)
        return
    known = sum(run.last - run.first + 1 for run in one.runs if run.origin)
    yield line(f"{known:,} of {count:,} lines were written by edits of sessions", "bold")
    header = [[TextSpan(text, "dim") for text in ("lines", "status", "time", "session", "prompt")]]
    rows = [[TextSpan(text) for text in row] for row in _merged(found, one.runs)]
    yield from table(header + rows, width=terminal_width(), flexible=(4,))


def _merged(found: LineReport, runs: list[Run]) -> Iterator[list[str]]:
    """Yield the rows of a table: of runs of one prompt that follow each other, one."""
    zone = When(local_zone())
    before, begun = list[str](), runs[0]
    for number, run in enumerate(runs):
        lines, status, time, session, words = _columns(found, run, zone)
        row = [lines, status, time, _short(session), words]
        if before and _is_as(run, runs[number - 1]) and run.first == runs[number - 1].last + 1:
            before[0] = f"{begun.first}-{run.last}"
            continue
        if before:
            yield before
        before, begun = row, run
    yield before


def _is_as(run: Run, before: Run) -> bool:
    """Return whether two runs are known alike, and from the same prompt."""
    alike = (run.origin and run.origin.status) == (before.origin and before.origin.status)
    return alike and _told(run)[:2] == _told(before)[:2]


def _told(run: Run) -> tuple[str, ...]:
    """Return what is behind a run: its session, the prompt (or the call) and the answer; nothing if unknown."""
    if run.origin is None:
        return ()
    cause = run.origin.cause
    return (str(cause.session), cause.prompt or cause.call, cause.answer)


def _short(session: str) -> str:
    """Return an agent and the beginning of a session's id, by which commands know it, too."""
    agent, colon, own = session.partition(":")
    return f"{agent}{colon}{own[:_ID]}"


def _details(found: LineReport, one: AttributedFile, root: str) -> Iterator[Line]:
    """Yield the lines of each run as they are, and what is behind them."""
    zone, name, before = When(local_zone()), one.file.path.name, tuple[str, ...]()
    for number, run in enumerate(one.runs):
        if number:
            yield line("")
        for at in range(run.first, run.last + 1):
            yield [TextSpan(f"{name}:{at}  ", "dim"), TextSpan(one.file.lines[at - 1], "command")]
        explained = found.of(run)
        if run.origin is None or explained is None:
            yield line("   unknown: no edit of a session is known to have written this", "dim")
        elif _told(run) == before:
            yield line(f"   as above, {run.origin.status}", "dim")
        else:
            yield from _explanation(run.origin, explained, zone, root)
        before = _told(run)


def _page_root(state: Path) -> str:
    """Return the address of `katod serve`, empty if it does not run."""
    from katod.serve.address import running  # noqa: PLC0415 - an extra

    found = running(state)
    return f"http://{f'[{found.host}]' if ':' in found.host else found.host}:{found.port}" if found else ""


def _explanation(origin: LineOrigin, explained: Explained, zone: When, root: str) -> Iterator[Line]:
    """Yield what is behind a run, and how to read on: with the page, if its server runs at this root."""
    cause = origin.cause
    about = ", ".join(filter(None, (_label(cause.session.agent), _stamp(cause.time, zone), origin.status)))
    title = cut_at_word(explained.title or str(cause.session), _TITLE)
    yield [TextSpan("   session  ", "dim"), TextSpan(title), TextSpan(f"  {about}", "dim")]
    for word, text in (("prompt", explained.prompt), ("answer", explained.answer)):
        if text:
            yield [TextSpan(f"   {word}   ", "dim"), TextSpan(cut_at_word(" ".join(text.split()), _WORDS))]
    words = [word for word in _WORD.findall(first_words(explained.prompt, _WORDS)) if word != "OR"][:_FOUND]
    found = f" --find {quote(' '.join(words))}" if words else ""
    yield line(f"   katod show {explained.recording or _short(str(cause.session))}{found}", "command")
    if root:
        yield line(f"   {root}{page_of(cause, explained)}", "dim")


def _label(agent: str) -> str:
    """Return the name of an agent, which another version of katod may have known."""
    return AGENTS[agent].label if agent in AGENTS else agent


def _sessions(found: LineReport) -> Iterator[Line]:
    """Yield the sessions behind a commit: how many of its lines each wrote, in how many files."""
    lines, files, titles = Counter[SessionKey](), Counter[SessionKey](), dict[SessionKey, str]()
    for one in found.files:
        here = {run.origin.cause.session for run in one.runs if run.origin}
        files.update(here)
        for run in one.runs:
            if run.origin and (explained := found.of(run)):
                lines[run.origin.cause.session] += run.last - run.first + 1
                titles[run.origin.cause.session] = explained.title
    total = sum(run.last - run.first + 1 for run in found.runs)
    yield line(f"{lines.total():,} of {total:,} added lines were written by edits of sessions", "bold")
    header = [[TextSpan(text, "dim") for text in ("lines", "files", "session", "title")]]
    rows = [
        [TextSpan(f"{count:,}"), TextSpan(str(files[key])), TextSpan(_short(str(key))), TextSpan(titles[key])]
        for key, count in lines.most_common()
    ]
    yield from table(header + rows, width=terminal_width(), flexible=(3,))
    yield line("with a file or a folder: `katod why --commit REV PATH` shows its lines", "dim")

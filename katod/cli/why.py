"""`katod why`: which prompt is behind a line."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import click
import orjson

from katod.agents import AGENTS
from katod.cli.context import Context
from katod.cli.layout import Line, TextSpan, line, show, table, terminal_width
from katod.cli.printing import cleaned, say
from katod.config import local_zone
from katod.formats.redact.redactor import redact
from katod.formats.text.when import When
from katod.metadata import cut_at_word, first_words
from katod.why.blame import Run, blame, edits_behind, runs
from katod.why.collect import EditCollector, Explained
from katod.why.shown import UNKNOWN, porcelain, run_row
from katod.why.target import AskedFile, LineRange, file_on_disk, parse_target

_WORDS: Final = 400  # characters of a prompt or an answer
_TITLE: Final = 80
_DETAILED: Final = 24  # lines that are shown with all of their prompts
_UNKNOWN: Final = "katod: no recorded edit is known to have written these lines"
_ELSEWHERE: Final = "`--all` also looks into sessions that are not recorded"


class FileAttribution(NamedTuple):
    """Lines of a file with what is known of them, and what explains each edit, by the id of its call."""

    file: AskedFile
    runs: list[Run]
    explained: dict[str, Explained]

    def of(self, run: Run) -> Explained | None:
        """Return what explains the edit behind a run of lines, None if none is known."""
        return self.explained[run.origin.cause.call] if run.origin else None


@click.command()
@click.argument("what", metavar="FILE[:LINE[-LINE]]")
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
    help="Print what `git blame --porcelain` does, with calls in place of commits.",
)
@click.pass_obj
def why(context: Context, /, what: str, *, everything: bool, as_json: bool, as_blame: bool) -> None:
    """Show which prompt is behind each line of a file.

    For each line: the prompt, the answer and the session that last wrote it. Recorded edits are played forward over the
    versions of the file in its git repository, so that a line is followed when it is moved or indented. Each line is
    exact (as the edit wrote it), followed (moved or indented since), or unknown: no recorded edit is known to have
    written it. Nothing is guessed.

    In a pipe, the columns are separated by tabs: lines, status, time, session, prompt.
    """
    if as_json and as_blame:
        raise click.UsageError("--json and --porcelain exclude each other")
    path, wanted = parse_target(what)
    answer = _answer(context, file_on_disk(path), wanted, everything=everything)
    if as_json:
        for run in answer.runs:
            click.echo(orjson.dumps(run_row(str(path), run, answer.of(run))).decode())
    elif as_blame:
        for text in porcelain(str(path), answer.file.lines, ((run, answer.of(run)) for run in answer.runs)):
            click.echo(text)
    else:
        _show(answer, str(path), is_all=everything)


def _answer(context: Context, file: AskedFile, wanted: LineRange, *, everything: bool) -> FileAttribution:
    """Return what is known of these lines. Raises KatodError."""
    with context.reading() as ledger:
        edits = EditCollector(file, ledger)
        edits.recorded()
        if everything:
            edits.found(context.found().values())
        rows = blame(file, edits.edits, edits.hasher)
        found = list(runs(rows, wanted.of(len(rows))))
        explained = edits.explained(edits_behind(found, edits.edits))
    for place, problem in (context.problems | edits.problems).items():
        say(f"katod: {place}: {problem}", err=True)
    return FileAttribution(file, found, {call: _redacted(one) for call, one in explained.items()})


def _redacted(found: Explained) -> Explained:
    return Explained(*map(redact, found))


def _show(answer: FileAttribution, name: str, *, is_all: bool) -> None:
    """Print for people, or lines with tabs for a pipe."""
    width, zone = terminal_width(), When(local_zone())
    if width is None:
        for run in answer.runs:
            click.echo("\t".join(map(_cell, _columns(answer, run, zone))))
    elif not any(run.origin for run in answer.runs):
        say(_UNKNOWN if is_all else f"{_UNKNOWN}; {_ELSEWHERE}", err=True)
    elif answer.runs[-1].last - answer.runs[0].first < _DETAILED:
        show(_details(answer, name, zone))
    else:
        header = [[TextSpan(text, "dim") for text in ("lines", "status", "time", "session", "prompt")]]
        rows = [[TextSpan(text) for text in _columns(answer, run, zone)] for run in answer.runs]
        show(table(header + rows, width=width, flexible=(4, 3)))


def _cell(text: str) -> str:
    return cleaned(text).replace("\n", " ").replace("\t", " ")


def _columns(answer: FileAttribution, run: Run, zone: When) -> list[str]:
    lines = f"{run.first}-{run.last}" if run.last > run.first else str(run.first)
    explained = answer.of(run)
    if run.origin is None or explained is None:
        return [lines, UNKNOWN, "", "", ""]
    cause = run.origin.cause
    time = f"{zone.day(cause.time)} {zone.stamp(cause.time, zone.day(cause.time))}".strip()
    return [
        lines,
        run.origin.status,
        time,
        str(cause.session),
        first_words(explained.prompt, _WORDS) or explained.title,
    ]


def _details(answer: FileAttribution, name: str, zone: When) -> Iterator[Line]:
    """Yield the lines of each run as they are, and what is behind them."""
    for number, run in enumerate(answer.runs):
        if number:
            yield line("")
        for at in range(run.first, run.last + 1):
            yield [TextSpan(f"{name}:{at}  ", "dim"), TextSpan(answer.file.lines[at - 1])]
        explained = answer.of(run)
        if run.origin is None or explained is None:
            yield line("   unknown: no recorded edit is known to have written this", "dim")
            continue
        cause = run.origin.cause
        _, status, time, session, _ = _columns(answer, run, zone)
        label = AGENTS[cause.session.agent].label
        yield [
            TextSpan("   "),
            TextSpan(cut_at_word(explained.title or session, _TITLE), "bold"),
            TextSpan(f"  {label}, {time}, {status}", "dim"),
        ]
        for word, text in (("prompt", explained.prompt), ("answer", explained.answer)):
            if text:
                yield [TextSpan(f"   {word}  ", "dim"), TextSpan(cut_at_word(" ".join(text.split()), _WORDS))]
        yield line(f"   katod show {session}", "command")

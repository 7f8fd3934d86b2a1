"""`katod export`: its options. What it does is in `exporting`, which loads all formats, and in `archiving`."""

import os
from typing import Any

import click

from katod.cli.content import content_options
from katod.cli.context import Context
from katod.cli.formatchoice import TABLES, format_option, require_page
from katod.cli.groups import Choice
from katod.cli.parameters import RECORDING, SESSION_OR_FILE, complete_files
from katod.config import with_home
from katod.errors import KatodError
from katod.formats.text.linkbase import is_address, problem_of
from katod.formatspec import FORMATS
from katod.tables.address import S3, has_scheme, without_credentials


def _checked_base(_ctx: click.Context, _param: click.Parameter, base: str | None) -> str:
    """Return a base of links, if one is given: an address, or the path of a directory. Raises BadParameter."""
    if base is None:
        return ""
    if problem := problem_of(base):
        raise click.BadParameter(f"{base!r} {problem}")
    if is_address(base):
        return base
    try:
        return os.path.realpath(with_home(base))
    except KatodError as error:
        raise click.BadParameter(f"{base!r} {error.what}") from error


def _checked_output(_ctx: click.Context, _param: click.Parameter, output: str) -> str:
    """Return where to write: a path, or an address in a bucket. Raises BadParameter for any other address."""
    if has_scheme(output) and not output.startswith(S3):
        raise click.BadParameter(f"{without_credentials(output)!r} is neither a path nor s3://BUCKET/PREFIX")
    return output


@click.command()
@click.argument("what", type=SESSION_OR_FILE, required=False, metavar="[SESSION|FILE]")
@click.option(
    "--recording",
    type=RECORDING,
    metavar="RECORDING",
    help="Render a recording again, with its own settings. RECORDING is its number, its file or its session.",
)
@click.option("--all", "everything", is_flag=True, help="Update the directory given with -o: one file per session.")
@format_option(
    "Output format; -f alone lists them. Default: by the file extension of -o, else markdown.", [*FORMATS, TABLES]
)
@click.option(
    "-o",
    "--output",
    default="-",
    callback=_checked_output,
    metavar="FILE|DIRECTORY|-",
    shell_complete=complete_files,
    help="Where to write. Default: -, standard output.",
)
@click.option(
    "--for",
    "purpose",
    type=Choice(["pr"]),
    help="pr: one collapsed block of Markdown for a pull request; without working @mentions and links to files.",
)
@click.option(
    "--base",
    callback=_checked_base,
    metavar="URL|DIRECTORY",
    shell_complete=complete_files,
    help="In HTML, let relative links in messages lead there; {project} is the project's name. Default: they are text.",
)
@click.option(
    "--commit",
    is_flag=True,
    help="With --all: commit what katod wrote to the git repository of the directory. No hook runs; nothing is pushed.",
)
@content_options
@click.pass_obj
def export(context: Context, /, what: str | None, everything: bool, commit: bool, **options: Any) -> None:
    """Export a session, a session file, a recording, or everything.

    SESSION is a session id or the beginning of one, `agent:id`, or `latest`. Given the number or the file of a
    recording, katod exports what was recorded there. FILE is an agent's session file, or a JSONL file that katod wrote.
    Without an argument, katod uses the only running recording. If there is none, or more than one, katod asks you to
    choose; outside a terminal, it uses the latest session of this directory. Existing files are never overwritten, and
    none is written if nothing was said yet.

    With --all, katod writes all sessions that are new or have changed since the last run, under names like those of
    recordings. It does not touch files that you changed, and deletes nothing. The file `.katod-export.jsonl` in the
    directory lists what was written from which session. With -f html, `index.html` there leads to all pages. In a
    directory that machines share (`archive.folders`), each of them writes to a subdirectory of its own. With --commit,
    katod commits what it wrote to the branch that is checked out, and nothing else. With -f parquet, katod writes
    tables for query engines instead (DuckDB, Polars, ClickHouse, …), to a directory or a bucket: -o s3://BUCKET/PREFIX.
    That needs the extra `tables`.
    """
    if sum((what is not None, options["recording"] is not None, everything)) > 1:
        raise click.UsageError("give at most one of SESSION, FILE, --recording and --all")
    if everything:
        _everything(context, commit=commit, **options)
        return
    if commit:
        raise click.UsageError("--commit requires --all")
    if options["format_name"] == TABLES:
        raise click.UsageError(f"-f {TABLES} is for all sessions: add --all")
    if options["output"].startswith(S3):
        raise click.UsageError(f"only tables are written to a bucket: add --all -f {TABLES}")
    from katod.cli.exporting import export_chosen  # noqa: PLC0415 - a shell that completes an id must not wait for it

    export_chosen(context, what, **options)


def _everything(context: Context, *, recording: None, purpose: str | None, **options: Any) -> None:  # noqa: ARG001
    """Export all sessions, as files or as tables. Loads no format until something has to be written."""
    if purpose is not None:
        raise click.UsageError("--for exports one session and cannot be combined with --all")
    if options["format_name"] is None and options["output"].endswith(f".{TABLES}"):
        raise click.UsageError(f"only tables are written as Parquet, to a directory: add -f {TABLES}")
    if options["format_name"] != TABLES:
        from katod.cli.archiving import export_everything  # noqa: PLC0415 - only needed here

        export_everything(context, **options)
        return
    from katod.cli.tabling import export_tables  # noqa: PLC0415 - likewise

    require_page(TABLES, options["base"])
    if options["commit"]:
        raise click.UsageError(f"--commit commits files: it cannot be combined with -f {TABLES}")
    if options["thinking"] or options["tools"]:
        raise click.UsageError(f"-f {TABLES} has all events: omit --thinking and --tools")
    export_tables(context, output=options["output"], redact=options["redact"])

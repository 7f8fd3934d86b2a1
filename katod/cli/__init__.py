"""The command line: parse, call, print. One module a group of commands."""

import sys
from pathlib import Path

import click

from katod import __version__
from katod.cli.context import Context
from katod.config import state_path
from katod.errors import KatodError
from katod.store.integrity import HOW_TO_MEND, DatabaseError, safe_message

EXIT_FAILED = 1


class _Group(click.Group):
    """Loads a command's module only when it is called: `katod status` need not pay for the daemon."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        where = _COMMANDS.get(name)
        if where is None:
            return None
        from importlib import import_module  # noqa: PLC0415 - this is what makes it lazy

        command: click.Command = getattr(import_module(f"katod.cli.{where}"), name)
        return command


_COMMANDS = {
    "run": "run",
    "demo": "demo",
    "status": "status",
    "sessions": "sessions",
    "record": "record",
    "export": "export",
    "verify": "verify",
    "config": "config",
}


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="katod")
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path, dir_okay=False), help="Use this configuration file."
)
@click.pass_context
def app(ctx: click.Context, config_path: Path | None) -> None:
    """Own your AI conversations.

    katod follows the sessions of your coding agents and writes transcripts to
    files that are yours. Type `::start` in the chat to record, `::stop` to end.
    """
    ctx.obj = Context(config_path)


def main() -> None:
    """Run the program: exit code 0 done, 1 failed with one line on stderr, 2 wrong usage."""
    try:
        app(standalone_mode=False, prog_name="katod")
    except click.UsageError as error:
        error.show()
        sys.exit(2)
    except click.Abort:
        sys.exit(EXIT_FAILED)
    except KatodError as error:
        _fail(f"{error}{f' ({error.hint})' if error.hint else ''}")
    except DatabaseError as error:  # its pages were damaged since it was opened
        _fail(f"the ledger in {state_path()} cannot be read: {safe_message(error)} ({HOW_TO_MEND})")
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_FAILED)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _fail(line: str) -> None:
    click.echo(f"katod: {line}", err=True)
    sys.exit(EXIT_FAILED)

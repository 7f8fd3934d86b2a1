"""The command line: parse, call, print. One module per command."""

import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click

from katod import __version__
from katod.cli.groups import Group
from katod.cli.standardstreams import discard_unwritten, flush, open_missing, replace_unprintable
from katod.errors import KatodError, hint_for

EXIT_FAILED, EXIT_USAGE = 1, 2
# Every command by its group, in the order of `katod --help`, the manual and shell completion. Each is the function of
# that name in the module of that name. The first line of its help is repeated here, so that `katod --help` need not
# import them all.
GROUPS: Final = {
    "Recording": {
        "start": "Record a session from now on, like `::start` in the chat.",
        "stop": "Stop recording a session, like `::stop` in the chat.",
        "capture": "Record a session from its beginning, like `::capture` in the chat.",
        "keep": "Write the last exchange of a session to a file, like `::keep` in the chat.",
        "pause": "Record nothing until `katod pause --end`.",
        "status": "Show the daemon, the recordings and recent problems.",
    },
    "Reading": {
        "sessions": "List the sessions on this machine, newest first.",
        "show": "Show a transcript in the pager, in colour.",
        "open": "Open a transcript in your editor, or in the browser.",
        "follow": "Print a session as it happens, until Ctrl-C.",
        "search": "Search messages, tool calls and results.",
        "why": "Show which prompt is behind each line of a file.",
        "usage": "Show tokens and cost over all sessions on this machine, recorded or not.",
        "resume": "Print the command that resumes a session in its agent.",
        "serve": "Serve sessions live to browsers and CodingBridge clients.",
    },
    "Keeping": {
        "export": "Export a session, a session file, a recording, or everything.",
        "rename": "Give a session a title of your own.",
        "star": "Mark a session with a star.",
        "label": "Label a session with words of your own.",
        "verify": "Check transcripts against the agents' session files.",
        "rescue": "List the sessions saved from deletion, and put them back.",
        "forget": "Delete what katod knows of a session.",
    },
    "Sharing": {
        "handoff": "Write a brief of a session for another agent, within a given length.",
        "seal": "Sign an agent record, so that others can check that nothing changed.",
    },
    "For programs": {
        "mcp": "Let agents search and read what you recorded (MCP).",
    },
    "Setting up": {
        "service": "Run katod in the background, whenever you are logged in.",
        "setup": "Tell your agents about katod, and have them show what is being recorded.",
        "config": "Write, show and check the configuration.",
        "allow": "Let a project's `.katod.toml` take effect, in its present form.",
        "doctor": "Check the installation, and suggest how to fix problems.",
        "run": "Run the daemon in the foreground.",
        "demo": "Replay a sample session and show the transcript that katod writes.",
        "completion": "Print a completion script for your shell.",
    },
}
_COMMANDS: Final = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}
_COMPLETING: Final = "_KATOD_COMPLETE"  # set by the script of `katod completion`


# What people type for a command of another name.
_MEANT: Final = {
    "cat": "show", "edit": "open", "find": "search", "grep": "search", "less": "show", "list": "sessions",
    "ls": "sessions", "read": "show", "record": "start", "recover": "rescue", "restore": "rescue", "tail": "follow",
    "undelete": "rescue", "unpause": "pause", "view": "show", "watch": "follow",
}  # fmt: skip
# Commands that are in the module of another one.
_ELSEWHERE: Final = {
    "start": "record", "stop": "record", "capture": "record", "keep": "record", "rename": "personal",
    "star": "personal", "label": "personal",
}  # fmt: skip


class _LazyGroup(Group):
    """Imports a command's module only when it is called: `katod status` need not load the daemon."""

    meant = _MEANT

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"katod.cli.{_ELSEWHERE.get(name, name)}"), name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only a shell asks for it

        commands = [
            CompletionItem(name, help=summary) for name, summary in _COMMANDS.items() if name.startswith(incomplete)
        ]
        return commands + click.Command.shell_complete(self, ctx, incomplete)  # without importing every command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, _COMMANDS))  # the same for each group, so that all summaries begin in one column
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in commands.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="katod")
@click.option(
    "--config", "config_path", type=click.Path(path_type=Path, dir_okay=False), help="Use this configuration file."
)
@click.pass_context
def app(ctx: click.Context, config_path: Path | None) -> None:
    """Record the sessions of coding agents as Markdown or JSONL.

    Type `::start` in the chat to start a recording, and `::stop` to end it. katod
    writes the conversation to a file that you own.
    """
    from katod.cli.context import Context  # noqa: PLC0415 - `katod --help` needs none of it

    if os.environ.get("NO_COLOR"):
        ctx.color = False
    ctx.obj = Context(config_path)


def main() -> None:
    """Run the program. Exit codes: 0 success, 1 failure with one line on stderr, 2 usage error."""
    open_missing()
    replace_unprintable()
    if _COMPLETING in os.environ:
        from katod.cli.completion import complete  # noqa: PLC0415

        complete(app)
        return
    try:
        code = _run()
    finally:
        discard_unwritten()
    if code:
        sys.exit(code)


def _run() -> int:
    """Run the command; return the exit code. What fails is said in one line."""
    try:
        try:
            app(standalone_mode=False, prog_name="katod")
        finally:
            flush()
    except click.UsageError as error:
        with suppress(OSError):
            error.show()
        return EXIT_USAGE
    except (click.Abort, BrokenPipeError):
        return EXIT_FAILED
    except Exception as error:
        reason = _reason(error)
        if not reason:
            raise
        _say(f"katod: {reason}")
        return EXIT_FAILED
    return 0


def _say(text: str) -> None:
    from katod.cli.printing import say  # noqa: PLC0415 - `katod --help` needs none of it

    with suppress(OSError):  # there is nowhere left to say it: the exit code does
        say(text, err=True)


def _is_nowhere() -> bool:
    """Return whether the current directory no longer exists, so that no relative path leads anywhere."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _reason(error: Exception) -> str:
    """Return the line that says what went wrong; empty for a bug in katod, which shows a traceback."""
    from katod.config import state_path  # noqa: PLC0415 - already imported, if anything ran at all
    from katod.store.integrity import HOW_TO_REPAIR, DatabaseError, safe_database_message  # noqa: PLC0415

    if isinstance(error, KatodError):
        return f"{error}{f' ({error.hint})' if error.hint else ''}"
    if isinstance(error, DatabaseError):  # its pages were damaged after it was opened
        return f"the ledger in {state_path()} cannot be read: {safe_database_message(error)} ({HOW_TO_REPAIR})"
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # of `pathlib`, or of `platformdirs`
        return "the home directory is not known (set the variable HOME)"
    return _reason_of_system(error) if isinstance(error, OSError) else ""


def _reason_of_system(error: OSError) -> str:
    """Return what `_reason` does, for an error of the operating system."""
    if isinstance(error, FileNotFoundError) and not error.filename and _is_nowhere():
        return "the current directory no longer exists (change to another one)"
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return f"{what} ({hint})" if (hint := hint_for(error)) else what

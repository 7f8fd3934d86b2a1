"""`katod follow`: a session as it happens."""

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from katod.agents import AGENTS
from katod.agents.reports import heard
from katod.cli.content import content_options
from katod.cli.context import Context, working_directory
from katod.cli.formatchoice import format_option
from katod.cli.layout import terminal_width
from katod.cli.parameters import SESSION
from katod.cli.printing import cleaned, say
from katod.cli.selection import select as selected
from katod.cli.standardstreams import discard_unwritten
from katod.discover.found import FoundSession
from katod.errors import NothingHere
from katod.events import seconds
from katod.formatspec import FORMATS, recorded_formats
from katod.metadata import Replay, SessionStart
from katod.model import Identity, SessionKey
from katod.paths import in_home
from katod.search.sections import without_front_matter
from katod.states import State, judged

# Terminals that do not keep titles ignore the first and the last.
_SAVE_TITLE, _TITLE, _RESTORE_TITLE = "\x1b[22;2t", "\x1b]2;{}\x07", "\x1b[23;2t"
_LOOK_EVERY: Final = 1.0  # seconds, for the first session of a directory
_CLOCKS_DIFFER: Final = 1_000_000_000  # nanoseconds by which a file may be dated before the time it was written


@click.command()
@click.argument("session", type=SESSION, default="")
@format_option(
    "Output format; -f alone lists them. Default: Markdown in colour on a terminal, else jsonl.",
    recorded_formats(),
)
@click.option("--all", "everything", is_flag=True, help="Start with the first message, not with your last one.")
@content_options
@click.pass_obj
def follow(context: Context, /, session: str, format_name: str | None, everything: bool, **content: Any) -> None:
    """Print a session as it happens, until Ctrl-C.

    Starts with the last message that you typed. The session does not have to be recorded, and katod does not have to be
    running; nothing is stored. On a terminal, the window title shows the state of the session.

    Without SESSION, katod follows the only running recording. If there is none, or more than one, katod asks you to
    choose; outside a terminal, it follows the latest session of this directory, or waits for the first one.
    """
    with suppress(KeyboardInterrupt):
        found = _select(context, session)
        _follow(context, found, format_name, content, everything=everything)


def _follow(
    context: Context, found: FoundSession, format_name: str | None, content: dict[str, Any], *, everything: bool
) -> None:
    from katod.cli.exporting import options_of  # noqa: PLC0415 - loads all formats, as these do
    from katod.discover.live import SessionWatch  # noqa: PLC0415 - loads the watcher
    from katod.formatspec import open_format  # noqa: PLC0415
    from katod.record.follow import follow as looks  # noqa: PLC0415
    from katod.record.follow import printed  # noqa: PLC0415

    is_terminal = terminal_width() is not None
    chosen = format_name or ("markdown" if is_terminal else "jsonl")
    options = options_of(context, chosen, **content)
    if not FORMATS[chosen].carries_pictures:
        options = replace(options, attachments="name")
    printer = open_format(chosen, options)
    show = _shower(in_colour=is_terminal and format_name is None)
    with (
        closing(
            SessionWatch(found.key, context.roots(), context.log, watch=context.settings.watch.use_events)
        ) as watch,
        closing(_Title(found.key, is_shown=is_terminal and format_name is None)) as title,
    ):
        try:
            events = map(title.seen, looks(found.key, watch.files, watch.wait, context.log))
            for text in _without_matter(printed(events, printer, whole=everything)):
                if not _print(show(text)):
                    return
                title.show(watch.files)
        finally:
            _print(show(printer.pause()))  # calls that had no result yet


class _Title:
    """The title of the terminal's window: what the session is doing. What was there before is put back."""

    def __init__(self, key: SessionKey, *, is_shown: bool) -> None:
        self._key = key
        self._lifecycle = AGENTS[key.agent].lifecycle(key.subagent)
        self._start = SessionStart()
        self._last = 0.0  # when something was recorded last
        self._is_shown = is_shown and os.environ.get("TERM") != "dumb"
        self._shown = ""

    def seen(self, events: Replay) -> Replay:
        """Yield the events of one look, and follow what they say."""
        for event, metadata in events:
            self._lifecycle.take(event)
            self._start, self._last = metadata.start, seconds(event.time) or time.time()
            yield event, metadata

    def show(self, files: Callable[[], list[tuple[str, Identity]]]) -> None:
        """Show the state if it has changed, also as the agent itself says it."""
        if not self._is_shown:
            return
        seen, moment = self._lifecycle.seen, time.time()
        reports = (heard(path, self._key, self._start, seen, moment - self._last) for path, _ in files()[-1:])
        now = judged(seen, next(reports, None), self._last, moment)
        said = now.need.words if now.state is State.BLOCKED else now.word
        text = f"{AGENTS[self._key.agent].label}: {said}"
        if text != self._shown:
            _print(f"{'' if self._shown else _SAVE_TITLE}{_TITLE.format(text)}")
            self._shown = text

    def close(self) -> None:
        """Put the former title back."""
        if self._shown:
            _print(_RESTORE_TITLE)


def _without_matter(texts: Iterator[str]) -> Iterator[str]:
    """Yield the texts without front matter at the beginning: that is for a file, which other programs look through."""
    is_begun = False
    for text in texts:
        yield text if is_begun or not text else "".join(without_front_matter([text])).lstrip("\n")
        is_begun = is_begun or bool(text)


def _shower(*, in_colour: bool) -> Callable[[str], str]:
    """Return what makes of a text what is printed."""
    if not in_colour:
        return cleaned if sys.stdout.isatty() else str
    from katod.cli.rendering import Screen  # noqa: PLC0415 - loads the renderer

    screen = Screen(terminal_width() or 0)
    return lambda text: "".join([*screen.take(text), *screen.flush()])


def _print(text: str) -> bool:
    """Print text at once; return whether anybody still reads."""
    try:
        if text:
            click.echo(text, nl=False)
        return not _is_closed()
    except BrokenPipeError:
        discard_unwritten()
        return False


def _is_closed() -> bool:
    """Return whether nobody reads the pipe any more, which a write would only tell at the next event."""
    with suppress(OSError, ValueError):  # standard output is no file
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    return False


def _select(context: Context, /, session: str) -> FoundSession:
    """Return the session that is meant; without one in this directory, the next that begins here."""
    since = time.time_ns() - _CLOCKS_DIFFER
    try:
        return selected(context, session)
    except NothingHere:
        here = working_directory()
        if here is None:  # nothing can begin there
            raise
        say(f"katod: waiting for the first session in {in_home(str(here), str(Path.home()))}", err=True)
        return _first(context, here, since)


def _first(context: Context, here: Path, since: int) -> FoundSession:
    """Wait for a session here; one may have begun since (nanoseconds) the sessions were listed."""
    from katod.record.beginning import read_beginning  # noqa: PLC0415 - it loads the adapters' translation

    known = {key: found.changed_ns for key, found in context.found().items() if found.changed_ns < since}
    while True:
        time.sleep(_LOOK_EVERY)
        for key, found in context.found().items():
            if key.subagent or known.get(key) == found.changed_ns:
                continue
            known[key] = found.changed_ns
            cwd = read_beginning(found)[0].cwd
            if cwd and Path(cwd).resolve() == here:
                return found

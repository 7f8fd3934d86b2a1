"""Choosing a session on a terminal: arrow keys, and a filter by typing."""

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Final

import click
from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output

from katod.cli.choices import Choices
from katod.cli.context import Context
from katod.cli.layout import Line, TextSpan, cropped, line
from katod.cli.recorded import recorded_by_session
from katod.cli.sessionrow import describe_session
from katod.cli.sessions import session_table
from katod.cli.shortids import short_ids
from katod.config import local_zone
from katod.discover.found import FoundSession
from katod.formats.text.when import When

_MOST_ROWS: Final = 12
_AROUND: Final = 4  # lines that are no rows: the filter, the header, the hint, and the prompt of the shell
_MARK: Final = "▸ "
_HINT: Final = "type to filter · ↑↓ move · Enter choose · Esc leave"
_TOGETHER: Final = 10  # sessions that are opened between two redraws
_ESCAPE: Final = 0.05  # seconds after which Esc is no longer the beginning of a key's sequence
_STYLES: Final = {"dim": "fg:ansibrightblack", "red": "fg:ansired", "bold": "bold"}
_FAR: Final = 1_000_000  # rows
_MOVES: Final = {
    "up": -1, "c-p": -1, "down": 1, "c-n": 1, "pageup": -_MOST_ROWS, "pagedown": _MOST_ROWS, "home": -_FAR, "end": _FAR,
}  # fmt: skip


def pick(context: Context, sessions: Sequence[FoundSession], marked: FoundSession | None) -> FoundSession:
    """Return the session that the user chooses; `marked` is it from the beginning. Raises Abort if it is none."""
    recorded = recorded_by_session(context)
    choices = Choices(sessions, lambda one: describe_session(one, recorded.get(one.key), empty=False), marked)
    output = Vt100_Output.from_pty(sys.stdout, os.environ.get("TERM"))
    output.enable_cpr = False  # not every terminal answers where the cursor is, and it is not needed
    found = Picker(choices, short_ids(one.key for one in sessions), output).run()
    if found is None:
        raise click.Abort
    return found


class Picker:
    """Draws the choices below the cursor, and takes the keys."""

    def __init__(self, choices: Choices, short: dict[str, str], output: Output) -> None:
        self._choices = choices
        self._short = short
        self._zone = When(local_zone())
        self._app: Application[FoundSession | None] = Application(
            Layout(Window(FormattedTextControl(self._drawn, show_cursor=False), dont_extend_height=True)),
            key_bindings=self._keys(),
            erase_when_done=True,
            output=output,
        )
        self._app.ttimeoutlen = self._app.timeoutlen = _ESCAPE

    def run(self) -> FoundSession | None:
        """Return the choice, None if there is none."""
        return self._app.run(pre_run=self._begin)

    def _begin(self) -> None:
        self._app.create_background_task(self._open_all())

    async def _open_all(self) -> None:
        """Open all sessions, so that the filter finds their titles; keys are taken in between."""
        number = 0
        while self._choices.open_next():
            number += 1
            await asyncio.sleep(0)
            if number % _TOGETHER == 0:
                self._app.invalidate()
        self._app.invalidate()

    def _drawn(self) -> StyleAndTextTuples:
        size = shutil.get_terminal_size()
        width = max(20, size.columns - len(_MARK) - 1)
        shown = self._choices.shown(max(1, min(_MOST_ROWS, size.lines - _AROUND)))
        header, *lines = session_table(shown.rows, self._short, self._zone, width)
        count = f"{shown.matching:,} session{'' if shown.matching == 1 else 's'}"
        if self._choices.unopened:
            count += f" · reading the titles of {self._choices.unopened:,} more"
        drawn = _fragments(
            (TextSpan("Session: ", "bold"), TextSpan(self._choices.words), TextSpan(f"  {count}", "dim")), width
        )
        drawn += _fragments((TextSpan(" " * len(_MARK)), *header), width)
        for number, one in enumerate(lines):
            is_marked = number == shown.at
            drawn += _fragments(
                (TextSpan(_MARK if is_marked else " " * len(_MARK), "red"), *one), width, marked=is_marked
            )
        return drawn + _fragments(line(_HINT, "dim"), width)[:-1]

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        def move(event: KeyPressEvent) -> None:
            self._choices.move(_MOVES[event.key_sequence[0].key])

        def erase(event: KeyPressEvent) -> None:
            is_all = event.key_sequence[0].key in ("c-u", "c-w")
            self._choices.filter_by("" if is_all else self._choices.words[:-1])

        for key in _MOVES:
            keys.add(key)(move)
        for key in ("backspace", "c-u", "c-w"):
            keys.add(key)(erase)
        for key in ("escape", "c-c", "c-d"):
            keys.add(key)(lambda event: event.app.exit(result=None))
        keys.add("enter")(self._enter)
        keys.add(Keys.Any)(self._press)
        keys.add("escape", Keys.Any)(lambda _event: None)  # a letter with Alt
        keys.add(Keys.BracketedPaste)(self._type)
        return keys

    def _enter(self, event: KeyPressEvent) -> None:
        if (marked := self._choices.marked) is not None:
            event.app.exit(result=marked)

    def _press(self, event: KeyPressEvent) -> None:
        """Take a character; any other key has no meaning here, but data that must not be taken for characters."""
        if len(event.key_sequence[0].key) == 1:
            self._type(event)

    def _type(self, event: KeyPressEvent) -> None:
        typed = "".join(filter(str.isprintable, event.data.replace("\n", " ")))
        self._choices.filter_by(self._choices.words + typed)


def _fragments(spans: Line, width: int, *, marked: bool = False) -> StyleAndTextTuples:
    """Return a line in the form of the library; what would affect the terminal is left out."""
    more = " reverse" if marked else ""
    cut = cropped(spans, width + len(_MARK))
    return [*((f"{_STYLES.get(style, '')}{more}", text) for text, style in cut), ("", "\n")]

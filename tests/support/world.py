"""A world: a home with the agents' folders, katod's configuration, state and outputs, and ways to run katod in it."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from unittest import mock

from click.testing import CliRunner, Result
from pytest import MonkeyPatch  # noqa: PT013 - the class, for an annotation

import katod
from katod.agents import guard
from katod.cli import app
from katod.cli.config import default_config
from katod.config import Settings, load
from katod.daemon import run_daemon
from katod.log import EventLog
from katod.service import home as whose_state
from katod.service.signals import Signals
from katod.store.ledger import LEDGER_NAME, Ledger
from katod.store.rows import OutputRow
from tests.support import program
from tests.support.records import SESSION, THREAD, Claude, Codex, Maker

SOURCE: Final = Path(katod.__file__).parents[1]
MEMORY: Final = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
FAILED: Final = 98  # the exit code of a child process that raised
CUT: Final = 99  # the exit code of a child process that a test ended in the middle of its work
# Variables that change where agents keep their sessions (the configuration names each), or what katod does.
_REMOVED: Final = {*re.findall(r"\$([A-Z_]+)", default_config().decode()), "NOTIFY_SOCKET", "TZ"}
# A process whose katod lacks a protection passes that on (tests/faults/protections/hook.py).
_LACKING: Final = ("KATOD_WITHOUT", "PYTHONPATH")
_LEFT: Final[list[tuple[Path, dict[str, bytes]]]] = []  # the first world of this process, and what its first run left
_SECTIONS: Final = {  # the section of every setting whose name is unique
    setting: section
    for section in Settings._fields
    if section != "agents"
    for setting in getattr(Settings(), section)._fields
}


class World:
    """One home in which katod runs. Nothing outside of it is read or written.

    katod runs in a child process (`once_until`, `katod`) or in this one (`once`, `process`, `cli`). With `monkeypatch`,
    this process uses the home, too, until the end of the test: code that a test calls directly sees the same folders.
    Unless `seen_empty` is false, katod has run once before the first session, so that no session is history.
    """

    def __init__(self, home: Path, monkeypatch: MonkeyPatch | None = None, *, seen_empty: bool = True) -> None:
        self.home = home
        self.state = home / "state"
        self.config = home / "katod.toml"
        self.out = home / "katod"
        self.project = home / "app"
        self.said = ""
        self.variables = {"HOME": str(home), "KATOD_STATE_DIR": str(self.state), "KATOD_CONFIG": str(self.config)}
        self.project.mkdir(parents=True, exist_ok=True)
        self.configure()
        if monkeypatch is not None:
            for name in _REMOVED:
                monkeypatch.delenv(name, raising=False)
            for name, value in self.variables.items():
                monkeypatch.setenv(name, value)
            monkeypatch.setattr(guard, "_failures", {})  # of this process; this home knows nothing of other tests
            monkeypatch.setattr(guard, "_taken", set())
        if seen_empty:
            self._run_first()

    def _run_first(self) -> None:
        """Run katod in the empty home. Only the first world does so; others get a copy of its ledger, which is fast."""
        if not _LEFT:
            self.process()
            _LEFT.append((self.home, {name: (self.state / name).read_bytes() for name in (LEDGER_NAME, "lock")}))
            return
        (self.state / "requests").mkdir(parents=True, mode=0o700)
        self.state.chmod(0o700)
        home, files = _LEFT[0]
        whose = {whose_state.NAME: json.dumps({"home": str(self.home), "machine": ""}).encode()}
        for name, content in (files | whose).items():
            with open(os.open(self.state / name, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as copy:
                copy.write(content)
        with closing(sqlite3.connect(self.state / LEDGER_NAME, isolation_level=None)) as database:
            database.execute("PRAGMA synchronous=OFF")
            database.execute("UPDATE roots SET path = ? || substr(path, ?)", (str(self.home), len(str(home)) + 1))

    def configure(self, **settings: Any) -> None:
        """Write the configuration: these settings, the time zone Europe/Berlin, and defaults for everything else.

        A setting is named with its section (`serve.token_file`) where another section has one of the same name.
        """
        sections: dict[str, str] = {}
        for name, value in ({"time_zone": "Europe/Berlin"} | settings).items():
            given = str(value) if isinstance(value, Path) else value
            section, _, key = name.rpartition(".")
            section = section or _SECTIONS[key]
            sections[section] = sections.get(section, "") + f"{key} = {json.dumps(given)}\n"
        self.config.write_text("".join(f"[{section}]\n{lines}" for section, lines in sections.items()))

    # -- katod ----------------------------------------------------------------------------------------

    def once(self) -> None:
        """Sweep and process everything, as a new process would: katod keeps no state in its modules."""
        self.process()

    def once_until(self, cut: Callable[[], None]) -> bool:
        """Do the same in a child process that `cut` prepares and may end with CUT; return whether it was ended."""

        def act() -> None:
            cut()
            self.process()

        return in_new_process(act, ends=(0, CUT)) == CUT

    def process(self, *, once: bool = True) -> None:
        """Sweep and process everything in this process; continue until a signal if `once` is false."""
        umask = os.umask(0o077)
        try:
            with mock.patch.dict(os.environ, self.variables):
                signals = None if once else Signals.install()
                run_daemon(load(self.config), self.config, self.state, EventLog(), signals)
        finally:
            os.umask(umask)

    def cli(self, *arguments: str, code: int = 0) -> str:
        """Return what a command prints. Its exit code is checked, and its stderr is kept in `said`."""
        return self._invoke(arguments, code).stdout

    def _invoke(self, arguments: Iterable[str], code: int = 0) -> Result:
        result = CliRunner().invoke(app, list(arguments), env=self.variables)
        failed = result.exception if result.exit_code != code else None
        if code == 0 and failed is not None and not isinstance(failed, SystemExit):
            raise failed
        assert result.exit_code == code, result.output
        self.said = result.stderr + (str(result.exception) if result.exception else "")
        return result

    def katod(
        self, *arguments: str, check: bool = True, prefix: Iterable[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the program, under a prefix if there is one; return the finished process."""
        command = [*prefix, sys.executable, "-m", "katod", *arguments]
        if prefix:
            done = subprocess.run(command, env=self.environment, capture_output=True, timeout=60, check=False)
        else:
            done = program.run(*arguments, environment=self.environment)
        assert not check or done.returncode == 0, done.stderr.decode()
        return done

    @property
    def environment(self) -> dict[str, str]:
        """The complete environment of a process in this world."""
        machine = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(SOURCE)}
        lacking = _LACKING if _LACKING[0] in os.environ else ()
        return machine | {name: os.environ[name] for name in lacking} | self.variables

    # -- what it wrote ----------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Return what `katod status --json` prints."""
        found: dict[str, Any] = json.loads(self.cli("status", "--json"))
        return found

    def parked(self) -> dict[str, str]:
        """Return the problems of parked outputs, by file name."""
        return {Path(row["output"]).name: row["problem"] for row in self.status()["parked"]}

    def outputs(self) -> list[OutputRow]:
        """Return the outputs in the ledger, in the order of their creation."""
        ledger = Ledger.read(self.state)
        if ledger is None:
            return []
        try:
            return ledger.outputs()
        finally:
            ledger.close()

    def files(self) -> list[Path]:
        """Return every file below the output directory, except its marker."""
        return [path for path in sorted(self.out.rglob("[!.]*")) if path.is_file()]

    def contents(self) -> dict[str, bytes]:
        """Return the content of each output file, by name."""
        return {path.name: path.read_bytes() for path in self.files()}

    def written(self) -> dict[str, str]:
        """Return the text of each output file, by name."""
        return {path.name: path.read_text(errors="replace") for path in self.files()}

    def export(self, output: OutputRow) -> bytes:
        """Return the export of a recording."""
        return self._invoke(("export", "--recording", str(output.id))).stdout_bytes

    def assert_live_is_batch(self) -> int:
        """Assert that every output equals the export of its recording, byte for byte; return the number of outputs."""
        rows = [row for row in self.outputs() if row.made]
        for row in rows:
            assert row.path.read_bytes() == self.export(row), row.path
        return len(rows)

    # -- sessions -------------------------------------------------------------------------------------

    def claude(self, session: str = SESSION, *, folder: str = "-home-me-app") -> Claude:
        """Return a Claude Code session whose file does not exist yet."""
        return Claude(self, session, folder=folder)

    def codex(self, thread: str = THREAD, *, folder: str = "2026/02/10", rollout: str = "") -> Codex:
        """Return a Codex thread whose file does not exist yet."""
        return Codex(self, thread, folder=folder, rollout=rollout)

    def session(self, number: int = 1, agent: str = "claude") -> Maker:
        """Return a session; the number becomes the first eight digits of its id."""
        return numbered(self, number, agent)


def numbered(world: Any, number: int, agent: str) -> Maker:
    """Return the Claude Code or Codex session whose id begins with a number, in hexadecimal digits."""
    make = {"claude": Claude, "codex": Codex}[agent]
    return make(world, f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11")


def in_new_process(act: Callable[[], None], ends: tuple[int, ...] = (0,)) -> int:
    """Run a function in a child process without any of katod's state; raise its failure here.

    Returns the exit code, one of `ends`; an exception ends the child with FAILED.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = FAILED
        try:
            os.close(reader)
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the log of the child
            act()
            code = 0
        except BaseException:  # noqa: BLE001 - the parent raises it
            os.write(writer, traceback.format_exc().encode()[-8000:])
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in ends, said
    return code

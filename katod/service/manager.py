"""The service managers: systemd for a user on Linux, launchd on macOS."""

import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from katod.errors import ServiceError, hint_for
from katod.service.launch import (
    LABEL,
    MARKER,
    Launch,
    command_in,
    command_in_list,
    environment_in,
    environment_in_list,
    has_network,
    property_list,
    strict,
    unit,
    writable_in,
)

_PATIENCE: Final = 120  # seconds for the service manager to do something
_PATIENCE_FOR_ANSWERS: Final = 5  # seconds for it to say how things are
_RECENT: Final = 5  # lines of the log that are shown when katod does not start


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What the service manager says about katod."""

    installed: bool
    at_login: bool = False  # it starts when the user logs in
    running: bool = False
    pid: int = 0
    detail: str = ""  # what katod last reported, or how it ended


class Manager(ABC):
    """One service manager; each method raises ServiceError if it refuses."""

    path: Path  # the file that tells the manager about katod

    @abstractmethod
    def texts(self, launch: Launch, writable: list[str] | None) -> list[str]:
        """Return the content of each file that `install` writes."""

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line that the installed file starts, empty if nothing is installed."""

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """Return the variables that the installed file sets."""

    def has_network(self) -> bool:
        """Return whether the installed file lets katod open connections."""
        return True

    def writable(self) -> list[str] | None:
        """Return the only directories that the installed file lets katod write to, None if it names none."""
        return None

    @abstractmethod
    def state(self) -> ServiceState:
        """Return katod's state as the manager reports it."""

    def check_reachable(self) -> None:
        """Raise ServiceError if it runs no services for users here."""
        return

    @abstractmethod
    def install(self, launch: Launch, writable: list[str] | None) -> None:
        """Write the file and start katod now and at each login; `writable`: the only directories it may write to."""

    @abstractmethod
    def uninstall(self) -> bool:
        """Stop katod and remove the file; return whether there was one."""

    @abstractmethod
    def start(self) -> None:
        """Start katod."""

    @abstractmethod
    def stop(self) -> None:
        """Stop katod until the next login."""

    @abstractmethod
    def restart(self) -> None:
        """Stop katod after its present step, and start it."""

    @abstractmethod
    def logs(self, lines: int, *, follow: bool) -> list[str]:
        """Return the command that prints the log."""


class Systemd(Manager):
    """The user's instance of systemd."""

    def __init__(self, label: str) -> None:
        self._unit = f"{label}.service"
        folders = [Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"), Path.home() / ".config"]
        # A shell may have another directory than the manager, which then does not see what is in it.
        self._places = [folder / "systemd" / "user" / self._unit for folder in _apart(folders)]
        self.path = next((path for path in self._places if path.exists()), self._places[0])

    @property
    def _strict(self) -> Path:
        return _strict_beside(self.path)

    def texts(self, launch: Launch, writable: list[str] | None) -> list[str]:
        """Return the unit, and the drop-in if the directories that it may write to are limited."""
        return [unit(launch), *([] if writable is None else [strict(launch, writable)])]

    def command(self) -> list[str]:
        """Return the command line of the installed unit."""
        return command_in(_text(self.path))

    def environment(self) -> dict[str, str]:
        """Return the variables of the installed unit and of the drop-ins beside it."""
        return environment_in(self._whole())

    def has_network(self) -> bool:
        """Return whether the installed unit and the drop-ins beside it let katod open connections."""
        return has_network(self._whole())

    def _whole(self) -> str:
        drop_ins = sorted(self._strict.parent.glob("*.conf"))
        return "\n".join(map(_text, [self.path, *drop_ins]))

    def writable(self) -> list[str] | None:
        """Return the directories in the strict drop-in."""
        return writable_in(_text(self._strict)) if self._strict.exists() else None

    def state(self) -> ServiceState:
        """Return katod's state as `systemctl` reports it."""
        _check_reachable()
        names = "LoadState,ActiveState,SubState,MainPID,UnitFileState,StatusText,Result"
        rows = dict(line.partition("=")[::2] for line in _asked("show", self._unit, f"--property={names}").splitlines())
        running = rows.get("ActiveState") in ("active", "reloading")
        said = rows.get("StatusText", "") if running else f"{rows.get('ActiveState', '')}: {rows.get('Result', '')}"
        return ServiceState(
            self.path.exists(), rows.get("UnitFileState") == "enabled", running, _number(rows, "MainPID"), said
        )

    def check_reachable(self) -> None:
        """Raise ServiceError if systemd does not run user services here."""
        _check_reachable()

    def install(self, launch: Launch, writable: list[str] | None) -> None:
        """Write the unit, and start it now and at each login."""
        _check_reachable()
        seen = _asked("show", "--property=UnitPath", "--value").strip()
        self.path = next((path for path in self._places if _is_among(path.parent, seen)), self.path)
        is_new = not self.path.exists()
        _write(self.path, unit(launch).encode())
        if writable is None:
            _remove(self._strict)
        else:
            _write(self._strict, strict(launch, writable).encode())
        for other in self._places:
            if other != self.path:
                self._remove_at(other)
        _systemctl("daemon-reload")
        try:
            _systemctl("enable", self._unit)
        except ServiceError:
            if is_new:
                self._remove_files()
            raise
        self.restart()

    def uninstall(self) -> bool:
        """Stop katod and remove the unit."""
        _check_reachable()
        if not _is_ours(self.path):
            return False
        refused: ServiceError | None = None
        try:
            _systemctl("disable", "--now", self._unit)
        except ServiceError as error:  # such as for a unit that it does not see
            refused = error
        self._remove_files()
        if refused is not None and self.state().running:
            raise ServiceError(f"removed {self.path}, but katod is still running: {refused}") from refused
        return True

    def _remove_files(self) -> None:
        """Remove katod's files, also those that the manager does not see."""
        for path in self._places:
            self._remove_at(path)
        _systemctl("daemon-reload")

    def _remove_at(self, path: Path) -> None:
        with suppress(ServiceError):  # somebody else's
            _remove(path)
            _remove(_strict_beside(path))
        link = path.parent / "default.target.wants" / self._unit
        if link.is_symlink() and not link.exists():  # the manager removes it, unless it refused
            link.unlink()

    def start(self) -> None:
        """Start the unit, and wait until katod is ready."""
        self._begin("start")

    def stop(self) -> None:
        """Stop the unit."""
        _systemctl("stop", self._unit)

    def restart(self) -> None:
        """Restart the unit, and wait until katod is ready."""
        self._begin("restart")

    def _begin(self, verb: str) -> None:
        try:
            _systemctl(verb, self._unit)
        except ServiceError as error:
            said = _run([*self.logs(_RECENT, follow=False), "--quiet"], check=False).strip()
            raise ServiceError(
                f"katod did not start: {said.splitlines()[-1] if said else error}",
                hint="run `katod service logs` for more",
            ) from error

    def logs(self, lines: int, *, follow: bool) -> list[str]:
        """Return the call of `journalctl`."""
        return ["journalctl", "--user", f"--unit={self._unit}", "--output=cat", "--no-pager", f"--lines={lines}",
                *(["--follow"] if follow else [])]  # fmt: skip


class Launchd(Manager):
    """The user's instance of launchd."""

    def __init__(self, label: str) -> None:
        self.path = Path.home() / "Library" / "LaunchAgents" / f"{label}.plist"
        self._log = Path.home() / "Library" / "Logs" / f"{label}.log"
        self._domain = f"gui/{os.getuid()}"
        self._target = f"{self._domain}/{label}"

    def texts(self, launch: Launch, writable: list[str] | None) -> list[str]:
        """Return the property list. Raises ServiceError if the directories that it may write to are limited."""
        if writable is not None:
            raise ServiceError("launchd cannot restrict where katod writes", hint="omit --strict")
        return [property_list(launch, self._log).decode()]

    def command(self) -> list[str]:
        """Return the command line of the installed property list."""
        return command_in_list(_read(self.path))

    def environment(self) -> dict[str, str]:
        """Return the variables of the installed property list."""
        return environment_in_list(_read(self.path))

    def state(self) -> ServiceState:
        """Return katod's state as `launchctl` reports it; an agent that is not loaded is not running."""
        said = _run(["launchctl", "print", self._target], check=False, patience=_PATIENCE_FOR_ANSWERS)
        rows = dict(line.strip().partition(" = ")[::2] for line in said.splitlines() if " = " in line)
        number = _number(rows, "pid")
        ended = f"last exit code {rows['last exit code']}" if "last exit code" in rows else "not loaded"
        installed = self.path.exists()
        return ServiceState(installed, installed and bool(rows), bool(number), number, "" if number else ended)

    def install(self, launch: Launch, writable: list[str] | None) -> None:
        """Write the property list, and load it."""
        [text] = self.texts(launch, writable)
        _write(self.path, text.encode())
        self._log.parent.mkdir(parents=True, exist_ok=True)
        _run(["launchctl", "bootout", self._target], check=False)  # what is loaded, if it is
        self._load()

    def uninstall(self) -> bool:
        """Unload the agent and remove the property list."""
        if not _is_ours(self.path):
            return False
        _run(["launchctl", "bootout", self._target], check=False)
        _remove(self.path)
        return True

    def start(self) -> None:
        """Load the agent, or start it if it is loaded."""
        if self.state().at_login:
            _run(["launchctl", "kickstart", self._target])
        else:
            self._load()

    def stop(self) -> None:
        """Unload the agent: launchd would start again what is only killed."""
        _run(["launchctl", "bootout", self._target], check=False)

    def restart(self) -> None:
        """Stop and start the agent, or load it if it is not loaded."""
        if self.state().at_login:
            _run(["launchctl", "kickstart", "-k", self._target])
        else:
            self._load()

    def _load(self) -> None:
        _run(["launchctl", "enable", self._target])
        _run(["launchctl", "bootstrap", self._domain, str(self.path)])

    def logs(self, lines: int, *, follow: bool) -> list[str]:
        """Return the call of `tail`."""
        return ["tail", "-n", str(lines), *(["-f"] if follow else []), str(self._log)]


def manager(label: str = LABEL) -> Manager:
    """Return the service manager of this machine, for one service. Raises ServiceError if it has none katod knows."""
    if sys.platform == "darwin":
        return Launchd(label)
    if shutil.which("systemctl") is None:
        raise ServiceError("this machine has no systemd", hint=_without())
    return Systemd(label)


def how_to_start() -> str:
    """Return the command that starts katod on this machine."""
    try:
        if manager().path.exists():
            return "katod service start"
        return "katod service install" if sys.platform == "darwin" or _has_user_manager() else "katod run"
    except ServiceError:
        return "katod run"


def _has_user_manager() -> bool:
    """Return whether systemd runs services for this user; without asking it, which would take time."""
    folder = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    return os.path.exists(f"{folder}/systemd/private")


def lingers() -> bool | None:
    """Return whether the user's services go on after the last logout, None if that is not known."""
    if sys.platform == "darwin" or shutil.which("loginctl") is None:
        return None
    question = ["loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value"]
    try:
        said = _run(question, check=False, patience=_PATIENCE_FOR_ANSWERS).strip()
    except ServiceError:
        return None
    return {"yes": True, "no": False}.get(said)


def _check_reachable() -> None:
    """Raise ServiceError if systemd does not run services for users here."""
    try:
        _asked("show-environment")
    except ServiceError as error:
        raise ServiceError("systemd does not run user services here", hint=_without()) from error


def _without() -> str:
    """Return the advice for a machine without a service manager: how to run the daemon, as nothing else records."""
    if "microsoft" in _text(Path("/proc/version")).lower():
        return "set `systemd=true` below `[boot]` in /etc/wsl.conf, run `wsl --shutdown` in Windows, and try again"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return "leave `katod run` running in a terminal, or have the container start it as a process of its own"
    return "start `katod run` from your login session"


def _systemctl(*arguments: str) -> str:
    return _run(["systemctl", "--user", *arguments])


def _apart(folders: Iterable[Path]) -> list[Path]:
    """Return the folders, each directory once, however it is spelled."""
    return [*{os.path.realpath(folder): folder for folder in reversed([*folders])}.values()][::-1]


def _is_among(folder: Path, paths: str) -> bool:
    """Return whether a directory is in a list of paths with blanks between them, in whatever spelling."""
    real = os.path.realpath(folder)
    return f" {folder} " in f" {paths} " or real in map(os.path.realpath, paths.split())


def _asked(*arguments: str) -> str:
    """Return what systemd answers to a question, which takes it no time."""
    return _run(["systemctl", "--user", *arguments], patience=_PATIENCE_FOR_ANSWERS)


def _number(rows: dict[str, str], name: str) -> int:
    """Return a number that a manager reports, 0 if it is none."""
    text = rows.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _run(command: list[str], *, check: bool = True, patience: float = _PATIENCE) -> str:
    """Run a program and return what it prints. Raises ServiceError if it fails and has to be checked."""
    import subprocess  # noqa: PLC0415 - most commands ask no service manager

    program = shutil.which(command[0])
    if program is None:
        if not check:
            return ""
        raise ServiceError(f"{command[0]} is not installed")
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs, no shell
            [program, *command[1:]], stdin=subprocess.DEVNULL, capture_output=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ServiceError(f"{command[0]} does not answer") from error
    if check and done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ServiceError(f"`{' '.join(command[:3])}` failed: {said[0] if said else f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "replace")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _text(path: Path) -> str:
    return _read(path).decode("utf-8", "replace")


def _is_ours(path: Path) -> bool:
    """Return whether katod wrote a file. Raises ServiceError for any other file."""
    if not path.exists() and not path.is_symlink():
        return False
    if path.is_symlink() or MARKER.encode() not in _read(path):
        raise ServiceError("not written by katod, so it is not changed", path=path, hint="remove it first")
    return True


def _write(path: Path, data: bytes) -> None:
    """Write a file as a whole, if there is none or katod's own."""
    _is_ours(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        raise ServiceError(f"cannot be written: {error.strerror}", path=path, hint=hint_for(error)) from error


def _strict_beside(path: Path) -> Path:
    return path.parent / f"{path.name}.d" / "katod-strict.conf"


def _remove(path: Path) -> None:
    if _is_ours(path):
        path.unlink()
        if path.parent.suffix == ".d" and not any(path.parent.iterdir()):
            path.parent.rmdir()

"""How the service manager starts katod: a unit for systemd, a property list for launchd. Pure."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# The first line of each file that katod writes for a service manager; no other file is changed or removed.
MARKER: Final = "Written by `katod service install`, removed by `katod service uninstall`."
LABEL: Final = "katod"
SERVER: Final = "katod-serve"
# Exit codes after which starting again would not help: a wrong configuration, a wrong command line.
NO_RESTART: Final = 2

# Sandboxing that works in every user manager, and leaves katod all of the home directory.
_HARDENED: Final = """\
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
"""
_ABOUT: Final = {LABEL: "katod, transcripts of coding agents", SERVER: "katod, sessions live"}
_DAEMON: Final = """\
Type=notify
ExecReload=/bin/kill -HUP $MAINPID
WatchdogSec=5min
"""
_SERVER: Final = "Type=exec\n"
_NO_NETWORK: Final = "RestrictAddressFamilies=AF_UNIX\n"
_NETWORK: Final = "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n"
# Sandboxing that needs user namespaces, which some systems do not allow.
_STRICT: Final = """\
[Service]
PrivateUsers=yes
PrivateDevices=yes
ProtectSystem=strict
ProtectKernelModules=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
ProtectProc=invisible
CapabilityBoundingSet=
SystemCallFilter=~@privileged @resources
"""
_PRIVATE: Final = "PrivateTmp=yes\n"
_TEMPORARY: Final = ("/tmp", "/var/tmp")  # noqa: S108 - the directories of which a service may have its own


@dataclass(frozen=True, slots=True)
class Launch:
    """The command that runs katod, and the environment it needs: agents keep sessions where variables say."""

    program: str  # a path that stays the same when katod is upgraded
    config: str = ""  # empty: where katod looks for it
    environment: Mapping[str, str] | None = None
    network: bool = False  # whether it may open connections, or listen
    serves: bool = False  # whether this is the server of `katod serve`, not the daemon
    needs: tuple[str, ...] = ()  # real paths that it has to see as others see them

    @property
    def arguments(self) -> list[str]:
        """The command line: that of a server says nothing, as its address has the token in it."""
        command = ["serve", "--quiet"] if self.serves else ["run"]
        return [self.program, *(["--config", self.config] if self.config else []), *command]

    @property
    def label(self) -> str:
        """What the service manager calls it."""
        return SERVER if self.serves else LABEL


def unit(launch: Launch) -> str:
    """Return the systemd user unit."""
    variables = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in sorted((launch.environment or {}).items())
    )
    program, *rest = launch.arguments  # in the path of the program, systemd takes a dollar sign as it is
    command = " ".join([_quoted(program), *(_quoted(part).replace("$", "$$") for part in rest)])
    return f"""\
# {MARKER}
# Settings of your own: `systemctl --user edit {launch.label}`.
[Unit]
Description={_ABOUT[launch.label]}
StartLimitIntervalSec=0

[Service]
ExecStart={command}
{_SERVER if launch.serves else _DAEMON}Restart=on-failure
RestartSec=10
RestartPreventExitStatus={NO_RESTART}
{variables}{_NETWORK if launch.network else _NO_NETWORK}{_HARDENED}
[Install]
WantedBy=default.target
"""


def strict(launch: Launch, writable: list[str]) -> str:
    """Return the drop-in that lets katod write to some directories alone.

    It has a temporary directory of its own, in which nothing outlives it, unless it needs a path in that of the others.
    """
    alone = "" if launch.network else "PrivateNetwork=yes\n"
    is_shared = any(map(_is_temporary, (*writable, *launch.needs)))
    private, temporary = ("", _TEMPORARY) if is_shared else (_PRIVATE, ())
    paths = "".join(f"ReadWritePaths={_quoted(f'-{path}')}\n" for path in [*writable, *temporary])
    return f"# {MARKER}\n# For {launch.label}.service, by --strict.\n{_STRICT}{private}{alone}{paths}"


def _is_temporary(path: str) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in _TEMPORARY)


def command_in(unit_text: str) -> list[str]:
    """Return the command line that a unit of katod's starts, empty if it has none."""
    line = next((row for row in unit_text.split("\n") if row.startswith("ExecStart=")), "")
    try:
        words = shlex.split(line.removeprefix("ExecStart="))
    except ValueError:
        return []
    return [(word if at == 0 else word.replace("$$", "$")).replace("%%", "%") for at, word in enumerate(words)]


def environment_in(unit_text: str) -> dict[str, str]:
    """Return the variables that a unit sets, its drop-ins appended to it; one that cannot be read is left out."""
    found: dict[str, str] = {}
    for words in _words_of("Environment=", unit_text):
        if not words:  # an empty assignment takes back those before it
            found.clear()
        found |= dict(word.split("=", 1) for word in words if "=" in word)
    return found


def has_network(unit_text: str) -> bool:
    """Return whether a unit lets katod open connections, its drop-ins appended to it."""
    rows = unit_text.split("\n")
    return _NO_NETWORK.rstrip() not in rows and "PrivateNetwork=yes" not in rows


def writable_in(drop_in: str) -> list[str]:
    """Return the directories that the strict drop-in lets katod write to."""
    return [word.removeprefix("-") for words in _words_of("ReadWritePaths=", drop_in) for word in words]


def _words_of(key: str, unit_text: str) -> Iterator[list[str]]:
    for row in unit_text.split("\n"):
        if row.startswith(key):
            try:
                yield [word.replace("%%", "%") for word in shlex.split(row.removeprefix(key))]
            except ValueError:
                continue


def _quoted(text: str) -> str:
    """Return a word of a unit: in quotes, without specifiers."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'


def property_list(launch: Launch, log: Path) -> bytes:
    """Return the property list of the launchd agent."""
    row = {
        "Label": launch.label,
        "ProgramArguments": launch.arguments,
        "EnvironmentVariables": dict(launch.environment or {}),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ProcessType": "Background",
        "Umask": 0o077,
        "StandardOutPath": str(log),
        "StandardErrorPath": str(log),
    }
    import plistlib  # noqa: PLC0415 - only macOS has these

    head, rest = plistlib.dumps(row).split(b"\n", 1)
    return b"%s\n<!-- %s -->\n%s" % (head, MARKER.encode(), rest)


def environment_in_list(data: bytes) -> dict[str, str]:
    """Return the variables that a property list sets."""
    import plistlib  # noqa: PLC0415 - only macOS has these

    try:
        variables = plistlib.loads(data)["EnvironmentVariables"]
        return {str(name): str(value) for name, value in variables.items()}
    except (plistlib.InvalidFileException, ValueError, KeyError, TypeError, AttributeError):
        return {}


def command_in_list(data: bytes) -> list[str]:
    """Return the command line that a property list of katod's starts, empty if it has none."""
    import plistlib  # noqa: PLC0415 - only macOS has these

    try:
        arguments = plistlib.loads(data)["ProgramArguments"]
    except (plistlib.InvalidFileException, ValueError, KeyError, TypeError):
        return []
    return [str(word) for word in arguments]

"""Codex: shell calls that are something else: patches, and commands that the user ran. Pure."""

import re
import shlex
from typing import Any, Final, NamedTuple

from katod.agents.fields import dict_of, list_of, text_of

PATCH_TOOL: Final = "apply_patch"
OF_PERSON: Final = "user_shell"  # the source of an execution that the user asked for
_SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "local_shell"})
# The client itself applies a patch that a command hands over like this, and records a `FileChange` with the call's id.
_PATCH: Final = re.compile(
    r"\s*(?:cd [^\n;&|]{1,400}&&\s*)?(?:apply_patch|applypatch)\s*<<-?\s*(['\"]?)(\w{1,40})\1[ \t]*\n"
    r"(\s*\*\*\* Begin Patch\n.*?)\n\2\s*",
    re.DOTALL,
)
# How the client tells the model of a command that the user ran with `!`.
_OWN: Final = re.compile(
    r"\s*<user_shell_command>\n<command>\n(.*?)\n</command>\n<result>\n(.*)\n</result>\n</user_shell_command>\s*",
    re.DOTALL,
)
_HEAD: Final = re.compile(r"Exit code: -?[0-9]{1,10}\nDuration: [0-9.]{1,20} seconds\nOutput:\n?")


class Ran(NamedTuple):
    """A command that the user ran, and what it printed."""

    command: str
    output: str


def patch_by_shell(name: str, given: Any) -> str:
    """Return the patch that a call of a shell applies, empty if it runs anything else."""
    if name not in _SHELLS:
        return ""
    words = list_of(dict_of(given).get("command"))
    if len(words) == 2 and words[0] == PATCH_TOOL:  # in 2025
        return text_of(words[1])
    found = _PATCH.fullmatch(_command_line(given))
    return found[3].strip() if found else ""


def _command_line(given: Any) -> str:
    """Return the command of a call of a shell, empty if it has none."""
    row = dict_of(given)
    words = row.get("command", row.get("cmd"))
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return text_of(words)
    return words[-1] if len(words) == 3 and words[1] in ("-lc", "-c") else shlex.join(words)


def ran_by_person(text: str) -> Ran | None:
    """Return the command of the user in a text that the client sends the model, None if it is another text."""
    found = _OWN.fullmatch(text)
    return Ran(found[1], _HEAD.sub("", found[2], count=1).strip("\n")) if found else None

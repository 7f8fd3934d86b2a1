"""The scripts for `sh` that an agent runs: small enough to cost nothing, and silent if katod is gone. Pure."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Final

from katod.command.grammar import WORDS

HOOK: Final = "hook.sh"
STATUS_LINE: Final = "statusline.sh"
NOT_RUNNING: Final = "○ katod is not running"

# What an indented line begins with that may be meant as a command: each word, words nearly like one, those of kato.
_BEGINNINGS: Final = (*dict.fromkeys(word[:3] for word in WORDS), "stp", "kep", "rec", "ini")
# `grep`, as `read` takes a system call for each byte: 50 ms for a paste of 100 kB. An agent's JSON is one line, so that
# all of it passes or nothing. What begins like a command may still be none: katod's grammar decides.
_HOOK_TEXT: Final = Template(r"""#!/bin/sh
# Written by `katod setup`, removed by `katod setup --remove`.
# Runs with each prompt: starts katod only if a line of it begins like a command. Says once that a session is not
# recorded which began below a recording.
LC_ALL=C
export LC_ALL
input=
said=
if [ -f $left ]; then
  input=$$(cat)
  id=$${input#*'"session_id"'}
  id=$${id#*'"'}
  id=$${id%%'"'*}
  case $$id in '' | *[!0-9a-f-]*) id= ;; esac
  [ -n "$$id" ] && [ -f $files"$$id" ] && said=$not_recorded
fi
pattern='("|\\n)::[A-Za-z ]|( |\\t)::($begun)'
if [ -n "$$input" ]; then
  prompt=$$(printf '%s' "$$input" | grep -E "$$pattern")
else
  prompt=$$(grep -E "$$pattern")
fi
if [ -z "$$prompt" ]; then
  [ -z "$$said" ] || { printf '%s\n' "$$said"; rm -f $files"$$id"; }
  exit 0
fi
[ -x $program ] || exit 0
printf '%s' "$$prompt" | $command $state 2>/dev/null
exit 0
""")
# Only what the shell can do itself: no program is started.
_STATUS_LINE_TEXT: Final = Template(r"""#!/bin/sh
# Written by `katod setup`, removed by `katod setup --remove`.
# Shows what katod says of this session in a small file, as long as the katod that wrote it is running.
LC_ALL=C
input=
while IFS= read -r line || [ -n "$$line" ]; do input=$$input$$line; done
id=$${input#*'"session_id"'}
id=$${id#*'"'}
id=$${id%%'"'*}
case $$id in '' | *[!0-9a-f-]*) exit 0 ;; esac
file=$files$$id
[ -f "$$file" ] || exit 0
{ IFS= read -r pid; IFS= read -r boot; IFS= read -r text; } 2>/dev/null <"$$file"
case $$pid in '' | *[!0-9]*) exit 0 ;; esac
now=$$boot
[ ! -r $boot_id ] || IFS= read -r now <$boot_id
if [ "$$now" = "$$boot" ] && kill -0 "$$pid" 2>/dev/null; then
  printf '%s\n' "$$text"
else
  printf '%s\n' $not_running
fi
""")
_SAYS_NOT_RECORDED: Final = '{"systemMessage": "katod: this session is not recorded: type ::start to record it"}'
_BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"


def hook(command: Sequence[str], state: Path, left: Path, agent: str) -> str:
    """Return the script that runs with each prompt.

    The daemon keeps the file `left`, and one beside it for each session that began below a recording, unrecorded.
    """
    begun = "|".join("".join(f"[{letter.upper()}{letter}]" for letter in start) for start in _BEGINNINGS)
    words = {
        "begun": begun,
        "program": shlex.quote(command[0]), "command": shlex.join(command), "state": shlex.quote(str(state)),
        "left": shlex.quote(str(left)), "files": shlex.quote(f"{left}-{agent}-"),
        "not_recorded": shlex.quote(_SAYS_NOT_RECORDED),
    }  # fmt: skip
    return _HOOK_TEXT.substitute(words)


def status_line(files: Path, agent: str) -> str:
    """Return the script that prints the status line, from the files that the daemon keeps for each recording."""
    prefix = shlex.quote(f"{files}/{agent}-")
    return _STATUS_LINE_TEXT.substitute(files=prefix, boot_id=_BOOT_ID, not_running=shlex.quote(NOT_RUNNING))


def call(script: Path) -> str:
    """Return the line that runs a script, and does nothing if it is gone."""
    path = shlex.quote(str(script))
    return f"[ ! -r {path} ] || exec sh {path}"

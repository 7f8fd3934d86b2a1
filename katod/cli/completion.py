"""`katod completion`: scripts with which a shell completes katod's command line, and the answers to them.

The scripts are katod's own, because those of click let bash expand what they insert as a pattern, let fish sort it, and
show errors in the prompt. Each gives katod the line up to the cursor, and gets one candidate a line: type, text, help.
"""

import os
import re
import sys
from contextlib import suppress
from typing import Final

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

_LINE: Final = "_KATOD_COMPLETE"  # the environment variable with the line up to the cursor
_WORD: Final = "_KATOD_WORD"  # the part of the last word that the shell replaces, if that is not all of it
_CURSOR: Final = "\0"  # which no environment variable contains
_HELP: Final = 70  # characters
# What no shell gives a meaning to: a candidate becomes a part of the line, which may be carried out.
_HARMLESS: Final = re.compile(r"[\w@%+=:,./-]+", re.ASCII)

_BASH: Final = r"""_katod_completion() {
    local response type text help
    COMPREPLY=()
    response=$(_KATOD_COMPLETE="${COMP_LINE:0:COMP_POINT}" _KATOD_WORD="$2" command katod 2>/dev/null)
    while IFS=$'\t' read -r type text help; do
        case $type in
            plain) COMPREPLY+=("$text") ;;
            file) compopt -o default 2>/dev/null ;;
        esac
    done <<<"$response"
}
complete -o nosort -F _katod_completion katod 2>/dev/null || complete -F _katod_completion katod
"""
_ZSH: Final = r"""#compdef katod

_katod() {
    local line
    local -a parts found
    for line in "${(@f)$(_KATOD_COMPLETE="${(j: :)words[1,CURRENT]}" command katod 2>/dev/null)}"; do
        parts=("${(@ps:\t:)line}")
        case $parts[1] in
            (plain) found+=("${parts[2]//:/\\:}${parts[3]:+:$parts[3]}") ;;
            (file) _files ;;
        esac
    done
    (( $#found )) && _describe -V katod found
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _katod "$@"
else
    compdef _katod katod
fi
"""
_FISH: Final = r"""function __katod_complete
    command --query katod; or return
    for line in (_KATOD_COMPLETE=(commandline -cp | string collect) command katod 2>/dev/null)
        set -l parts (string split -m 2 \t -- $line)
        switch $parts[1]
            case plain
                printf '%s\t%s\n' $parts[2] $parts[3]
            case file
                __fish_complete_path $parts[2]
        end
    end
end
complete --command katod --no-files --keep-order --arguments '(__katod_complete)'
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


@click.command()
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(shell: str) -> None:
    """Print a completion script for your shell.

    Save it where your shell looks for it (create the directory if necessary), and open a new shell:

    \b
    bash  katod completion bash > ~/.local/share/bash-completion/completions/katod
    zsh   katod completion zsh > ~/.zfunc/_katod
    fish  katod completion fish > ~/.config/fish/completions/katod.fish

    In bash, this needs the package bash-completion. Without it, add `eval "$(katod completion bash)"` to ~/.bashrc. In
    zsh, ~/.zshrc needs `fpath+=(~/.zfunc)` above `compinit`.
    """  # noqa: D301 - `\b` is click's sign for lines that stay as they are
    click.echo(SCRIPTS[shell], nl=False)


def complete(app: click.Command) -> None:
    """Print the candidates for the last word of the line in the environment; nothing at all if anything fails."""
    with suppress(Exception):
        sys.stdout.buffer.write(_Completer(app, {}, "katod", _LINE).complete().encode("utf-8", "replace"))
        sys.stdout.buffer.flush()


class _Completer(ShellComplete):
    """Completes the line in the environment, for each of the scripts."""

    name = "katod"

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words after the program, and the one at the cursor, without their quotes."""
        *words, last = split_arg_string(f"{os.environ[_LINE]}{_CURSOR}")
        return words[1:], last.removesuffix(_CURSOR)

    def get_completions(self, args: list[str], incomplete: str) -> "list[CompletionItem[str]]":
        """Return the candidates, each as the shell inserts it in place of what it takes for the word."""
        items = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        option = f"{option}=" if equals and option.startswith("--") else ""
        kept = incomplete.removesuffix(os.environ.get(_WORD, incomplete))  # bash begins a word after `:` and `=`
        for item in items:
            if item.type == "plain":
                item.value = f"{option}{item.value}".removeprefix(kept)
        return [item for item in items if item.type != "plain" or _HARMLESS.fullmatch(item.value)]

    def format_completion(self, item: "CompletionItem[str]") -> str:
        """Return the line for a candidate; no part of it contains a tab or the end of a line."""
        return "\t".join((item.type, _printable(item.value), _printable(item.help or "")[:_HELP]))


def _printable(text: str) -> str:
    return "".join(filter(str.isprintable, " ".join(text.split())))

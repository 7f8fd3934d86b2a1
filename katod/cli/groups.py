"""Groups of commands and choices that suggest what may have been meant."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return a question that names the nearest known word, an empty string if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - for a mistake

    near = get_close_matches(given, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


class Group(click.Group):
    """A group that suggests the nearest command for an unknown one."""

    meant: ClassVar[Mapping[str, str]] = {}  # what people type for a command of another name

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called. Raises UsageError for an unknown one."""
        known = self.list_commands(ctx)
        meant = self.meant.get(args[0], args[0])
        if args[0] not in known and (near := did_you_mean(meant, known)):
            ctx.fail(f"No such command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)


if TYPE_CHECKING:
    _Words = click.Choice[str]
else:
    _Words = click.Choice  # takes parameters only since click 8.2


class Choice(_Words):
    """One of some words, or a short form of one; an error suggests the nearest."""

    def __init__(self, choices: Sequence[str], short: Mapping[str, str] | None = None) -> None:
        super().__init__(choices)
        self._short = short or {}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word. Raises BadParameter."""
        chosen = self._short.get(value, value)
        if chosen not in self.choices:
            listed = ", ".join(self.choices)
            self.fail(f"{value!r} is not one of {listed}.{did_you_mean(str(value), self.choices)}", param, ctx)
        return super().convert(chosen, param, ctx)

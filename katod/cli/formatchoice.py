"""The option `-f`: a format by its name or its file extension; without a value, it lists the formats."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from katod.cli.groups import Choice
from katod.cli.printing import say
from katod.formatspec import FORMATS, SHORT_FORMATS, FormatSpec

_LIST: Final = "list"
TABLES: Final = "parquet"  # no format of one session: with --all, tables of all of them
_ABOUT_TABLES: Final = FormatSpec(
    TABLES, ".parquet", "", "with --all: tables for query engines, in a directory or a bucket", b""
)
F = TypeVar("F", bound=Callable[..., Any])


class _FormatChoice(Choice):
    """The name of a format, or its file extension."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__([*names], SHORT_FORMATS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. Raises BadParameter; lists the formats instead if no value was given."""
        if value == _LIST and ctx is not None and not ctx.resilient_parsing:
            say("\n".join(_listed([_spec(name) for name in self.choices])))
            ctx.exit()
        return super().convert(value, param, ctx)

    def shell_complete(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem[str]]":
        """Return the formats whose names begin like this."""
        return [CompletionItem(name, help=_spec(name).about) for name in self.choices if name.startswith(incomplete)]


def format_option(text: str, names: Iterable[str] = FORMATS) -> Callable[[F], F]:
    """Return the decorator that adds the option `-f` for these formats."""
    return click.option(
        "-f", "--format", "format_name", type=_FormatChoice(names), metavar="FORMAT", is_flag=False, flag_value=_LIST,
        help=text,
    )  # fmt: skip


def require_page(name: str, base: str) -> None:
    """Raise UsageError if there is a base of links, and the format is not that of pages."""
    if base and name != "html":
        raise click.UsageError("--base is for pages: add -f html")


def _spec(name: str) -> FormatSpec:
    return FORMATS.get(name, _ABOUT_TABLES)


def _listed(specs: list[FormatSpec]) -> Iterable[str]:
    """Yield a line for each format."""
    name, suffix = max(len(spec.name) for spec in specs), max(len(spec.suffix) for spec in specs)
    for spec in specs:
        yield f"{spec.name:{name}}  {spec.suffix:{suffix}}  {spec.about}"

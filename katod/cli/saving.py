"""Asks, once, whether katod should save the sessions that agents delete by themselves."""

import os
import signal
import sys
from contextlib import suppress
from typing import Final

import click

from katod import durable
from katod.cli.context import Context
from katod.cli.printing import say
from katod.config import parse_settings, rescue_path
from katod.errors import AgentFailed, ConfigError, SetupError
from katod.service.lock import holder
from katod.setup.configkey import with_key
from katod.setup.files import Change, Files

_TABLE, _KEY = "recording", "rescue"
_ASKED: Final = "asked-rescue"  # in the state directory: nobody is asked twice
_QUESTION: Final = (
    "Save sessions that you did not record before {} deletes them? katod keeps them for a year, up to 10 GB, in {};"
    " `katod rescue` lists them"
)


def offer_rescue(context: Context, files: Files) -> None:
    """Ask whether sessions are saved, and write the answer to the configuration if it has none. Raises SetupError."""
    asked = context.state / _ASKED
    if not _can_ask() or asked.exists() or context.settings.recording.rescue or not (deleting := _deleting(context)):
        return
    wanted = click.confirm(_QUESTION.format(" or ".join(deleting), rescue_path()))
    durable.make_own_folder(context.state)
    asked.touch(mode=0o600)
    try:
        _write(context, files, wanted=wanted)
    except SetupError:
        if wanted:
            raise
        return  # nothing is saved without it
    say(f"wrote `{_TABLE}.{_KEY} = {str(wanted).lower()}` to {context.config_path}")
    _reload(context)


def _write(context: Context, files: Files, *, wanted: bool) -> None:
    """Write the answer to the configuration. Raises SetupError with what the user can write."""
    hint = f"set `{_TABLE}.{_KEY} = {str(wanted).lower()}` in it yourself"
    try:
        found = files.read(context.config_path)
    except SetupError as error:
        raise SetupError(error.what, path=error.path, hint=hint) from error
    text = found.data.decode("utf-8", "replace") if found else ""
    after = with_key(text, _TABLE, _KEY, "true" if wanted else "false").encode()
    try:
        parse_settings(after, context.config_path)
    except ConfigError as error:
        raise SetupError("it cannot be changed safely", path=context.config_path, hint=hint) from error
    files.change(Change(context.config_path, found.data if found else None, after))


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _deleting(context: Context) -> list[str]:
    """Return the agents on this machine that delete sessions by their age or number."""
    products = []
    for root in context.roots():
        with suppress(AgentFailed):
            retention = root.spec.retention(root.path) if root.is_there else None
            if retention and (retention.days is not None or retention.most is not None):
                products.append(root.spec.product)
    return list(dict.fromkeys(products))


def _reload(context: Context) -> None:
    """Have a running katod read the configuration again."""
    if (pid := holder(context.state)) is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGHUP)

"""`katod serve`: sessions for clients and browsers."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import ServeError

_EXTRA = "install katod with the extra `serve`: pip install 'katod[serve]'"
_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - they are refused


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Listen at this port. Default: 3100; 0: any free one.")
@click.option("--host", help="Listen at this address. Default: 127.0.0.1. Another machine's needs --token-file, too.")
@click.option(
    "--socket", "path", type=click.Path(path_type=Path, dir_okay=False), help="Listen at this UNIX socket instead."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The token is in this file, which nobody else may have access to. Default: katod makes one.",
)
@click.pass_obj
def serve(context: Context, /, port: int | None, host: str | None, path: Path | None, token_file: Path | None) -> None:
    """Show sessions to browsers, and to clients of CodingBridge.

    Prints the address, and serves until Ctrl-C what you record or recorded (`serve.sessions`), as it happens. Nothing
    is written, and katod need not run. Only programs of this machine that know the token are let in.
    """
    _require_extra()
    from katod.serve.server import keep_small, run  # noqa: PLC0415 - an extra

    given = context.settings.serve
    named = token_file or (Path(given.token_path).expanduser() if given.token_path else None)
    place = _Place(host or given.host, given.port if port is None else port, path, named)
    keep_small()
    listener, policy = _opened(context, place)
    run(_application(context, policy), listener)


class _Place(NamedTuple):
    """Where to serve, and which token lets somebody in: that in a file, or katod's own."""

    host: str
    port: int
    socket: Path | None
    token_file: Path | None


def _opened(context: Context, place: _Place) -> tuple[Any, Any]:
    """Return a socket that listens, and who is let in; say where that is. Raises ServeError."""
    from katod.serve.access import Policy, is_loopback, names_of  # noqa: PLC0415 - an extra, as all of these
    from katod.serve.server import listening, listening_at  # noqa: PLC0415

    is_open = context.settings.serve.bridge_open
    if place.socket is not None:
        token = _token(context, place.token_file)
        listener = listening_at(place.socket)
        say(f"katod serves your sessions at the socket {place.socket}")
        return listener, Policy(frozenset({"localhost"}), token, is_open)
    is_here = is_loopback(place.host)
    _check(place.host, is_here=is_here, has_token=place.token_file is not None)
    token = _token(context, place.token_file)
    listener = listening(place.host, place.port)
    port = listener.getsockname()[1]
    shown = f"[{place.host}]" if ":" in place.host else place.host
    say(f"katod serves your sessions at http://{shown}:{port}/#token={token}")
    return listener, Policy(names_of(place.host, port), token, is_open and is_here)


def _token(context: Context, named: Path | None) -> str:
    from katod.serve.token import own_token, read_token  # noqa: PLC0415 - an extra

    return own_token(context.state) if named is None else read_token(named)


def _application(context: Context, policy: Any) -> Any:
    """Return the application with everything that it needs."""
    from katod.log import EventLog, stderr_sink  # noqa: PLC0415 - structlog
    from katod.record.policy import Policy as Recording  # noqa: PLC0415 - loads the formats
    from katod.serve.app import application  # noqa: PLC0415 - an extra
    from katod.serve.changes import Changes  # noqa: PLC0415
    from katod.serve.hub import Hub  # noqa: PLC0415
    from katod.serve.page.pages import Pages  # noqa: PLC0415
    from katod.serve.shelf import Places, Shelf  # noqa: PLC0415

    settings, roots = context.settings, tuple(context.roots())
    log = EventLog(stderr_sink(), settings.log.level)
    places = Places(context.state, roots, settings.serve.sessions == "all")
    shelf = Shelf(places, redact=settings.content.redact)
    options = Recording.of(settings, ()).export_options(thinking=False, tools=None, redact=settings.content.redact)
    hub = Hub(shelf, Changes(roots, log, watch=settings.watch.use_events), log)
    return application(hub, options, policy, Pages(hub, options, context.state).routes())


def _check(host: str, *, is_here: bool, has_token: bool) -> None:
    """Raise ServeError for an address that others reach, unless it is one, and comes with a token of its own."""
    if is_here:
        return
    if host in _EVERYWHERE:
        raise ServeError(f"{host} is every address of this machine", hint="name the one that is meant with --host")
    if not has_token:
        raise ServeError(
            f"{host} can be reached from other machines",
            hint="choose a token for that, and name its file: --token-file",
        )


def _require_extra() -> None:
    """Raise ServeError if the libraries are not installed."""
    try:
        import katod.serve.server  # noqa: F401, PLC0415 - an extra
    except ImportError:
        told = "serving needs starlette, uvicorn and websockets, which are not installed"
        raise ServeError(told, hint=_EXTRA) from None

"""`katod serve`: sessions for clients and browsers."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from katod.cli.context import Context
from katod.cli.printing import say
from katod.errors import ServeError, with_extra

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
@click.option("--url", "only_url", is_flag=True, help="Print the address, with the token in it, and exit.")
@click.option("--quiet", is_flag=True, help="Do not print the address.")
@click.pass_obj
def serve(
    context: Context, /, port: int | None, host: str | None, path: Path | None, token_file: Path | None,
    only_url: bool, quiet: bool,
) -> None:  # fmt: skip
    """Show sessions to browsers, and to clients of CodingBridge.

    Prints the address, and serves until Ctrl-C. The sessions are those that you have recorded, or all
    (`serve.sessions`), as they happen. Nothing is written, and katod need not run. Only programs of this machine that
    know the token are let in.
    """
    require_extra()
    from katod.serve.server import keep_small, run  # noqa: PLC0415 - an extra

    given = context.usable_settings().serve
    named = token_file or (Path(given.token_path).expanduser() if given.token_path else None)
    place = _Place(host or given.host, given.port if port is None else port, path, named)
    place.check()
    token = _token(context, named)
    if only_url:
        say("\n".join([place.address(token), *(f"{origin}/#token={token}" for origin in given.origins)]))
        return
    keep_small()
    listener = _listening(place)
    place = place if path else place._replace(port=listener.getsockname()[1])
    if not quiet:
        say(f"katod serves your sessions at {place.address(token)}")
    run(_application(context, place, token), listener)


class _Place(NamedTuple):
    """Where to serve, and which token lets somebody in: that in a file, or katod's own."""

    host: str
    port: int
    socket: Path | None
    token_file: Path | None

    @property
    def is_here(self) -> bool:
        """Whether only this machine reaches it."""
        from katod.serve.access import is_loopback  # noqa: PLC0415 - an extra

        return self.socket is not None or is_loopback(self.host)

    def check(self) -> None:
        """Raise ServeError for an address that others reach, unless it is one, and comes with a token of its own."""
        if self.is_here:
            return
        if self.host in _EVERYWHERE:
            told = f"{self.host} is every address of this machine"
            raise ServeError(told, hint="name the one that is meant with --host")
        if self.token_file is None:
            told = f"{self.host} can be reached from other machines"
            raise ServeError(told, hint="choose a token for that, and name its file: --token-file")

    def address(self, token: str) -> str:
        """Return what a browser opens: what follows the # is not sent."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (
            f"the socket {self.socket}, with the token {token}"
            if self.socket
            else f"http://{host}:{self.port}/#token={token}"
        )

    def names(self) -> frozenset[str]:
        """Return what the header Host may say."""
        from katod.serve.access import names_of  # noqa: PLC0415 - an extra

        return frozenset({"localhost"}) if self.socket else names_of(self.host, self.port)


def _listening(place: _Place) -> Any:
    from katod.serve.server import listening, listening_at  # noqa: PLC0415 - an extra

    return listening(place.host, place.port) if place.socket is None else listening_at(place.socket)


def _token(context: Context, named: Path | None) -> str:
    from katod.serve.token import own_token, read_token  # noqa: PLC0415 - an extra

    return own_token(context.state) if named is None else read_token(named)


def _application(context: Context, place: _Place, token: str) -> Any:
    """Return the application with everything that it needs."""
    from katod.log import EventLog, late_stderr_sink  # noqa: PLC0415 - as below
    from katod.record.policy import Policy as Recording  # noqa: PLC0415 - loads the formats
    from katod.serve.access import Policy  # noqa: PLC0415 - an extra, as all of these
    from katod.serve.app import application  # noqa: PLC0415
    from katod.serve.changes import Changes  # noqa: PLC0415
    from katod.serve.hub import Hub  # noqa: PLC0415
    from katod.serve.page.pages import Pages  # noqa: PLC0415
    from katod.serve.shelf import Places, Shelf  # noqa: PLC0415

    settings, roots = context.settings, tuple(context.roots())
    log = EventLog(late_stderr_sink(), settings.log.level)
    places = Places(context.state, roots, settings.serve.sessions == "all")
    shelf = Shelf(places, redact=settings.content.redact)
    options = Recording.of(settings, ()).export_options(thinking=False, tools=None, redact=settings.content.redact)
    is_open = settings.serve.bridge_open and place.is_here
    policy = Policy(place.names(), token, is_open, frozenset(settings.serve.origins))
    hub = Hub(shelf, Changes(roots, log, watch=settings.watch.use_events), log)
    return application(hub, options, policy, Pages(hub, options, context.state).routes())


def require_extra() -> None:
    """Raise ServeError if the libraries are not installed."""
    try:
        import katod.serve.server  # noqa: F401, PLC0415 - an extra
    except ImportError:
        told = "serving needs starlette, uvicorn and websockets, which are not installed"
        raise ServeError(told, hint=with_extra("serve")) from None

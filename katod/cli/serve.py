"""`katod serve`: sessions for clients and browsers."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import click

from katod.cli.context import Context
from katod.cli.printing import say, say_as_it_is
from katod.config import ServeSettings, local_zone
from katod.errors import ServeError, with_extra

_EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - they are refused


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), help="The port to listen on; 0 means any free port. Default: 3100."
)
@click.option(
    "--host",
    help="The address to listen on. Default: 127.0.0.1. An address that other machines can reach needs --token-file.",
)
@click.option(
    "--socket", "path", type=click.Path(path_type=Path, dir_okay=False), help="Listen on this UNIX socket instead."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read the token from this file, which only you may have access to. Default: katod creates a token.",
)
@click.option("--url", "only_url", is_flag=True, help="Print the address, including the token, and exit.")
@click.option("--quiet", is_flag=True, help="Do not print the address.")
@click.pass_obj
def serve(
    context: Context, /, port: int | None, host: str | None, path: Path | None, token_file: Path | None,
    only_url: bool, quiet: bool,
) -> None:  # fmt: skip
    """Serve sessions live to browsers and CodingBridge clients.

    Prints the address, and serves until Ctrl-C. Only programs on this machine that know the token have access, unless
    you configure more. By default, every session is served, recorded or not; `serve.sessions` changes that. katod
    writes only to its state directory: the token, the address, the numbers of `katod usage`, and requests to the daemon
    when you press a button on the page. Without the daemon, everything else works.
    """
    require_extra()
    given = context.usable_settings().serve
    named = token_file or (Path(given.token_file).expanduser() if given.token_file else None)
    place = _ServeAddress(host or given.host, given.port if port is None else port, path, named)
    if only_url:
        place = place.of_running(context.state, named=(port, host, path) != (None, None, None))
    place.check()
    token = _token(context, named)
    if only_url:
        say_as_it_is("\n".join([place.address(token), *(f"{origin}/#token={token}" for origin in given.origins)]))
        return
    _serve(context, place, token, quiet=quiet)


def _serve(context: Context, place: "_ServeAddress", token: str, *, quiet: bool) -> None:
    """Serve until Ctrl-C."""
    from katod.serve.address import announced  # noqa: PLC0415 - an extra
    from katod.serve.server import keep_small, run  # noqa: PLC0415 - an extra

    keep_small()
    listener = _listening(place)
    place = place if place.socket else place._replace(port=listener.getsockname()[1])
    if not quiet:
        say(f"katod serves your sessions at {place.address(token)}")
    application = _application(context, place, token)
    with nullcontext() if place.socket else announced(context.state, place.host, place.port):
        run(application, listener)


class _ServeAddress(NamedTuple):
    """Where to serve, and which token grants access: that in a file, or katod's own."""

    host: str
    port: int
    socket: Path | None
    token_file: Path | None

    @property
    def is_here(self) -> bool:
        """Whether only this machine reaches it."""
        from katod.serve.access.policy import is_loopback  # noqa: PLC0415 - an extra

        return self.socket is not None or is_loopback(self.host)

    def check(self) -> None:
        """Raise ServeError for an address that others reach, unless it is one, and comes with a token of its own."""
        if self.is_here:
            return
        if self.host in _EVERYWHERE:
            problem = f"{self.host} stands for all addresses of this machine"
            raise ServeError(problem, hint="give one address with --host")
        if self.token_file is None:
            problem = f"{self.host} can be reached from other machines"
            raise ServeError(problem, hint="this needs a token of your own: --token-file")

    def of_running(self, state: Path, *, named: bool) -> "_ServeAddress":
        """Return where the server that runs listens, this place if none does, or if it was named."""
        from katod.serve.address import running  # noqa: PLC0415 - an extra

        found = running(state)
        if found is None and self.socket is None:
            say("katod serve is not running: it will be at this address", err=True)
        return self if found is None or named else self._replace(host=found.host, port=found.port)

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
        from katod.serve.access.policy import names_of  # noqa: PLC0415 - an extra

        return frozenset({"localhost"}) if self.socket else names_of(self.host, self.port)


def _listening(place: _ServeAddress) -> Any:
    from katod.serve.server import listening, listening_at  # noqa: PLC0415 - an extra

    return listening(place.host, place.port) if place.socket is None else listening_at(place.socket)


def _token(context: Context, named: Path | None) -> str:
    from katod.serve.access.token import own_token, read_token  # noqa: PLC0415 - an extra

    return own_token(context.state) if named is None else read_token(named)


def _application(context: Context, place: _ServeAddress, token: str) -> Any:
    """Return the application with everything that it needs."""
    from katod.log import EventLog, late_stderr_sink  # noqa: PLC0415 - as below
    from katod.record.policy import Policy  # noqa: PLC0415 - loads the formats
    from katod.serve.access.policy import AccessPolicy  # noqa: PLC0415 - an extra, as all of these
    from katod.serve.app import application  # noqa: PLC0415
    from katod.serve.feed.hub import Hub  # noqa: PLC0415
    from katod.serve.index.changes import FileChanges  # noqa: PLC0415
    from katod.serve.index.sessions import IndexScope, SessionIndex  # noqa: PLC0415
    from katod.serve.page.pages import Pages  # noqa: PLC0415
    from katod.serve.page.usage import UsagePages  # noqa: PLC0415

    settings, roots = context.settings, tuple(context.roots())
    log = EventLog(late_stderr_sink(), settings.log.level)
    places = IndexScope(context.state, roots, serves_all(settings.serve, is_here=place.is_here))
    index = SessionIndex(places, redact=settings.content.redact)
    options = Policy.of(settings, ()).export_options(thinking=False, tools=None, redact=settings.content.redact)
    is_open = settings.serve.bridge_open and place.is_here
    policy = AccessPolicy(place.names(), token, is_open, frozenset(settings.serve.origins))
    hub = Hub(index, FileChanges(roots, log, watch=settings.watch.use_events), log)
    folders, redacted, zone = settings.archive.folders, settings.content.redact, local_zone()
    if not folders:
        routes = UsagePages(hub, context.state, settings.prices.source, zone, redacted=redacted).routes()
        return application(hub, options, policy, [*Pages(hub, options, context.state).routes(), *routes])
    from katod.serve.page.machines import MachinePages, SharedSessions  # noqa: PLC0415 - for those who share a folder

    shared = SharedSessions(folders, context.state, everything=places.everything, redacted=redacted)
    usage = UsagePages(hub, context.state, settings.prices.source, zone, redacted=redacted, shared=shared.usable)
    machines = MachinePages(hub, shared, options)
    pages = Pages(hub, options, context.state, machines.find)
    return application(hub, options, policy, [*pages.routes(), *usage.routes(), *machines.routes()])


def serves_all(settings: ServeSettings, *, is_here: bool) -> bool:
    """Return whether every session is served: with "auto", where only this machine, with the token, has access."""
    is_private = is_here and not settings.origins and not settings.bridge_open
    return settings.sessions == "all" or (settings.sessions == "auto" and is_private)


def require_extra() -> None:
    """Raise ServeError if the libraries are not installed."""
    try:
        import katod.serve.server  # noqa: F401, PLC0415 - an extra
    except ImportError:
        problem = "serving needs starlette, uvicorn and websockets, which are not installed"
        raise ServeError(problem, hint=with_extra("serve")) from None

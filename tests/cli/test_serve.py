"""`katod serve`: where it listens, and with which token. What it serves is in tests/serve."""

import os
import socket
import stat
import subprocess
import sys
from contextlib import ExitStack

import pytest

from katod.cli.serve import serves_all
from katod.config import ServeSettings
from katod.errors import ServeError
from katod.serve import address
from katod.serve.access.policy import SHORTEST_TOKEN
from katod.serve.access.token import own_token, read_token
from katod.serve.server import listening, listening_at
from tests.looping import each
from tests.serve.serving import Served


def test_the_address_has_the_token_where_it_is_not_sent(world):
    """The token is made once, in a file that nobody else can read."""
    address = world.cli("serve", "--url").strip()
    before, _, token = address.partition("#token=")
    assert before == "http://127.0.0.1:3100/"
    assert len(token) == 43
    assert world.cli("serve", "--url", "--host", "::1", "--port", "99").strip() == f"http://[::1]:99/#token={token}"
    file = world.state / "serve-token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text().strip() == token


def test_the_port_in_use_is_printed(world):
    """While a server runs, its own address; afterwards, and when one is named, that one."""
    with Served(world) as server:
        assert world.cli("serve", "--url").startswith(f"http://127.0.0.1:{server.port}/#token=")
        assert world.cli("serve", "--url", "--port", "99").startswith("http://127.0.0.1:99/#token=")
        assert stat.S_IMODE((world.state / "serve-address").stat().st_mode) == 0o600
    assert world.cli("serve", "--url").startswith("http://127.0.0.1:3100/#token=")


def test_a_server_that_ends_takes_back_its_own_address_alone(tmp_path):
    """Others that run are found again, in whichever order they began and end; the last one is printed."""
    path = tmp_path / address.NAME
    with ExitStack() as sockets:
        first, second = (
            sockets.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(2)
        )
        for order in ((first, second), (second, first)):
            one, two = (address.announced(tmp_path, "127.0.0.1", port) for port in order)
            with one:
                assert path.read_text() == f"127.0.0.1 {order[0]} {os.getpid()}\n"
                with two:
                    assert address.running(tmp_path).port == order[1]
                assert address.running(tmp_path).port == order[0]
            assert (path.exists(), address.running(tmp_path)) == (False, None)
        one, two = (address.announced(tmp_path, "127.0.0.1", port) for port in (first, second))
        one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)
        assert address.running(tmp_path).port == second
        two.__exit__(None, None, None)


def test_a_second_server_that_ends_does_not_hide_the_first(world):
    """They are processes of their own, with one state directory."""
    with Served(world) as first:
        with Served(world) as second:
            assert world.cli("serve", "--url").startswith(f"http://127.0.0.1:{second.port}/#token=")
            second.stop()
        assert world.cli("serve", "--url").startswith(f"http://127.0.0.1:{first.port}/#token=")


def test_an_address_that_a_killed_server_left_is_none(world, tmp_path):
    """Its number may be that of another program by now; the next server removes it."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    gone = f"127.0.0.1 9 {int(ended.stdout)}\n"
    (world.state / "serve-address").write_text(f"127.0.0.1 9 {os.getpid()}\n{gone}")
    assert world.cli("serve", "--url").startswith("http://127.0.0.1:3100/#token=")
    with address.announced(world.state, "127.0.0.1", 1):
        assert gone not in (world.state / "serve-address").read_text()


@each(
    "text",
    [
        "",
        "x",
        "127.0.0.1 1 0\n",
        f"127.0.0.1 1 {10**30}\n",
        "127.0.0.1 1 -1\n",
        "127.0.0.1 x 1\n",
        "\ud800",
        "a b c d\n",
    ],
)
def test_a_file_that_no_server_wrote_is_no_address(world, text):
    """It says nothing of a process of this user."""
    (world.state / "serve-address").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert world.cli("serve", "--url").startswith("http://127.0.0.1:3100/#token=")


def test_other_machines_are_not_let_in_by_accident(world):
    """An address that they reach has to be named, and needs a token that somebody chose."""
    world.cli("serve", "--url", "--host", "192.168.1.5", code=1)
    assert "can be reached from other machines" in world.said
    for host in ("0.0.0.0", "::"):
        world.cli("serve", "--url", "--host", host, code=1)
        assert "all addresses" in world.said
    token = world.home / "token"
    token.write_text("x" * 32)
    token.chmod(0o600)
    address = world.cli("serve", "--url", "--host", "192.168.1.5", "--token-file", str(token))
    assert address.strip() == f"http://192.168.1.5:3100/#token={'x' * 32}"
    world.configure(**{"serve.token_file": token}, host="192.168.1.5", port=80)
    assert world.cli("serve", "--url").strip() == f"http://192.168.1.5:80/#token={'x' * 32}"


def test_a_wrong_configuration_is_wrong_usage(world):
    """A service manager does not try again."""
    world.config.write_text("[serve]\nports = 1\n")
    world.cli("serve", code=2)
    assert "unknown key `serve.ports`" in world.said


@each(
    "content, mode",
    [
        (b"x" * (SHORTEST_TOKEN - 1), 0o600), (b"x" * 32, 0o644), (b"two words " * 9, 0o600), (b"\xff" * 40, 0o600),
        (b"x" * 9999, 0o600), ("é".encode() * 40, 0o600), (b"x\ay" * 40, 0o600),
    ],
)  # fmt: skip
def test_a_token_that_is_not_secret_is_refused(tmp_path_factory, content, mode):
    """Or not long enough, or no single word."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_bytes(content)
    file.chmod(mode)
    with pytest.raises(ServeError):
        read_token(file)


def test_a_token_of_ones_own_is_one_word(tmp_path):
    """The shortest one that is accepted is, and white space around it does not count."""
    file = tmp_path / "token"
    file.write_text(f"{'x' * SHORTEST_TOKEN}\n")
    file.chmod(0o600)
    assert read_token(file) == "x" * SHORTEST_TOKEN


def test_a_token_that_cannot_be_written_is_an_error(tmp_path):
    """Not a server without one."""
    (tmp_path / "state").write_text("")
    with pytest.raises(ServeError, match="cannot be written"):
        own_token(tmp_path / "state")


def test_a_port_that_is_taken_is_an_error():
    """Which says so."""
    with listening("127.0.0.1", 0) as one:
        assert one.proto == socket.IPPROTO_TCP  # else asyncio leaves answers to Nagle's algorithm
        one.listen()
        with pytest.raises(ServeError, match="cannot listen"):
            listening("127.0.0.1", one.getsockname()[1])


def test_a_socket_is_for_its_owner_alone(tmp_path):
    """One that nobody listens at is replaced; a file that is no socket is not."""
    place = tmp_path / "katod.sock"
    listening_at(place).close()
    with listening_at(place) as listener:
        assert stat.S_IMODE(os.stat(place).st_mode) & 0o077 == 0
        listener.listen()
        with pytest.raises(ServeError):
            listening_at(place)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ServeError):
        listening_at(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"
    assert socket.AF_UNIX


@each(
    ("given", "is_here", "everything"),
    [
        ({}, True, True), ({}, False, False), ({"origins": ("https://a.example",)}, True, False),
        ({"bridge_open": True}, True, False), ({"sessions": "recorded"}, True, False), ({"sessions": "all"}, False, True),
    ],
)  # fmt: skip
def test_every_session_is_served_where_nobody_else_has_access(given, is_here, everything):
    """Unless the settings say which."""
    assert serves_all(ServeSettings(**given), is_here=is_here) is everything


def test_a_server_runs_if_its_process_does_and_it_listens(tmp_path):
    """A number is that of a process, and something answers: by now, either may be another program's."""
    with listening("127.0.0.1", 0) as listener:
        port, nobody = listener.getsockname()[1], 2**30
        for pid, found in ((os.getpid(), address.Address("127.0.0.1", port, os.getpid())), (nobody, None)):
            (tmp_path / address.NAME).write_text(f"127.0.0.1 {port} {pid}\n")
            assert address.running(tmp_path) == found
    (tmp_path / address.NAME).write_text(f"127.0.0.1\n{port}\n{os.getpid()}\n")
    assert address.running(tmp_path) is None

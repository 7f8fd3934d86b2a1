"""The addresses that the server listens at."""

import socket

from katod.serve.server import _bound


def test_an_address_can_be_taken_again_at_once() -> None:
    """A server that is started again need not wait until connections of the one before are forgotten."""
    with _bound(socket.AF_INET, ("127.0.0.1", 0)) as listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        assert listener.getsockname()[0] == "127.0.0.1"

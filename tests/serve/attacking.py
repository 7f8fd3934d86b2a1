"""What attackers have: a socket on which they send any bytes, and a web site with any page."""

import socket
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def wire(server, *, small=False):
    """Yield a connection to a server; a `small` one has hardly room for what it does not read."""
    with socket.socket() as one:
        if small:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        one.settimeout(20)
        one.connect(("127.0.0.1", server.port))
        yield one


@contextmanager
def wires(server, count):
    """Yield so many connections."""
    with ExitStack() as stack:
        yield [stack.enter_context(wire(server)) for _ in range(count)]


def head(server, first, *lines, host=None):
    """Return the head of a request, with these lines; the header Host is right unless there is another one."""
    named = f"127.0.0.1:{server.port}" if host is None else host
    return "\r\n".join([first, *([f"Host: {named}"] if named else []), *lines, "", ""]).encode()


def answer(server, data, seconds=3.0):
    """Send bytes, and return what is answered until that ends, or nothing comes for so long."""
    with wire(server) as one:
        one.sendall(data)
        one.settimeout(seconds)
        said = b""
        with suppress(OSError):
            while piece := one.recv(65536):
                said += piece
        return said


def status(said):
    """Return the status of an answer, 0 if there was none."""
    return int(said.split(b" ", 2)[1]) if said.startswith(b"HTTP/1.1 ") else 0


def is_ended(one, seconds, drip=b""):
    """Return whether a connection is ended within a time, while more is sent again and again."""
    until = time.monotonic() + seconds
    one.settimeout(0.05)
    while time.monotonic() < until:
        try:
            if drip:
                one.send(drip)
            if not one.recv(65536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


class _Site(BaseHTTPRequestHandler):
    """Answers every GET with the page of the site, and notes what it is sent."""

    def do_GET(self):
        self.server.heard.append(f"{self.path}\n{self.headers}")
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.server.page.encode())

    def log_message(self, *_):
        """Print nothing."""


@contextmanager
def site(page=""):
    """Yield another web server of this machine, with one `page`; `heard` has the requests to it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        server.page, server.heard = page, []
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()

"""Servers of buckets for tests: one that keeps objects in memory, and others that never answer as they should."""

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SAID = "what-only-the-server-says"
KEYS = {"AWS_ACCESS_KEY_ID": "key-of-the-tests", "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests"}


@contextmanager
def moto() -> Iterator[str]:
    """Yield the address of a server that keeps what it is given, and has one bucket, `bucket`."""
    import boto3  # noqa: PLC0415 - heavy, for slow tests alone
    from moto.server import ThreadedMotoServer  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it tells each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client(f"http://{host}:{port}", boto3).create_bucket(Bucket="bucket")
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def client(address, boto3):
    """Return a client of another maker."""
    return boto3.client(
        "s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )


@contextmanager
def answering(status: int, code: str, to: str = "HEAD GET PUT POST", behind: str = "") -> Iterator[str]:
    """Yield the address of a server that refuses requests with these methods, and passes on all others."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.command in to.split():
                body = f"<Error><Code>{code}</Code><Message>{SAID}</Message></Error>".encode()
                self.reply(status, {}, body)
                return
            connection = HTTPConnection(behind.removeprefix("http://"))
            connection.request(self.command, self.path, content, dict(self.headers))
            found = connection.getresponse()
            self.reply(found.status, dict(found.getheaders()), found.read())
            connection.close()

        def reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server"):
                    self.send_header(name, value)
            length = headers.get("Content-Length", headers.get("content-length", "")) if self.command == "HEAD" else ""
            self.send_header("Content-Length", length or str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET = do_PUT = do_POST = answer  # noqa: N815 - as the library calls them

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def silent() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(16)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def nobody() -> str:
    """Return an address at which nothing listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{server.getsockname()[1]}"

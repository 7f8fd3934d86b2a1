"""Fixtures for the tests of real clients; a test module names its client in `CLIENT`, or has a fixture `client`."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from . import model_server
from .play import Play
from .processes import Namespace


@pytest.fixture(scope="module")
def client(request):
    """The kind of client that the module names."""
    return request.module.CLIENT


@pytest.fixture(scope="module")
def command(client, tmp_path_factory):
    """The command that starts the client, installed in $KATOD_REALCLI_DIR or in a temporary folder."""
    kept = os.environ.get("KATOD_REALCLI_DIR")
    folder = Path(kept).absolute() if kept else tmp_path_factory.mktemp("client")
    yield client.installed(folder)
    if not kept:
        shutil.rmtree(folder)


@pytest.fixture
def stage(command, tmp_path):
    """A function that creates a play with one kind of client."""
    log = tmp_path / "model.jsonl"
    namespace = Namespace([sys.executable, model_server.__file__, str(log)])
    try:
        yield lambda client: Play(client, command, namespace, log)
    finally:
        namespace.close()


@pytest.fixture
def play(stage, client):
    """A play with the module's client."""
    return stage(client)

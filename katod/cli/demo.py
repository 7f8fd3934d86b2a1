"""`katod demo`: replays a sample session in a temporary home directory, runs katod on it and shows the transcript."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click
import orjson

from katod.cli.config import data_file
from katod.cli.ending import ENDING, handled
from katod.cli.layout import TextSpan, cut, show
from katod.cli.printing import say
from katod.errors import KatodError
from katod.service.lock import holder

_SESSION = "6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11.jsonl"
_PATIENCE = 8.0
_BEAT = 0.12
_WIDTH = 76


@click.command()
@click.option("--keep", is_flag=True, help="Keep the temporary home directory and print its path.")
def demo(keep: bool) -> None:
    """Replay a sample session and show the transcript that katod writes.

    Runs in a temporary home directory and does not touch your files.
    """
    with handled(_leave):
        _play_in(Path(tempfile.mkdtemp(prefix="katod-demo-")), keep=keep)


def _play_in(home: Path, *, keep: bool) -> None:
    try:
        say("Starting katod in a temporary home directory …")
        with _daemon(home):
            session = _play(home)
            say("\nkatod is writing the transcript …")
            transcript = _transcript(home)
            _until(lambda: "Recording stopped" in transcript.read_text("utf-8"), "the recording to stop")
        click.echo()
        show([(TextSpan(f"What katod wrote to ~/{transcript.relative_to(home)}:", "bold"),)])
        click.echo()
        click.echo(transcript.read_text("utf-8"), nl=False)
        click.echo()
        if keep:
            click.echo(f"The transcript is {transcript}")
            click.echo(f"The session as a page: katod export {session} -f html -o demo.html")
        say("To record your own sessions, start `katod run` and type ::start in the chat.")
    finally:
        if keep:
            click.echo(f"kept the temporary home directory: {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)


def _leave(number: int, _: FrameType | None) -> None:
    """Leave, so that nothing stays behind; a closed terminal sends a second signal, which may not interrupt that."""
    for other in ENDING:
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


@contextmanager
def _daemon(home: Path) -> Iterator[None]:
    """Run a separate daemon in the temporary home."""
    state = home / "state"
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TZ", "LANG") if name in os.environ}
    environment = kept | {"HOME": str(home), "KATOD_STATE_DIR": str(state), "XDG_CONFIG_HOME": str(home / ".config")}
    log = (home / "katod.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "katod", "run"],
        env=environment, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
    )  # fmt: skip
    try:
        _until(
            lambda: holder(state) is not None and b"daemon.started" in (home / "katod.log").read_bytes(),
            "katod to start",
        )
        yield
    finally:
        process.terminate()
        process.wait(timeout=10)
        log.close()


def _play(home: Path) -> Path:
    """Append the session's records to a file, as the agent would, and return its path."""
    lines = data_file("demo/session.jsonl", Path("fixtures/demo/session.jsonl")).splitlines(keepends=True)
    folder = home / ".claude" / "projects" / "-home-me-shop"
    folder.mkdir(parents=True)
    click.secho("Replaying a sample Claude Code session:", bold=True)
    click.echo()
    with (folder / _SESSION).open("ab", buffering=0) as file:
        for line in lines:
            _show(orjson.loads(line))
            file.write(line)
            time.sleep(_BEAT)
    return folder / _SESSION


def _show(record: dict[str, Any]) -> None:
    content = record["message"]["content"]
    if isinstance(content, str):
        for number, line in enumerate(content.splitlines()):
            who = "" if number else "you"
            show([(TextSpan(f"  {who:<6}  "), TextSpan(line, "bold" if line.startswith("::") else ""))])
        return
    for block in content:
        if block["type"] == "text":
            say(f"  claude  {cut(block['text'].splitlines()[0], _WIDTH)}")
        elif block["type"] == "tool_use":
            click.echo(f"  claude  [{block['name']}]")


def _transcript(home: Path) -> Path:
    found: list[Path] = []

    def look() -> bool:
        found[:] = (home / "katod").rglob("*.md")
        return bool(found)

    _until(look, "a transcript")
    return found[0]


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise KatodError(f"timed out waiting for {what}", hint="run `katod demo --keep` and read katod.log")
        time.sleep(0.01)

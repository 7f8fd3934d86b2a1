"""`katod run` as a process: home, state, configuration and agents' folders of its own below one folder."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import katod
from tests.benchmarks.generate import Session

SOURCE: Final = Path(katod.__file__).parent.parent
PATIENCE: Final = 60.0
_SLUG: Final = "-home-dev-work-lantern"
_DAY: Final = "2026/01/05"


def environment(folder: Path) -> dict[str, str]:
    """An environment in which nothing of the user's is read or written."""
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(home), "PYTHONPATH": str(SOURCE),
        "KATOD_STATE_DIR": str(folder / "state"), "KATOD_CONFIG": str(_config(folder)),
    }  # fmt: skip


def _config(folder: Path) -> Path:
    path = folder / "katod.toml"
    rows = [f"[output]\ndirectory = {json.dumps(str(folder / 'output'))}"]
    rows += [f"[agents.{agent}]\nroots = [{json.dumps(str(folder / agent))}]" for agent in ("claude", "codex")]
    path.write_text("\n".join(rows))
    return path


def session_path(folder: Path, made: Session) -> Path:
    """Where the agent of a session would keep it."""
    claude = type(made).__name__.startswith("Claude")
    return folder / (f"claude/projects/{_SLUG}" if claude else f"codex/sessions/{_DAY}") / made.name()


class Katod:
    """The daemon, from its start to its end; it never outlives the `with` block."""

    def __init__(self, folder: Path) -> None:
        self.output = folder / "output"
        self._log = folder / "katod.log"
        self._log.unlink(missing_ok=True)
        self.began = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "katod", "run"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment(folder),
            )  # fmt: skip

    def __enter__(self) -> Self:
        try:
            self._await_start()
        except BaseException:
            self._end()
            raise
        self.ready = time.monotonic()
        return self

    def _await_start(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while b'"daemon.started"' not in self._log.read_bytes():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"katod did not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.005)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def cpu(self) -> float:
        """The CPU time so far, user and system, in seconds: what /proc/PID/stat tells, in finer steps."""
        return time.clock_gettime(~self._process.pid << 3 | 2)  # clock_getcpuclockid(3)

    def rss(self) -> float:
        """The memory that is resident now, in MB."""
        return memory(self._process.pid, "VmRSS")

    def settled(self) -> float:
        """Wait until it has nothing to do (most of a second without work); return its CPU time then."""
        deadline, before = time.monotonic() + PATIENCE, self.cpu()
        while time.monotonic() < deadline:
            time.sleep(0.8)
            now = self.cpu()
            if now - before < 0.004:
                break
            before = now
        return before


def memory(pid: int, field: str) -> float:
    """A field of /proc/PID/status in MB, 0 when the process is gone."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    found = next((line for line in text.splitlines() if line.startswith(f"{field}:")), "")
    return int(found.split()[1]) * 1024 / 1e6 if found else 0.0

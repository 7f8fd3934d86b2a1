"""What katod exports is what the session files say: nothing lost, nothing added, nothing said twice."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.oracle import export
from tests.oracle.common import INVALID, NAMES, Sets
from tests.oracle.corpus import LEFT_OUT, ROOT, Source, corpus_folder, corpus_sources, fixture_sources
from tests.oracle.update import left_out

CORPUS = corpus_sources()
WITHOUT_CORPUS = f"no real sessions under {corpus_folder()} (KATOD_CORPUS names another folder)"
PLACEHOLDER = "[trimmed for fixture]"  # reduced files give one id to many records: nothing to compare by


class Exports:
    """Runs `katod export` for each session at most once, two at a time, in a home of its own."""

    def __init__(self, home: Path, pool: ThreadPoolExecutor) -> None:
        self.home = home
        self.pool = pool
        self.running: dict[Path, Future[subprocess.CompletedProcess[bytes]]] = {}

    def begin(self, path: Path) -> Future[subprocess.CompletedProcess[bytes]]:
        """Start the export of a session, unless it was started already."""
        if path not in self.running:
            self.running[path] = self.pool.submit(self._run, path)
        return self.running[path]

    def _run(self, path: Path) -> subprocess.CompletedProcess[bytes]:
        hidden = ("XDG_", "KATOD_", "CLAUDE_", "CODEX_")
        env = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        env |= {f"XDG_{name}_HOME": str(self.home / name) for name in ("CONFIG", "STATE", "DATA", "CACHE")}
        env |= {"HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.home), "PYTHONPATH": str(ROOT)}
        options = ("-f", "jsonl", "-o", "-", "--no-redact")
        command = [sys.executable, "-m", "katod", "export", str(path), *options]
        return subprocess.run(command, env=env, cwd=self.home, capture_output=True, check=False, timeout=300)


@pytest.fixture(scope="session")
def exports(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exports]:
    """Begin with every session that this run asks for; a worker of several begins only with its own."""
    with ThreadPoolExecutor(2) as pool:
        found = Exports(tmp_path_factory.mktemp("home"), pool)
        if "PYTEST_XDIST_WORKER" not in os.environ:
            wanted = (getattr(item, "callspec", None) for item in request.session.items)
            sources = (call.params.get("source") for call in wanted if call)
            for source in sources:
                if isinstance(source, Source):
                    found.begin(source.path)
        yield found
        pool.shutdown(cancel_futures=True)


def cases() -> list[object]:
    """Every session as a test of its own, and a test that says why there are no real ones."""
    found: list[object] = [pytest.param(s, id=s.name) for s in [*CORPUS, *fixture_sources()]]
    if not CORPUS:
        found.append(pytest.param(None, id="corpus", marks=pytest.mark.skip(WITHOUT_CORPUS)))
    return found


@pytest.mark.parametrize("source", cases())
def test_an_export_says_what_the_session_says(source: Source, exports: Exports) -> None:
    """The same texts, calls and results, each as often as in the session; a file without any may be refused."""
    done = exports.begin(source.path).result()
    refused_well = done.returncode == 1 and not done.stdout and b"not a session file" in done.stderr
    assert done.returncode == 0 or refused_well, done.stderr.decode(errors="replace")[-2000:]
    found = differences(source.read(), export.read(done.stdout.decode()))
    assert not found, "\n".join(found)


def differences(native: Sets, exported: Sets) -> list[str]:
    """Say what is missing and what is too much, up to five of each.

    A file with damaged lines may have more in its export, because katod recovers what it can of them.
    """
    lines = []
    for name in NAMES:
        ours, theirs = _comparable(native, name), _comparable(exported, name)
        lines += _some(f"{name}: missing", ours - theirs, native)
        if not native.other[INVALID]:
            lines += _some(f"{name}: too much", theirs - ours, exported)
    return lines


def _comparable(sets: Sets, name: str) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = getattr(sets, name)
    return Counter({key: n for key, n in counts.items() if key[0] != PLACEHOLDER})


def _some(title: str, counts: Counter[tuple[str, ...]], sets: Sets) -> list[str]:
    if not counts:
        return []
    shown = [f"  {n} x {key}: {sets.shown[key[-1]]!r}" for key, n in sorted(counts.items())[:5]]
    return [f"{title} {counts.total()}", *shown]


@pytest.mark.skipif(not CORPUS, reason=WITHOUT_CORPUS)
def test_what_is_left_out_is_written_down() -> None:
    """left_out.json names, per real session, every record type that becomes no event."""
    written, found = json.loads(LEFT_OUT.read_text("utf-8")), left_out()
    wrong = [name for name in sorted({*written, *found}) if written.get(name) != found.get(name)]
    shown = [f"{name}: {written.get(name)} is now {found.get(name)}" for name in wrong[:5]]
    assert not wrong, f"{len(wrong)} files differ (python -m tests.oracle.update)\n" + "\n".join(shown)

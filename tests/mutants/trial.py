"""Trials of changes: each is applied to a copy of katod, whose tests are run until one fails. The checkout stays as it is."""

import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

from tests.modules import ROOT as KATOD
from tests.mutants.changes import Change, apply, changes, described

ROOT: Final = KATOD.parent
PARTS: Final = ("record", "write", "command", "agents", "serve", "delivery", "matrix", "otlp")
LIMITS: Final = (90.0, 180.0, 400.0)  # seconds for the mirrored tests, for the part's, and for all others
_MEMORY_KB: Final = 6_000_000  # a change may make a loop endless that collects
_IN_SHELL: Final = f'ulimit -v {_MEMORY_KB} 2>/dev/null; exec "$@"'
_NO_TESTS: Final = 5  # the exit code of pytest
_OPTIONS: Final = ("-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider")

Verdict = Literal["killed", "lived", "undecided"]


class Mutant(NamedTuple):
    """One change of one module, whose path is relative to the checkout."""

    path: str
    change: Change

    @property
    def place(self) -> str:
        """Where it is, as `file:line`."""
        return f"{self.path}:{self.change.line}"

    @property
    def words(self) -> str:
        """What is changed, and in which function."""
        return f"{self.change.within}: {described((ROOT / self.path).read_text(encoding='utf-8'), self.change)}"


class Outcome(NamedTuple):
    """What became of a mutant; `by` is the test that failed, or why it is not known."""

    mutant: Mutant
    verdict: Verdict
    by: str = ""
    seconds: float = 0.0


def mutants(paths: Sequence[str] = PARTS) -> list[Mutant]:
    """Return all mutants of parts or modules of katod."""
    files = [file for path in paths for file in _modules(KATOD / path)]
    return [
        Mutant(str(file.relative_to(ROOT)), change)
        for file in files
        for change in changes(file.read_text(encoding="utf-8"))
    ]


def _modules(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def draw(seed: str, count: int, paths: Sequence[str] = PARTS) -> list[Mutant]:
    """Draw mutants by a seed: lines, then a kind of change on each, so that many constants do not count more."""
    by_line: dict[str, dict[str, list[Mutant]]] = {}
    for mutant in mutants(paths):
        by_line.setdefault(mutant.place, {}).setdefault(mutant.change.kind, []).append(mutant)
    chance = random.Random(seed)
    lines = chance.sample(sorted(by_line), min(count, len(by_line)))
    return [chance.choice(by_line[line][chance.choice(sorted(by_line[line]))]) for line in lines]


class Copy:
    """A copy of the checkout, in which one mutant after the other is tried: by so many `stages` of tests."""

    def __init__(self, folder: Path, stages: int = len(LIMITS)) -> None:
        self._stages = stages
        self._folder = folder / "katod"
        self._scratch = folder / "t"  # short: the path of a socket has at most 107 bytes
        without = shutil.ignore_patterns(".git", ".venv*", ".hypothesis", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, self._folder, ignore=without)

    def tried(self, mutant: Mutant, until: float = math.inf) -> Outcome:
        """Return whether a test fails with a mutant; undecided if that takes until then (of `time.monotonic`)."""
        began = time.monotonic()
        with self._with(mutant):
            verdict, by = self._verdict(mutant, until)
        return Outcome(mutant, verdict, by, time.monotonic() - began)

    def _verdict(self, mutant: Mutant, until: float) -> tuple[Verdict, str]:
        for tests, limit in list(zip(stages(mutant.path, self._folder), LIMITS, strict=True))[: self._stages]:
            left = until - time.monotonic()
            try:
                failed = self._failed(tests, min(limit, left)) if tests else ""
            except subprocess.TimeoutExpired:
                return ("killed", f"no end within {limit:.0f} s") if limit < left else ("undecided", "")
            if failed:
                return "killed", failed
        return "lived", ""

    @contextmanager
    def _with(self, mutant: Mutant) -> Iterator[None]:
        file = self._folder / mutant.path
        source = file.read_text(encoding="utf-8")
        try:
            _put(file, apply(source, mutant.change))
            yield
        finally:
            _put(file, source)

    def _failed(self, tests: list[str], seconds: float) -> str:
        """Run tests, and return the first one that fails, empty if none does; raises TimeoutExpired."""
        command = ["sh", "-c", _IN_SHELL, "sh", sys.executable, "-m", "pytest", *_OPTIONS, *tests]
        scratch = str(self._scratch)
        self._scratch.mkdir(exist_ok=True)
        with subprocess.Popen(
            command, cwd=self._folder, start_new_session=True, text=True, errors="replace",
            env=os.environ | {"HOME": scratch, "TMPDIR": scratch, "PYTHONPATH": str(self._folder)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                said, _ = process.communicate(timeout=max(seconds, 0))
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # what tests have started, too
        shutil.rmtree(scratch, ignore_errors=True)
        if process.returncode in (0, _NO_TESTS):
            return ""
        named = re.search(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
        return named[1] if named else f"pytest ended with {process.returncode}: {said[-300:]}"


def _put(file: Path, source: str) -> None:
    """Write a module, and remove what was compiled of it: Python may take that for the new one's, if both are as long."""
    file.write_text(source, encoding="utf-8")
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


def stages(path: str, root: Path = ROOT) -> tuple[list[str], list[str], list[str]]:
    """Return the tests for a module in the order in which they are run: those that mirror it, its part's, all others."""
    names = Path(path).with_suffix("").parts
    part = f"tests/{names[1]}"
    folder = root.joinpath("tests", *names[1:-1])
    tests = (root / part).rglob("test_*.py")
    mirrored = sorted(str(test.relative_to(root)) for test in tests if _mirrors(test, names, folder))
    return mirrored, [part, *(f"--deselect={name}" for name in mirrored)], [f"--ignore={part}", "tests"]


def _mirrors(test: Path, names: tuple[str, ...], folder: Path) -> bool:
    """Return whether tests are those of a module: by name, by what they import, or by the folder of its own package."""
    own = (f"test_{names[-1]}", f"test_{names[-2]}")
    is_beside = test.parent == folder and (test.stem in own or len(names) > 3)
    return is_beside or f"from {'.'.join(names)} import" in test.read_text(encoding="utf-8")


@contextmanager
def copies(count: int, stages: int) -> Iterator[list[Copy]]:
    """Yield copies of the checkout, which are removed at the end."""
    with TemporaryDirectory(prefix="m-") as folder:
        made = [Path(folder) / str(number) for number in range(count)]
        for one in made:
            one.mkdir()
        yield [Copy(one, stages) for one in made]


def try_all(
    drawn: Sequence[Mutant], jobs: int, until: float = math.inf, stages: int = len(LIMITS)
) -> Iterator[Outcome]:
    """Yield what becomes of mutants, some at a time, as it is known. Without all `stages`, some live that should not."""
    with copies(jobs, stages) as free, ThreadPoolExecutor(jobs) as pool:

        def tried(mutant: Mutant) -> Outcome:
            copy = free.pop()
            try:
                return copy.tried(mutant, until)
            finally:
                free.append(copy)

        yield from (done.result() for done in as_completed([pool.submit(tried, mutant) for mutant in drawn]))

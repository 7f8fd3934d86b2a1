"""An export contains the same conversation as its session file: nothing is lost, added or duplicated."""

import json
import os
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from katod.cli import app
from katod.errors import SelectionError
from tests.oracle import export
from tests.oracle.common import INVALID, NAMES, Sets
from tests.oracle.corpus import LEFT_OUT, Source, corpus_folder, corpus_sources, fixture_sources
from tests.oracle.update import left_out

CORPUS = corpus_sources()
WITHOUT_CORPUS = f"no real sessions under {corpus_folder()} (KATOD_CORPUS names another folder)"
SMALL = 300_000  # bytes; larger sessions are marked slow
PLACEHOLDER = "[trimmed for fixture]"  # reduced files share this id: nothing to compare by


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home without settings or sessions, and without the environment of whoever runs the tests."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("XDG_", "CLAUDE_", "CODEX_", "KATOD_"))]:
            patch.delenv(name)
        patch.setenv("HOME", str(folder))
        yield folder


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_an_export_of_a_fixture_says_what_the_session_says() -> None:
    """An export has the same texts, calls and results as its fixture; a file without any may be refused."""
    wrong = {source.name: found for source in fixture_sources() if (found := compared(source))}
    assert not wrong, listed(wrong)


@pytest.mark.skipif(not CORPUS, reason=WITHOUT_CORPUS)
@pytest.mark.usefixtures("home")
@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_an_export_of_a_real_session_says_what_the_session_says(large: bool) -> None:
    """An export of a session written by a real client has the same texts, calls and results."""
    chosen = [source for source in CORPUS if (source.path.stat().st_size > SMALL) is large]
    wrong = {source.name: found for source in chosen if (found := compared(source))}
    assert not wrong, listed(wrong)


def compared(source: Source) -> list[str]:
    """Return what is wrong with the export of a session, normally nothing."""
    done = CliRunner().invoke(app, ["export", str(source.path), "-f", "jsonl", "-o", "-", "--no-redact"])
    if isinstance(done.exception, SelectionError) and "not a session file" in str(done.exception) and not done.stdout:
        return []  # it exits with 1 and prints only its message
    if isinstance(done.exception, SelectionError) and "nothing was said" in str(done.exception):
        return differences(source.read(), export.read(done.stdout_bytes.decode()))  # nor has the oracle found anything
    if done.exit_code:
        return [f"exit code {done.exit_code}", *traceback.format_exception(done.exception)[-3:], done.stderr[-1000:]]
    return differences(source.read(), export.read(done.stdout_bytes.decode()))


def listed(wrong: dict[str, list[str]]) -> str:
    """Return a message that lists the sessions that differ, with details for the first ones."""
    shown = [f"{name}\n" + "\n".join(lines) for name, lines in list(wrong.items())[:5]]
    return "\n".join([f"{len(wrong)} sessions differ:", *shown, *list(wrong)[5:]])


def differences(native: Sets, exported: Sets) -> list[str]:
    """Return what is missing and what is extra, up to five of each.

    The export of a file with damaged lines may contain more, because katod recovers what it can from them.
    """
    lines = []
    for name in (*NAMES, *(["usages"] if native.usages else [])):
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
    shown = [f"  {n} x {key}: {sets.shown.get(key[-1], '')!r}" for key, n in sorted(counts.items())[:5]]
    return [f"{title} {counts.total()}", *shown]


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS, reason=WITHOUT_CORPUS)
def test_what_is_left_out_is_written_down() -> None:
    """left_out.json lists, for each real session, every record type that becomes no event."""
    written, found = json.loads(LEFT_OUT.read_text("utf-8")), left_out(CORPUS)
    wrong = [name for name in sorted({*written, *found}) if written.get(name) != found.get(name)]
    shown = [f"{name}: {written.get(name)} is now {found.get(name)}" for name in wrong[:5]]
    assert not wrong, f"{len(wrong)} files differ (python -m tests.oracle.update)\n" + "\n".join(shown)

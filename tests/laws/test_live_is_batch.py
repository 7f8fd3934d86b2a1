"""A live recording appends exactly what its export contains, whatever the chunks and restarts."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.support.records import SESSION, THREAD, Claude, line
from tests.support.world import World

ROOT = Path(__file__).parents[2]
CORPUS = Path(os.environ.get("KATOD_CORPUS") or ROOT / "../shared/corpus")
LARGEST = 400_000

COMMANDS = st.sampled_from(
    ["::start", "::stop", "::start", "::stop", "::start +thinking +tools", "::start other -tools", "::start log.jsonl",
     "::capture", "::capture all.jsonl", "::export", "::export copy", "first\n::stop\n::start\nlast", "::start ../x"]
)  # fmt: skip


@cache
def real_files(agent: str) -> list[Path]:
    """Return the session files of an agent: the fixtures, then those of the corpus."""
    folders = {"claude": ["claude"], "codex": ["codex", "realcli/codex"]}[agent]
    places = [ROOT / "fixtures" / agent, *(CORPUS / folder for folder in folders)]
    found = [Path(base) / name for place in places for base, _, names in os.walk(place) for name in names]
    names = [path for path in sorted(found) if path.suffix == ".jsonl" and 0 < path.stat().st_size <= LARGEST]
    return [path for path in names if agent == "claude" or _is_rollout(path)]


def _is_rollout(path: Path) -> bool:
    return b'"session_meta"' in path.read_bytes()[:4096]


def _typed(agent: str, records: list[bytes], number: int, text: str) -> bytes:
    """Return a record with a typed command, in the format of this file."""
    time = "2026-02-10T22:36:18.000Z"
    if agent == "claude":
        row: dict[str, Any] = {
            "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/home/me/app", "version": "2.1.39",
            "sessionId": SESSION, "gitBranch": "main", "type": "user", "uuid": f"command-{number}", "timestamp": time,
            "promptSource": "typed", "message": {"role": "user", "content": text},
        }  # fmt: skip
        return line(row)
    first = json.loads(records[0])
    if first.get("payload", {}).get("history_mode") == "paginated":
        item = {"type": "UserMessage", "id": f"c{number}", "content": [{"type": "text", "text": text}]}
        payload = {"type": "item_completed", "item": item}
        return line({"timestamp": time, "ordinal": 1_000_000 + number, "type": "event_msg", "payload": payload})
    return line({"timestamp": time, "type": "event_msg", "payload": {"type": "user_message", "message": text}})


@st.composite
def histories(draw: Any, agent: str) -> tuple[list[bytes], list[int], bool]:
    """Return a session with typed commands at random places, the offsets where katod looks, and `recording.auto`."""
    path = draw(st.sampled_from(real_files(agent)))
    data = path.read_bytes()
    records = [part + b"\n" for part in data.split(b"\n") if part.strip()]
    for number, text in enumerate(draw(st.lists(COMMANDS, min_size=1, max_size=6))):
        at = draw(st.integers(1, len(records)))
        records.insert(at, _typed(agent, records, number, text))
    whole = sum(map(len, records))
    cuts = sorted(draw(st.lists(st.integers(1, whole), max_size=4)))
    return records, [*cuts, whole], draw(st.booleans())


@pytest.mark.parametrize("agent", ["claude", "codex"])
@examples(3, 200)
@given(data=st.data())
def test_any_chunking_and_any_restart_gives_the_export(
    agent: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """After arbitrary chunks and restarts of katod, every output equals the export of its recording."""
    records, cuts, automatic = data.draw(histories(agent))
    with pytest.MonkeyPatch.context() as patch:
        world = World(tmp_path_factory.mktemp("world") / "home", patch)
        form = data.draw(st.sampled_from(["markdown", "jsonl", "otlp"]))  # which ends each range with a receipt
        world.configure(format=form, **({"auto": True} if automatic else {}))
        source = world.claude() if agent == "claude" else world.codex(THREAD)
        whole = b"".join(records)
        for begin, end in zip([0, *cuts], cuts, strict=False):
            source.append(whole[begin:end])
            world.once()
        world.once()
        world.assert_live_is_batch()
        assert "as recorded" in world.cli("verify") or not any(row.made for row in world.outputs())


@pytest.mark.slow
@pytest.mark.parametrize("switches", ["", "+tools", "-tools", "+tools +thinking"])
def test_calls_and_footers_wait_across_restarts(world: World, switches: str) -> None:
    """If katod is restarted after every record, calls that wait for results and footers are those of one run."""
    make = Claude()
    records = [
        make.user(f"::start n {switches}\ngo"),
        make.calls("t1", "Bash", command="npm test"), make.calls("t2", "Read", file_path="a"), make.says("meanwhile"),
        make.calls("t3", "Bash", command="git commit -m x"), make.calls("t4", "Edit", file_path="a", new_string="b"),
        make.result("t4", "ok"), make.result("t1", "Exit code 1\nno", error=True), make.result("t3", "[main 3f2a91c] x"),
        make.calls("t5", "TodoWrite", todos=[{"content": "Ship", "status": "pending"}]), make.result("t5", "ok"),
        make.result("t2", "late"), make.thinks("Hm."), make.calls("t6", "Read", file_path="b"),
        make.user("next"), make.result("t6", "later"), make.user("::stop"), make.says("unheard"),
    ]  # fmt: skip
    source = world.claude()
    for record in records:
        source.append(record)
        world.once()
        world.assert_live_is_batch()
    [path] = world.files()
    live = path.read_bytes()
    again = World(world.home.parent / "again")
    again.claude().append(*records)
    again.once()
    assert [one.read_bytes() for one in again.files()] == [live]
    assert world.assert_live_is_batch() == 1

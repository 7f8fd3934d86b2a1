"""`katod usage`: what is counted and printed, and what katod keeps of it."""

import os
import sqlite3
from contextlib import closing, suppress
from unittest.mock import MagicMock

import orjson
import pytest
from rich.cells import cell_len

from katod import daemon
from katod.cli import usage
from katod.cli.usage import usage_table
from katod.store.ledger import LEDGER_NAME
from katod.store.usagecache import CACHE_NAME, UsageCache
from katod.usage import collect, pricetable
from katod.usage.packed import VERSION
from katod.usage.pricing import NoPrices
from tests.support.records import OF_EACH_NATURE, SESSION, Claude, Codex, OpenCode, Pi, Zot, says, user
from tests.support.world import World
from tests.usage.test_pricing import Prices

WORDS = ("zanzibar", "quagga", "secretproject")
OTHER = "77777777-9d1e-4b7a-8c66-0123456789ab"


@pytest.fixture(autouse=True)
def without_prices(monkeypatch):
    """Have no prices, whatever is installed where the tests run."""
    monkeypatch.setattr(usage, "open_table", lambda _source: NoPrices())


@pytest.fixture
def used(world):
    """Return a world with a session of Claude Code and one of Pi on other days, in other projects."""
    make = world.claude()
    make.append(make.user("hi"), make.says("a"), make.says("b", message={"model": "m"}))
    other = Pi(world, cwd="/home/me/shop")
    entries = other.records(says("c"))
    counts = {"input": 1000, "output": 7, "cacheRead": 20, "cacheWrite": 3, "cost": {"total": 0.5}}
    entries[0]["message"]["usage"] = counts
    entries[0]["timestamp"] = "2026-02-12T10:00:00.000Z"
    other.put(*entries)
    return world


def rows(world, *options):
    """Return the rows of the JSON document: the name of each, and its figures."""
    found = orjson.loads(world.cli("usage", "--json", *options))
    return {row.get(found["by"], ""): row for row in found["rows"]}


def tokens(world, *options):
    return {name: row["tokens"]["total"] for name, row in rows(world, *options).items()}


def test_every_session_counts_recorded_or_not(used):
    """By day, project, model or agent."""
    assert tokens(used) == {"2026-02-10": 30, "2026-02-12": 1030}
    assert tokens(used, "--by", "agent") == {"claude": 30, "pi": 1030}
    assert tokens(used, "--by", "model") == {"claude-opus-4-6": 15, "m": 15, "glm-5": 1030}
    assert tokens(used, "--by", "project") == {"/home/me/app": 30, "/home/me/shop": 1030}


def test_the_sums_of_all_sessions_are_that_of_all_usage(used):
    """A sub-agent counts for its session; if the file of that is gone, it is listed with what both would have."""
    for number, session in enumerate((SESSION, OTHER, OTHER)):
        maker = Claude(used, session, subagent=f"a{number}")
        maker.append(maker.says("more", message={"id": f"of-{number}"}))
    whole = orjson.loads(used.cli("usage", "--json"))["total"]["tokens"]["total"]
    listed = [orjson.loads(row) for row in used.cli("sessions", "--all", "--usage", "--json").splitlines()]
    sums = {(row["agent"], row["session"]): row["tokens"]["total"] for row in listed if "tokens" in row}
    assert sums == {("pi", SESSION): 1030, ("claude", SESSION): 45, ("claude", OTHER): 30}
    assert sum(sums.values()) == whole


def test_options_choose_what_is_counted(used):
    """The days at both ends of a period are in it; a project is found by a part of its path."""
    assert tokens(used, "--since", "2026-02-11") == {"2026-02-12": 1030}
    assert tokens(used, "--until", "2026-02-11") == tokens(used, "--agent", "claude") == {"2026-02-10": 30}
    assert tokens(used, "--since", "2026-02-10", "--until", "2026-02-12") == tokens(used)
    assert tokens(used, "--since", "2026-02", "--until", "2026-02") == tokens(used)
    assert tokens(used, "--since", "2026-03") == tokens(used, "--until", "2026-01") == {}
    assert tokens(used, "--project", "ome/ME/shop") == {"2026-02-12": 1030}
    assert tokens(used, "--project", "elsewhere") == {}
    used.cli("usage", "--until", "someday", code=2)
    assert "--until" in used.said


def test_a_second_run_says_the_same(used):
    """Whatever was asked for before, and whatever is read again."""
    first = [rows(used, "--by", by) for by in ("project", "day", "model")]
    used.cli("usage", "--agent", "pi")
    assert [rows(used, "--by", by) for by in ("project", "day", "model")] == first
    (used.state / CACHE_NAME).unlink()
    assert [rows(used, "--by", by) for by in ("project", "day", "model")] == first


def test_a_pipe_gets_whole_numbers(used):
    """One line for each row: what it is, sessions, input, cache read, cache write, output, cost."""
    assert used.cli("usage", "--by", "agent").splitlines() == [
        "pi\t1\t1000\t20\t3\t7\t$0.50",
        "claude\t1\t20\t0\t0\t10\tunpriced",
    ]


def test_a_terminal_gets_a_table_with_a_total(used, monkeypatch):
    """What has no price is said, and how to change that."""
    monkeypatch.setattr(usage, "terminal_width", lambda: 80)
    shown = used.cli("usage", "--by", "project").splitlines()
    assert [line.split() for line in shown[:4]] == [
        ["project", "sessions", "input", "cache", "read", "cache", "write", "output", "cost"],
        ["shop", "1", "1.0k", "20", "3", "7", "$0.50"],
        ["app", "1", "20", "0", "0", "10", "unpriced"],
        ["total", "2", "1.0k", "20", "3", "17", "$0.50+"],
    ]
    assert shown[4] == ""
    assert shown[5] == "A cost without ~ is as the agents recorded it."
    assert shown[6].startswith("+ and unpriced: 30 tokens have no price: the extra `prices` is not installed (")
    assert len({cell_len(line) for line in shown[:4]}) == 1


def test_a_computed_cost_is_marked(used, monkeypatch):
    """With the table that it was computed with; the recorded one stays as it is."""
    monkeypatch.setattr(usage, "open_table", lambda _source: Prices())
    found = rows(used, "--by", "model")
    assert found["m"]["cost"] == {"computed": 0.00006}
    assert found["glm-5"]["cost"] == {"recorded": 0.5}
    assert (found["claude-opus-4-6"]["cost"], found["claude-opus-4-6"]["unpricedTokens"]) == ({}, 15)
    assert orjson.loads(used.cli("usage", "--json"))["prices"] == "a table"
    monkeypatch.setattr(usage, "terminal_width", lambda: 100)
    shown = used.cli("usage", "--by", "agent")
    assert "~$0.00+" in shown
    assert "~ is computed, in part or as a whole, with the prices of each day (a table)." in shown
    assert "+ and unpriced: 15 tokens of claude-opus-4-6 have no price in a table." in shown


def test_the_source_of_prices_is_configured(used, monkeypatch):
    """With `none`, an installed table is not used."""
    monkeypatch.setattr(usage, "open_table", pricetable.open_table)
    monkeypatch.setattr(pricetable, "version", lambda _name: "7.1")
    used.configure(**{"prices.source": "none"})
    assert "prices" not in orjson.loads(used.cli("usage", "--json", "--agent", "claude"))
    monkeypatch.setattr(usage, "terminal_width", lambda: 100)
    assert "30 tokens have no price: `prices.source` is none." in used.cli("usage", "--agent", "claude")
    used.configure(**{"prices.source": "auto"})
    monkeypatch.setattr(pricetable, "_rates", lambda _snapshot, _model, _when: None)
    monkeypatch.setattr(pricetable, "_package", MagicMock)
    assert orjson.loads(used.cli("usage", "--json", "--agent", "claude"))["prices"] == "genai-prices 7.1"


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_a_narrow_terminal_lacks_columns(used, monkeypatch, width):
    """Cost and output stay longest; no line is broken."""
    tables = []
    monkeypatch.setattr(usage, "usage_table", lambda *given: tables.append(usage_table(*given)) or tables[-1])
    monkeypatch.setattr(usage, "terminal_width", lambda: width)
    used.cli("usage", "--by", "project")
    lines = ["".join(span.text for span in line) for line in tables[0]]
    assert max(map(cell_len, lines)) <= width
    assert lines[0].endswith("cost")


def test_only_a_terminal_shortens_paths(used, monkeypatch):
    """At 80 columns, each of these rows has another name; for programs it is the whole path."""
    for number, place in enumerate(
        ("/home/me/projects/of/long/ago/wt/skills", "/home/me/projects/of/long/ago/b/skills")
    ):
        make = used.claude(f"7777777{number}-9d1e-4b7a-8c66-0123456789ab")
        make.append(make.user("hi", cwd=place), make.says("a", cwd=place, message={"id": f"msg_{number:020}"}))
    whole = set(rows(used, "--by", "project"))
    assert {line.partition("\t")[0] for line in used.cli("usage", "--by", "project").splitlines()} == whole
    assert "/home/me/projects/of/long/ago/wt/skills" in whole
    monkeypatch.setattr(usage, "terminal_width", lambda: 80)
    shown = [line.split()[0] for line in used.cli("usage", "--by", "project").splitlines()[1:5]]
    assert sorted(shown) == ["app", "b/skills", "shop", "wt/skills"]


def test_columns_are_left_out_before_two_names_look_alike(used, monkeypatch):
    """Names that are cut may be the same; if even that is too narrow, all columns stay that can."""
    for number in range(2):
        make, place = (
            used.claude(f"7777777{number}-9d1e-4b7a-8c66-0123456789ab"),
            f"/srv/a-project-with-a-long-name-{number}",
        )
        make.append(make.user("hi", cwd=place), make.says("a", cwd=place, message={"id": f"msg_{number:020}"}))
    shown = {}
    for width in (30, 70, 120):
        monkeypatch.setattr(usage, "terminal_width", lambda width=width: width)
        shown[width] = used.cli("usage", "--by", "project").splitlines()[:6]
        assert max(map(cell_len, shown[width])) <= width
    assert len({line.split()[0] for line in shown[70]}) == 6
    assert ("cache read" in shown[70][0], "input" in shown[70][0], "cache read" in shown[120][0]) == (False, True, True)
    assert shown[30][0].split() == ["project", "output", "cost"]


def test_without_sessions_there_is_nothing_to_count(world):
    """That is no failure."""
    assert world.cli("usage") == ""
    assert "no usage found" in world.said
    assert orjson.loads(world.cli("usage", "--json"))["rows"] == []


def test_what_cannot_be_read_is_named(used):
    """And the rest is counted."""
    used.claude(OTHER).append(b"").path.chmod(0)
    (used.home / ".claude/projects/-home-me-app/link.jsonl").symlink_to("nowhere")
    assert sum(tokens(used).values()) == 1060


# -- each answer once -----------------------------------------------------------------------------


def test_a_fork_of_claude_code_counts_what_is_new_in_it(world):
    """It has copies of all records of its session, with their ids and times."""
    make, fork = world.claude(), world.claude(OTHER)
    said = [make.user("hi"), make.says("a")]
    make.append(*said)
    fork.append(*(row | {"sessionId": OTHER} for row in said), fork.says("b", message={"id": "msg_new"}))
    found = rows(world, "--by", "agent")["claude"]
    assert (found["answers"], found["sessions"], found["tokens"]["total"]) == (2, 2, 30)


def test_short_ids_of_one_hour_are_one_answer(world):
    """A scripted model numbers its messages in each session: those of one number and hour cannot be told from copies.

    The one in the older file counts, so that a sum over such sessions, with the larger one of each, may be larger.
    """
    for number, (session, given) in enumerate(((Claude().session, 120), (OTHER, 250))):
        make = world.claude(session)
        make.append(make.says("a", message={"id": "msg_000001", "usage": {"input_tokens": given, "output_tokens": 5}}))
        os.utime(make.path, (number, number))
    assert tokens(world) == {"2026-02-10": 125}


def test_a_fork_of_zot_counts_what_is_new_in_it(world):
    """Its rows have no ids; alike ones in one session are several."""
    make = Zot(world).say(user("hi"), says("a"), says("b"))
    assert tokens(world, "--by", "agent") == {"zot": 30}
    fork = Zot(world, OTHER)
    meta = {"type": "meta", "meta": {"id": OTHER, "cwd": "/home/me/app", "parent": make.session, "fork_point": 3}}
    fork.append(meta, *make.items[1:], *fork.records(says("c")))
    assert tokens(world, "--by", "agent") == {"zot": 45}


def test_a_fork_of_opencode_counts_what_is_new_in_it(world):
    """It has copies of messages under new ids, with their times."""
    make = OpenCode(world).say(user("hi"), says("a"))
    before = tokens(world, "--by", "agent")
    fork = OpenCode(world, "ses_fork")
    fork.say(user("hi"))
    make.database.execute(
        "INSERT INTO message SELECT id || 'f', 'ses_fork', time_created, time_updated, data FROM message"
        " WHERE session_id != 'ses_fork' AND data LIKE '%assistant%'"
    )
    assert tokens(world, "--by", "agent") == before != {}


def test_a_subagent_is_a_part_of_its_session(world):
    """It has a file of its own, and no session more."""
    make = world.claude()
    make.append(make.user("hi"), make.says("a"))
    child = Claude(world, subagent="abc")
    child.append(child.says("b", isSidechain=True, agentId="abc", message={"id": "msg_child"}))
    thread = Codex(world)
    thread.append(*thread.opening())
    found = rows(world, "--by", "agent")
    assert (found["claude"]["sessions"], found["claude"]["answers"]) == (1, 2)


def test_the_cost_of_a_claude_session_is_what_it_recorded(world):
    """It is the last one, and the tokens that come with it are not added to those of the messages."""
    make = world.claude()
    model = {"inputTokens": 10, "outputTokens": 5, "costUSD": 0.25}
    cost = {"type": "cost-state", "sessionId": make.session, "totalCostUSD": 0.25}
    make.append(make.user("hi"), make.says("a"), cost | {"modelUsage": {"claude-opus-4-6": model}})
    make.append(
        make.says("b"), cost | {"totalCostUSD": 0.75, "modelUsage": {"claude-opus-4-6": model | {"costUSD": 0.75}}}
    )
    make.append(make.says("c", message={"model": "later"}))
    found = rows(world, "--by", "model")
    assert found["claude-opus-4-6"]["cost"] == {"recorded": 0.75}
    assert found["later"]["cost"] == {}
    assert sum(row["tokens"]["total"] for row in found.values()) == 45


def counted_from(make, start, *answers):
    """Return the client's sum over so many answers: 10 tokens in and 5 out each, for a quarter of a dollar."""
    model = {"inputTokens": 10 * sum(answers), "outputTokens": 5 * sum(answers), "costUSD": sum(answers) / 4}
    return {
        "type": "cost-state", "sessionId": make.session, "totalCostUSD": sum(answers) / 4, "startTime": start,
        "modelUsage": {"claude-opus-4-6": model},
    }  # fmt: skip


def test_what_two_terminals_cost_is_the_sum_of_both(world):
    """Each client counts from its own start; the file may be read in parts."""
    make = world.claude()
    make.append(make.user("hi"), make.says("a"), make.says("b"), make.says("c"), counted_from(make, 2000, 1))
    rows(world)
    make.append(counted_from(make, 1000, 2))
    (row,) = rows(world, "--by", "model").values()
    assert (row["cost"], row["unpricedTokens"]) == ({"recorded": 0.75}, 0)


def test_what_a_killed_client_used_is_not_in_the_recorded_cost(world):
    """It wrote no sum, and the one that went on with the session knows nothing of it: its tokens have no cost."""
    make = world.claude()
    make.append(make.user("hi"), make.says("a"), make.says("b"))
    make.append(make.user("go on"), make.says("c"), counted_from(make, 2000, 1))
    (row,) = rows(world, "--by", "model").values()
    assert row["cost"]["recorded"] == 0.25
    assert row["tokens"]["total"] == 45
    assert row["unpricedTokens"] == 30 or row["cost"]["computed"] > 0  # as the prices are installed or not


def test_a_cost_before_any_answer_is_counted(world):
    """It is of the day on which it was recorded, or else on which its file changed."""
    make = world.claude()
    model = {"inputTokens": 10, "outputTokens": 5, "costUSD": 0.25}
    cost = {"type": "cost-state", "sessionId": make.session, "totalCostUSD": 0.25, "modelUsage": {"m": model}}
    make.append(make.user("hi"), cost)
    os.utime(make.path, (1_770_800_000, 1_770_800_000))
    for _ in range(2):
        found = rows(world, "--since", "2026-02-01")
        assert {day: row["cost"] for day, row in found.items()} == {"2026-02-11": {"recorded": 0.25}}
    make.append(cost | {"timestamp": "2026-02-10T09:00:00.000Z", "totalCostUSD": 0.5})
    assert list(rows(world)) == ["2026-02-10"]


def test_hostile_numbers_spoil_no_sum(world):
    """Counts have a limit, a cost beyond all bounds is none, and a file may say that it changed in any year."""
    make = world.claude()
    most, model = 2**53, {"inputTokens": 10, "outputTokens": 5}
    counts = {"input_tokens": most, "output_tokens": most, "cache_read_input_tokens": most}
    costs = {"m": 1e300, "n": -5, "o": 10**300, "p": 0.5}
    cost = {
        "type": "cost-state", "sessionId": make.session, "totalCostUSD": 0.5,
        "modelUsage": {name: model | {"costUSD": own} for name, own in costs.items()},
    }  # fmt: skip
    answers = [make.says("a", message={"id": f"msg_{n:020}", "usage": counts, "model": "m"}) for n in range(2000)]
    make.append(make.user("hi"), *answers, cost)
    other = Pi(world)
    other.put(other.entry("session"), *other.records(says("c")))
    for seconds in (-(10**11), 10**10, 10**12):
        with suppress(OSError, OverflowError):
            os.utime(make.path, (seconds, seconds))
        found = rows(world, "--by", "model")
        assert found["m"]["tokens"]["total"] == 2000 * 3 * 10**9
        assert {name: row["cost"] for name, row in found.items() if row["cost"]} == {"p": {"recorded": 0.5}}
        assert found["glm-5"]["answers"] == 1


# -- what is kept ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", OF_EACH_NATURE, ids=lambda make: make.__name__)
def test_no_word_of_a_session_is_kept(world, make):
    """Nor its id, its path, or that of its project: numbers, names of models, and hashes."""
    maker = make(world, **({} if "cwd" in make.ABSENT else {"cwd": f"/home/me/{WORDS[2]}"}))
    maker.say(user(f"hello {WORDS[0]}"), says(f"yes {WORDS[1]}"))
    world.cli("usage", "--by", "project")
    kept = b"".join(path.read_bytes() for path in world.state.glob(f"{CACHE_NAME}*"))
    assert kept
    names = [*WORDS, maker.session, "/home/me"]
    assert [name for name in names if name.encode() in kept] == []


def test_forgetting_a_session_drops_what_is_kept_of_it(used):
    """And it is not kept again, although its file still counts."""
    before = tokens(used)
    used.once()
    used.cli("forget", "--yes", "claude:6f1c2c1e")
    sizes = []
    for _ in range(2):
        kept = usage_rows(used)
        sizes.append(len(kept))
        assert tokens(used) == before
    assert sizes == [1, 1]


def test_a_session_that_is_forgotten_during_a_run_leaves_nothing(used, monkeypatch):
    """The run read the session before it was forgotten."""
    used.once()
    tokens(used)
    (used.state / CACHE_NAME).unlink()
    pack, started = collect.pack_usage, []

    def packed(*given):
        if not started:
            started.append(True)
            used.cli("forget", "--yes", "claude:6f1c2c1e")
        return pack(*given)

    monkeypatch.setattr(collect, "pack_usage", packed)
    tokens(used)
    assert started
    assert len(usage_rows(used)) == 1


def test_what_a_run_stores_while_a_session_is_forgotten_is_dropped(used, monkeypatch):
    """It looked for tombstones before there was one."""
    used.once()
    tokens(used)
    kept, really = usage_rows(used), daemon.make_tombstones

    def make_tombstones(*given):
        with closing(UsageCache.open(used.state, VERSION, "UTC")) as cache:
            assert len(cache.sources()) == 1
            cache.save([(row, b"") for row in kept.values()], [])
        return really(*given)

    monkeypatch.setattr(daemon, "make_tombstones", make_tombstones)
    used.cli("forget", "--yes", "claude:6f1c2c1e")
    assert len(usage_rows(used)) == 1


def test_a_ledger_of_an_earlier_version_forgot_nothing(used):
    """It has no table of what was forgotten, and nothing but the daemon adds one."""
    with closing(sqlite3.connect(used.state / LEDGER_NAME)) as database:
        database.execute("DROP TABLE tombstones")
    assert sum(tokens(used).values()) == 1060


def usage_rows(world):
    with closing(UsageCache.open(world.state, VERSION, "UTC")) as cache:
        return cache.sources()


def test_without_a_state_directory_it_works_and_makes_none(tmp_path, monkeypatch):
    """A machine on which katod never ran stays as it is."""
    world = World(tmp_path / "new", monkeypatch, seen_empty=False)
    make = world.claude()
    make.append(make.says("a"))
    assert tokens(world) == {"2026-02-10": 15}
    assert not world.state.exists()

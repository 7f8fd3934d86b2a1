"""What engines answer from a data set: the same in all of them, and for usage what `katod usage` says."""

import json
import re
from pathlib import Path

import pytest

from tests.tables import many
from tests.tables.dataset import Tables

pytestmark = pytest.mark.slow
SESSIONS = 400
README = Path(__file__).parents[2] / "katod/tables/README.md"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Return the data set of a world with many sessions, written in two runs, and that world."""
    for name in ("duckdb", "polars", "chdb"):
        pytest.importorskip(name, reason="the extra `engines` is not installed")
    from tests.support.world import World  # noqa: PLC0415

    world = World(tmp_path_factory.mktemp("large"), seen_empty=False)
    paths = many.fill(world.home, SESSIONS)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in world.variables.items():
            patched.setenv(name, value)
        patched.setenv("TZ", "Europe/Berlin")
        world.variables["TZ"] = "Europe/Berlin"
        tables = Tables(world)
        late = paths[::40]
        kept = [path.read_bytes() for path in late]
        for path in late:
            path.unlink()
        assert world.katod("export", "--all", "-f", "parquet", "-o", str(tables.root)).returncode == 0
        for path, data in zip(late, kept, strict=True):
            path.write_bytes(data)
        done = world.katod("export", "--all", "-f", "parquet", "-o", str(tables.root))
    assert done.stdout.decode().startswith(f"wrote {len(late)}, unchanged {SESSIONS - len(late)}")
    return tables


def test_all_engines_give_the_same_answers(large):
    """To ten questions that people ask."""
    from tests.tables.engines import clickhouse_of, duckdb_of, normal, polars_of, questions  # noqa: PLC0415

    duckdb, clickhouse, polars = duckdb_of(large.root), clickhouse_of(large.root), polars_of(large.root)
    asked = questions()
    assert len(asked) == 10
    for what, question in asked.items():
        answers = normal(duckdb(question.sql))
        assert len(answers) > 1, what
        assert normal(clickhouse(question.sql)) == answers, what
        assert normal(question.polars(polars).collect().rows()) == answers, what


@pytest.mark.parametrize("by", ["day", "project", "model", "agent"])
def test_usage_is_what_katod_usage_counts(large, by):
    """Sessions, answers, tokens of each kind and recorded costs are equal."""
    from tests.tables.engines import duckdb_of  # noqa: PLC0415

    large.world.configure(**{"prices.source": "none"})
    expected = json.loads(large.world.katod("usage", "--by", by, "--json").stdout)["rows"]
    rows = duckdb_of(large.root)(
        f"""SELECT {by}, count(DISTINCT session), sum(answers), sum(input), sum(output), sum(cache_read),
            sum(cache_write), sum(reasoning), sum(cost_usd) FROM usage GROUP BY 1"""
    )
    assert len(expected) > 1
    assert {
        str(row[0]): (*row[1:8], round(row[8], 6) if row[8] is not None else None) for row in rows
    } == {
        row[by]: (
            row["sessions"], row["answers"],
            *(row["tokens"][kind] for kind in ("input", "output", "cacheRead", "cacheWrite", "reasoning")),
            row["cost"].get("recorded"),
        )
        for row in expected
    }  # fmt: skip


def test_the_queries_of_the_documents_run(large):
    """Each returns rows, as it is printed there."""
    from tests.tables.engines import duckdb_of  # noqa: PLC0415

    found = re.findall(r"```sql\n(.*?)```", README.read_text(), re.DOTALL)
    ask = duckdb_of(large.root)
    asked = [query.replace("~/tables", str(large.root)) for query in found]
    assert len(asked) >= 5
    for query in asked:
        for statement in filter(str.strip, query.split(";")):
            rows = ask(statement)
            assert rows or statement.lstrip().startswith("CREATE"), query

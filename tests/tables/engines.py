"""Three engines that read a data set, and ten questions that people ask: in SQL for two of them, and for Polars."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

Rows = list[tuple[Any, ...]]
TABLES: Final = ("sessions", "events", "messages", "calls", "usage", "edits")


class Question(NamedTuple):
    """A question, as SQL and for Polars, given the tables by their names."""

    sql: str
    polars: Callable[[dict[str, Any]], Any]


def duckdb_of(root: Path) -> Callable[[str], Rows]:
    """Return what answers SQL by DuckDB."""
    import duckdb  # noqa: PLC0415 - an extra

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        files = f"read_parquet('{root}/{table}/**/*.parquet', hive_partitioning = true)"
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {files}")
    return lambda sql: connection.execute(sql).fetchall()


def clickhouse_of(root: Path) -> Callable[[str], Rows]:
    """Return what answers SQL by ClickHouse."""
    import orjson  # noqa: PLC0415
    from chdb.session import Session  # noqa: PLC0415 - an extra

    session = Session()
    for table in TABLES:
        session.query(f"CREATE OR REPLACE VIEW default.{table} AS SELECT * FROM file('{root}/{table}/**/*.parquet')")

    def ask(sql: str) -> Rows:
        settings = "output_format_json_quote_64bit_integers=0, session_timezone='UTC', join_use_nulls=1"
        found = str(session.query(f"{sql} SETTINGS {settings}", "JSONCompact"))
        return [tuple(row) for row in orjson.loads(found)["data"]]

    return ask


def polars_of(root: Path) -> dict[str, Any]:
    """Return the tables as Polars reads them."""
    import polars as pl  # noqa: PLC0415 - an extra

    return {table: pl.scan_parquet(f"{root}/{table}/**/*.parquet", hive_partitioning=True) for table in TABLES}


def normal(rows: Rows) -> Rows:
    """Return rows so that those of all engines compare: in one order, times as text, fractions rounded."""
    return sorted((tuple(map(_value, row)) for row in rows), key=repr)


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "milliseconds")
    if isinstance(value, date):
        return value.isoformat()
    return round(float(value), 6) if isinstance(value, int | float) and not isinstance(value, bool) else value


def questions() -> dict[str, Question]:
    """Return the questions, by what they ask."""
    import polars as pl  # noqa: PLC0415 - an extra

    col, last = pl.col, {"descending": True}
    assert last
    wait = col("time").shift(-1).over("session") - col("time")
    answered = col("role").shift(-1).over("session") == "assistant"
    return {
        "what each model costs, by week": Question(
            """SELECT model, CAST(date_trunc('week', day) AS date) AS week, sum(input + cache_read + cache_write) AS prompt,
                      sum(output) AS answers, sum(cost_usd) AS cost
               FROM usage GROUP BY model, week""",
            lambda t: t["usage"].group_by("model", col("day").dt.truncate("1w").alias("week")).agg(
                (col("input") + col("cache_read") + col("cache_write")).sum(), col("output").sum(),
                pl.when(col("cost_usd").count() > 0).then(col("cost_usd").sum()),
            ),
        ),
        "which tools fail": Question(
            """SELECT name, count(*) AS calls, sum(CASE WHEN succeeded THEN 0 ELSE 1 END) AS failed
               FROM calls WHERE succeeded IS NOT NULL GROUP BY name""",
            lambda t: t["calls"].filter(col("succeeded").is_not_null()).group_by("name").agg(
                pl.len(), (~col("succeeded")).sum()
            ),
        ),
        "how long I wait for an answer, by agent": Question(
            """SELECT agent, count(*) AS waits, avg(date_diff('millisecond', time, next_time)) AS wait_ms
               FROM (SELECT agent, typed, time,
                            lead(time) OVER (PARTITION BY session ORDER BY number) AS next_time,
                            lead(role) OVER (PARTITION BY session ORDER BY number) AS next_role
                     FROM messages) AS m
               WHERE typed AND next_role = 'assistant' AND next_time IS NOT NULL GROUP BY agent""",
            lambda t: t["messages"].sort("session", "number").with_columns(wait.alias("wait"), answered.alias("is_answer"))
            .filter(col("typed") & col("is_answer") & col("wait").is_not_null()).group_by("agent")
            .agg(pl.len(), col("wait").dt.total_milliseconds().mean()),
        ),
        "what I typed about a lantern": Question(
            "SELECT session, time, text FROM messages WHERE typed AND text ILIKE '%LANTERN%'",
            lambda t: t["messages"].filter(col("typed") & col("text").str.contains("(?i)lantern")).select(
                "session", "time", "text"
            ),
        ),
        "which projects I work on": Question(
            "SELECT project, count(*) AS sessions, min(started) AS since, max(ended) AS until FROM sessions GROUP BY project",
            lambda t: t["sessions"].group_by("project").agg(pl.len(), col("started").min(), col("ended").max()),
        ),
        "what agents do": Question(
            "SELECT agent, family, count(*) AS calls FROM calls GROUP BY agent, family",
            lambda t: t["calls"].group_by("agent", "family").agg(pl.len()),
        ),
        "which files change most": Question(
            """SELECT path, count(*) AS edits, sum(added) AS added, sum(removed) AS removed
               FROM edits WHERE succeeded GROUP BY path""",
            lambda t: t["edits"].filter(col("succeeded")).group_by("path").agg(
                pl.len(), col("added").sum(), col("removed").sum()
            ),
        ),
        "what sessions used that had a failing call": Question(
            """SELECT u.project AS project, count(DISTINCT u.session) AS sessions, sum(u.output) AS output
               FROM usage AS u JOIN (SELECT DISTINCT session FROM calls WHERE NOT succeeded) AS f
               ON u.session = f.session GROUP BY u.project""",
            lambda t: t["usage"].join(
                t["calls"].filter(~col("succeeded")).select("session").unique(), on="session"
            ).group_by("project").agg(col("session").n_unique(), col("output").sum()),
        ),
        "which answers are the longest, by model": Question(
            "SELECT model, max(length(text)) AS longest FROM messages WHERE role = 'assistant' GROUP BY model",
            lambda t: t["messages"].filter(col("role") == "assistant").group_by("model").agg(
                col("text").str.len_bytes().max()
            ),
        ),
        "how much there is of each machine, agent and month": Question(
            """SELECT machine, agent, month, count(DISTINCT session) AS sessions, count(*) AS events
               FROM events GROUP BY machine, agent, month""",
            lambda t: t["events"].group_by("machine", "agent", "month").agg(col("session").n_unique(), pl.len()),
        ),
    }  # fmt: skip

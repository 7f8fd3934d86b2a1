"""The page of tokens and cost: the same numbers as `katod usage`, of what is served, and nothing else."""

import re

import orjson
import pytest

from katod.store.usagecache import CACHE_NAME
from katod.usage.grouping import BY
from tests.serve.test_app import run
from tests.support.records import Claude, Pi, says, user

OTHER = "77777777-9d1e-4b7a-8c66-0123456789ab"
SECRET = "sk-ant-api03-" + "Ab3dE5gH7jK9mN1p" * 5


@pytest.fixture
def used(world):
    """Return a world with a session of Claude Code that is not recorded, and one of Pi, with a cost, on another day."""
    make = Claude(world)
    make.append(make.user("zanzibar"), make.says("a"), make.says("b", message={"model": "m"}))
    other = Pi(world, cwd="/home/me/shop")
    entries = other.records(says("quagga"))
    entries[0]["message"]["usage"] = {
        "input": 1000,
        "output": 7,
        "cacheRead": 20,
        "cacheWrite": 3,
        "cost": {"total": 0.5},
    }
    entries[0]["timestamp"] = "2026-02-12T10:00:00.000Z"
    other.put(*entries)
    return world


def page(world, address="/usage", **options):
    """Return the status and the text of the page."""

    async def ask(app):
        answer = await app.ask(address)
        return answer.status, answer.body.decode()

    return run(world, ask, **options)


def shown(text):
    """Return the numbers of each table by its rows, as the page has them in full, and what stands for the cost."""
    tables = {}
    for by, body in re.findall(r'aria-labelledby="by-(\w+)">.*?<tbody>(.*?)</tbody>', text, re.DOTALL):
        rows = re.findall(
            r'<th scope="row">(?:<a [^>]*>)?(.*?)(?:</a>)?</th>(.*?)<td>([^<]*)</td></tr>', body, re.DOTALL
        )
        tables[by] = {name: (list(map(int, re.findall(r'value="(\d+)"', cells))), cost) for name, cells, cost in rows}
    return tables


def counted(world, by, *options):
    """Return the same of `katod usage --json`."""
    rows = orjson.loads(world.cli("usage", "--json", "--by", by, *options))["rows"]
    kinds = ("input", "cacheRead", "cacheWrite", "output")
    return {row.get(by, "unknown"): [row["sessions"], *(row["tokens"][kind] for kind in kinds)] for row in rows}


def test_it_has_the_numbers_of_the_command(used):
    """By day, project, model and agent."""
    status, text = page(used)
    tables = shown(text)
    assert status == 200
    assert list(tables) == list(BY)
    for by in BY:
        assert {name: counts for name, (counts, _) in tables[by].items()} == counted(used, by)
    assert tables["agent"]["pi"][1] == "$0.50"
    assert tables["agent"]["claude"][1] == "unpriced"
    assert "30 tokens have no price: `prices.source` is none." in text


def test_a_project_has_numbers_of_its_own(used):
    """Its name leads to them, and they go with the period; what is no project has none."""
    _, text = page(used, "/usage?since=2026-02-01")
    assert 'href="/usage?since=2026-02-01&amp;project=%2Fhome%2Fme%2Fshop"' in text
    _, text = page(used, "/usage?since=2026-02-01&project=/home/me/shop")
    month = counted(used, "month", "--project", "/home/me/shop")
    assert {name: counts for name, (counts, _) in shown(text)["month"].items()} == month
    assert list(shown(text)["agent"]) == ["pi"]
    assert "<h1>Usage of /home/me/shop</h1>" in text
    assert '<a href="/usage?since=2026-02-01">All projects</a>' in text
    assert 'href="/usage?since=7d&amp;project=%2Fhome%2Fme%2Fshop"' in text
    assert "No usage was found." in page(used, "/usage?project=%3Cb%3Enowhere")[1]
    assert "<b>nowhere" not in page(used, "/usage?project=%3Cb%3Enowhere")[1]


def test_a_period_is_chosen_by_links(used):
    """The day that it begins with is named; what is no time is refused."""
    _, text = page(used, "/usage?since=2026-02-11")
    assert list(shown(text)["day"]) == ["2026-02-12"] == list(counted(used, "day", "--since", "2026-02-11"))
    assert "Since 2026-02-11. " in text
    assert 'href="/usage?since=2026-02-11" aria-current="true"' in text
    assert 'href="/usage?since=30d"' in text
    assert page(used, "/usage?since=someday")[0] == 400
    assert page(used, "/usage?since=0001-01-01")[0] in (200, 400)


def test_without_usage_it_says_so(world):
    """There is no table, and no 0."""
    status, text = page(world)
    assert (status, shown(text)) == (200, {})
    assert "No usage was found." in text


def test_only_what_is_served_counts(used):
    """Where sessions that were not recorded are not served, they are not counted either."""
    assert shown(page(used, everything=False)[1]) == {}
    used.once()
    recorded = Pi(used, OTHER, cwd="/home/me/app")
    recorded.say(user("::start shop\nAdd a login page."), says("yes"))
    used.once()
    assert list(shown(page(used, everything=False)[1])["agent"]) == ["pi"]
    assert "Only sessions that were recorded." in page(used, everything=False)[1]
    assert set(shown(page(used)[1])["agent"]) == {"claude", "pi"}


def test_a_forgotten_session_is_not_counted(used):
    """As soon as it was forgotten."""
    used.once()
    used.cli("forget", "--yes", f"claude:{Claude(used).session}")
    used.once()
    assert list(shown(page(used)[1])["agent"]) == ["pi"]


def test_no_word_of_a_session_is_shown_or_kept(used):
    """Only numbers, and the names of projects and models."""
    _, text = page(used)
    kept = (used.state / CACHE_NAME).read_bytes()
    for word in ("zanzibar", "quagga"):
        assert word not in text
        assert word.encode() not in kept
    assert b"/home/me/shop" not in kept


def test_names_of_projects_are_redacted_and_escaped(world):
    """A path may contain anything."""
    make = Claude(world, cwd=f"/home/me/<b>{SECRET}")
    make.append(make.user("hi"), make.says("a"))
    _, text = page(world)
    assert "/home/me/&lt;b&gt;" in text
    assert SECRET not in text


def test_the_list_leads_to_it(used):
    """People find it from the first page."""
    assert '<a href="/usage">' in page(used, "/")[1]

"""Lists of sessions and projects."""

from katod.serve.listing import Wanted, counted, part, projects

ROWS = [
    {"id": "1", "projectPath": "/a", "source": "user", "lastActivityAt": "2026-02-10T10:00:00Z"},
    {"id": "2", "projectPath": "/a", "source": "agent", "lastActivityAt": "2026-02-10T11:00:00Z", "parentSessionId": "1"},
    {"id": "3", "projectPath": "/b/c", "source": "user", "lastActivityAt": "2026-02-10T12:00:00Z"},
    {"id": "4", "projectPath": "", "source": "user", "lastActivityAt": "2026-02-10T12:00:00Z"},
]  # fmt: skip


def ids(wanted):
    return "".join(row["id"] for row in ROWS if wanted.has(row))


def test_sessions_are_chosen():
    """By project, by who began them, and by the session they come from."""
    assert ids(Wanted()) == ids(Wanted(source="all")) == "1234"
    assert (ids(Wanted("/a")), ids(Wanted(""))) == ("12", "4")
    assert (ids(Wanted(source="agent")), ids(Wanted(source="user, agent"))) == ("2", "1234")
    assert (ids(Wanted(source="helper")), ids(Wanted(parent="1"))) == ("", "2")


def test_a_part_of_a_list_says_whether_there_is_more():
    """And how much there is in all."""
    assert part(ROWS[1:3], 1, 4) == {"sessions": ROWS[1:3], "total": 4, "hasMore": True}
    assert part(ROWS[2:4], 2, 4)["hasMore"] is False


def test_projects_are_those_of_the_sessions():
    """The latest first; where nobody noted one, there is none."""
    assert projects(ROWS) == [
        {"path": "/b/c", "name": "c", "lastUsed": "2026-02-10T12:00:00Z", "sessionCount": 1},
        {"path": "/a", "name": "a", "lastUsed": "2026-02-10T11:00:00Z", "sessionCount": 2},
    ]


def test_sessions_are_counted():
    """By who began them."""
    assert counted(ROWS, "") == {"total": 4, "user": 3, "agent": 1, "helper": 0}
    assert counted(ROWS, "user,agent")["count"] == 4

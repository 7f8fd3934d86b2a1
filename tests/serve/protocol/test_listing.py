"""Lists of sessions and projects."""

from katod.serve.protocol.listing import SessionFilter, counted, part, projects

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
    assert ids(SessionFilter()) == ids(SessionFilter(source="all")) == "1234"
    assert (ids(SessionFilter("/a")), ids(SessionFilter(""))) == ("12", "4")
    assert (ids(SessionFilter(source="agent")), ids(SessionFilter(source="user, agent"))) == ("2", "1234")
    assert (ids(SessionFilter(source="helper")), ids(SessionFilter(parent="1"))) == ("", "2")


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


def test_a_project_is_as_recent_as_its_latest_session():
    """Whichever of its sessions is met first; the root directory has no other name than its path."""
    rows = [
        {"projectPath": path, "lastActivityAt": f"2026-02-10T{hour}:00:00Z"}
        for path, hour in [("/", 12), ("/a", 10), ("/a", 13), ("/a", 11)]
    ]
    assert projects(rows) == [
        {"path": "/a", "name": "a", "lastUsed": "2026-02-10T13:00:00Z", "sessionCount": 3},
        {"path": "/", "name": "/", "lastUsed": "2026-02-10T12:00:00Z", "sessionCount": 1},
    ]


def test_sessions_are_counted():
    """By who began them."""
    assert counted(ROWS, "") == {"total": 4, "user": 3, "agent": 1, "helper": 0}
    assert counted(ROWS, "user,agent")["count"] == 4

"""What `katod status` shows people, from plain data."""

import pytest

from katod.cli.overview import Surroundings, overview, size
from katod.formats.text.when import ago
from katod.store.rows import UNNAMED

NOW = 1_770_763_000.0  # 2026-02-10 22:36:40 UTC
KEY = "claude:6f1c2c1e-8a53-4c3e-9b5e-0a1d5f8f2c11"
ONE = {
    "id": 1, "session": KEY, "agent": "claude", "project": "/home/me/shop", "title": "Add a login page",
    "since": "2026-02-10T22:30:00.000Z", "changed": "2026-02-10T22:34:00+00:00", "output": "/home/me/katod/shop/login.md",
    "waiting": False, "parked": False, "format": "markdown", "bytes": 12_345, "redactions": 0,
}  # fmt: skip
EMPTY = {
    "daemon": {"running": True, "pid": 7}, "delivery": {"on": False}, "otlp": {"on": False}, "rescued": 0, "machines": [], "sources": 1203, "recordings": [], "blocked": [], "ended": [], "interrupted": [], "parked": [], "missing": [],
    "refused": [], "problems": [], "nearMisses": [], "projects": [],
}  # fmt: skip


def shown(width=None, *, everything=False, **changes):
    """Return the view of a status as text."""
    around = Surroundings(NOW, "UTC", "/home/me", width, "katod service start")
    lines = overview(EMPTY | changes, around, everything=everything)
    return "\n".join("".join(span.text for span in spans).rstrip() for spans in lines)


def test_recordings_are_a_table_with_their_files():
    """Title, project, agent, since when, size, last write; below it the path, from the home directory on."""
    assert (
        shown(recordings=[ONE])
        == """\
katod is running (PID 7), 1,203 session files known

   #  recording         project  agent   since  size   last write
●  1  Add a login page  shop     claude  22:30  12 kB  2 min ago
       ~/katod/shop/login.md"""
    )


def test_it_fits_the_terminal():
    """The title is cut; the path stays whole, so that it can be copied."""
    long = ONE | {"title": "Add a login page " * 9}
    lines = shown(72, recordings=[long]).splitlines()
    assert all(len(line) <= 72 for line in lines)
    assert "…" in lines[3]
    assert lines[4].strip() == "~/katod/shop/login.md"


def test_a_daemon_that_is_down_is_told_how_to_start():
    """The first lines say that nothing is recorded, and the command that changes it."""
    text = shown(daemon={"running": False})
    assert text.startswith("katod is not running")
    assert "nothing is recorded until you start it: `katod service start`" in text


def test_other_machines_are_named_with_what_they_share():
    """From where, how much, and since when it is so."""
    row = {
        "machine": "laptop",
        "folder": "/home/me/shared/laptop",
        "sessions": 1203,
        "exported": "2026-02-10T21:00:00.000Z",
    }
    assert "other machines\n  laptop: 1,203 sessions in ~/shared/laptop, exported 21:00" in shown(machines=[row])
    empty = {"machine": "laptop", "folder": "/home/me/shared/laptop", "sessions": 0}
    assert shown(machines=[empty]).endswith("laptop: 0 sessions in ~/shared/laptop")


def test_signs_tell_the_state_of_a_recording():
    """Recording, waiting for the words that name it, parked."""
    waiting = ONE | {"id": 2, "waiting": True, "title": ""}
    parked = ONE | {"id": 3, "parked": True}
    lines = shown(recordings=[ONE, waiting, parked]).splitlines()
    assert [line[0] for line in lines[3::2]] == ["●", "○", "!"]
    assert UNNAMED in lines[6]


def test_recordings_that_ended_with_the_state_directory_are_named():
    """When that was noticed, the file or that there is none yet, the session, what to do, and how to hide it."""
    one = {"time": "2026-02-10T22:30:00.000Z", "id": 1, "session": KEY, "output": "/home/me/katod/shop/login.md"}
    text = shown(interrupted=[one, one | {"id": 2, "output": ""}])
    assert "ended, because katod's state directory was removed while it ran" in text
    assert "22:30  ~/katod/shop/login.md (claude:6f1c2c1e)" in text
    assert UNNAMED in text
    assert "type ::start in its chat to record it again" in text
    assert "`katod status --clear` clears this list" in text


def test_sleeping_recordings_are_counted():
    """After two weeks without a word; with `everything` they are shown, and a parked one always is."""
    old = ONE | {"changed": "2026-01-10T22:34:00+00:00"}
    assert "1 more recording without new messages for two weeks (--all shows them)" in shown(recordings=[old])
    assert "login.md" not in shown(recordings=[old])
    assert "login.md" in shown(recordings=[old], everything=True)
    assert "login.md" in shown(recordings=[old | {"parked": True}])


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("misspelt", "type `::start`"), ("indented", "begin the line with `::start`"), ("extra words", "quote a name"),
        ("unknown option", "+thinking"), ("pasted", "by hand"), ("delegated", "yourself"),
    ],
)  # fmt: skip
def test_a_near_miss_has_a_hint(kind, hint):
    """What to type instead, and how to hide it once read."""
    miss = {"session": KEY, "time": "2026-02-10T22:30:00.000Z", "kind": kind, "command": "start"}
    text = shown(nearMisses=[miss])
    assert "in claude:6f1c2c1e\n" in text
    assert hint in text
    assert "katod status --clear" in text


def test_what_needs_attention_has_its_section():
    """Parked, incomplete, problems and refused commands are named only where there are any."""
    rows = {
        "parked": [{"id": 1, "output": "/home/me/a.md", "problem": "No space left on device", "attempts": 2}],
        "missing": [{"id": 1, "output": "/home/me/a.md", "events": 1}],
        "problems": [{"path": "/x", "problem": "Permission denied"}],
        "refused": [{"session": KEY, "time": "", "command": "start", "reason": "outside"}],
    }
    text = shown(**rows)
    for line in (
        "~/a.md: No space left on device", "~/a.md: 1 event missing or changed", "/x: Permission denied",
        "::start in claude:6f1c2c1e: outside",
    ):  # fmt: skip
        assert line in text
    assert "parked" not in shown()


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (1_234, "1.2 kB"), (12_345, "12 kB"), (3_400_000, "3.4 MB")]
)
def test_sizes(number, text):
    """Two digits are enough."""
    assert size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(5, "just now"), (-5, "just now"), (120, "2 min ago"), (90_000, "1 d ago")]
)
def test_ages(seconds, text):
    """In the largest unit."""
    assert ago(seconds) == text


def test_the_state_of_a_session_is_a_column():
    """Only if it is known of any; one that is stalled is called that."""
    working, stalled = ONE | {"state": "working"}, ONE | {"id": 2, "state": "working", "stalled": True}
    text = shown(recordings=[working, stalled, ONE | {"id": 3}])
    assert [line.split("claude")[-1].split()[0] for line in text.splitlines() if "claude" in line][:2] == [
        "working",
        "stalled",
    ]
    assert " state " in text
    assert " state " not in shown(recordings=[ONE])


def test_what_is_waited_for_is_said_below():
    """The recordings that wait come first."""
    blocked = ONE | {"id": 2, "state": "blocked", "waitsFor": "permission", "toolName": "Bash"}
    lines = shown(recordings=[ONE | {"state": "working"}, blocked]).splitlines()
    assert lines[3].startswith("●  2")
    assert lines[4].strip() == "waits for your permission to use Bash"


def test_sessions_that_wait_are_named_where_nothing_is_recorded():
    """With their agent, and what they wait for."""
    one = {"agent": "claude", "session": KEY.partition(":")[2], "project": "/home/me/shop", "title": "Add a login page"}
    text = shown(blocked=[one | {"state": "blocked", "waitsFor": "question"}])
    assert 'Claude Code in shop waits for your answer · "Add a login page" (claude:6f1c2c1e)' in text


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80])
def test_the_state_is_the_last_column_to_go(width):
    """However narrow the terminal is."""
    text = shown(width, recordings=[ONE | {"state": "blocked"}, ONE | {"id": 2, "state": "working"}])
    rows = [line for line in text.splitlines() if line.startswith("●")]
    assert all(len(row) <= width for row in rows)
    assert ["blocked" in rows[0], "working" in rows[1]] == [True, True]


def test_a_long_title_is_cut_without_a_terminal_too():
    """The rows of the table are as long as the longest."""
    assert max(map(len, shown(recordings=[ONE | {"title": "word " * 70}]).splitlines())) < 140


ROOM = {
    "on": True, "room": "!r:example.org", "homeserver": "https://example.org", "sent": 1203, "refused": 0,
    "unfinished": [1], "incomplete": [], "stopped": False,
}  # fmt: skip


def test_a_delivery_is_one_line_while_it_works():
    """With what was sent, and what was refused; while events wait, since when and why."""
    assert "\ndelivered to !r:example.org: 1,203 events\n" in f"{shown(delivery=ROOM)}\n"
    assert "1,203 events, 2 events refused" in shown(delivery=ROOM | {"refused": 2})
    waiting = ROOM | {"since": "2026-02-10T22:31:00Z", "problem": "the homeserver answers 502"}
    assert (
        "  waiting since 22:31: the homeserver answers 502\n  → nothing is lost while the room stays the same"
        in shown(delivery=waiting)
    )
    assert "  stopped since 22:31:" in shown(delivery=waiting | {"stopped": True})
    incomplete = ROOM | {"incomplete": [{"id": 3, "problem": "gone"}]}
    assert "  recording 3 is not complete: gone" in shown(delivery=incomplete)
    assert "delivered" not in shown()
    spans = {"on": True, "endpoint": "http://127.0.0.1:4318", "sent": 7, "refused": 1, "stopped": False}
    assert "delivered to http://127.0.0.1:4318: 7 spans, 1 span refused" in shown(otlp=spans)


def test_recordings_for_another_destination_are_one_line():
    """Whether anything is delivered now or not: nothing is sent of them."""
    rooms = [{"room": "!old:example.org", "ids": [1, 2]}, {"room": "!older:example.org", "ids": [2, 3]}]
    said = "  not sent: 3 recordings, started for another room (!old:example.org, !older:example.org)"
    assert said in shown(delivery=ROOM | {"elsewhere": rooms}).splitlines()
    assert said in shown(delivery={"on": False, "elsewhere": rooms}).splitlines()

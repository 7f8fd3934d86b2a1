"""What the settings decide about recordings."""

import pytest

from katod import __version__
from katod.config import ContentSettings, OutputSettings, RecordingSettings, Settings
from katod.formats.redact.version import RULES_VERSION
from katod.model import Options
from katod.record.policy import Policy, repository_of
from tests.looping import each
from tests.support.worktrees import add_worktree, make_repository


def policy(**recording):
    return Policy.of(Settings(recording=RecordingSettings(**recording)), ())


GLOBS = [
    ("/home/me/app", "/home/me/app", True),
    ("/home/me/app", "/home/me/app/below/it", True),
    ("/home/me/app", "/home/me/apple", False),
    ("/home/me/app/", "/home/me/app", True),
    ("/home/me/appX", "/home/me/app", False),
    ("/home/*/app", "/home/you/app", True),
    ("~/app", "/home/me/app", True),
    ("~/APP", "/home/me/app", False),
    ("D:/work/*", "d:\\\\Work\\\\shop\\\\src", True),
    ("D:\\work", "D:/work", True),
    ("D:/work", "E:/work", False),
    ("/home/me/app", "", False),
    ("*", "", False),
]


@each(("glob", "cwd", "expected"), GLOBS)
def test_a_glob_matches_a_project_and_all_below_it(monkeypatch, glob, cwd, expected):
    """Globs work the same for exclusion and auto-recording; without a directory nothing matches."""
    monkeypatch.setenv("HOME", "/home/me")
    assert policy(exclude=("/elsewhere", glob)).excludes(cwd) is expected
    assert policy(auto=("/elsewhere", glob)).auto_records(cwd) is expected


@each(
    ("recording", "records", "may"),
    [
        ({}, False, False),
        ({"auto": True}, True, True),
        ({"auto": ("/other",)}, False, True),
        ({"auto": ("/app",)}, True, True),
        ({"auto": ()}, False, False),
        ({"subagents": True}, False, True),
    ],
)
def test_a_session_is_auto_recorded_where_the_settings_say_so(recording, records, may):
    """If no session may be auto-recorded, none has to be translated to find its project."""
    found = policy(**recording)
    assert (found.auto_records("/app"), found.may_auto_record()) == (records, may)


def test_a_project_is_the_same_however_it_is_spelled(tmp_path, monkeypatch):
    """Exclusion and auto-recording compare directories: what a link leads to, and `..`, of the path of either."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data" / "secret").mkdir(parents=True)
    (tmp_path / "work").symlink_to(tmp_path / "data")
    places = [str(tmp_path / name / "secret") for name in ("data", "work", "x/../data")]
    for glob in ("~/work/secret", "~/data/secret", "~/x/../work/secret/**", "~/work/*"):
        for place in places:
            assert policy(exclude=(glob,)).excludes(place), (glob, place)
            assert policy(auto=(glob,)).auto_records(place), (glob, place)


def test_a_worktree_is_one_by_whatever_link_it_is_reached(tmp_path):
    """Also a folder in it, which a link leads to from elsewhere."""
    repository = make_repository(tmp_path / "shop")
    worktree = add_worktree(repository, tmp_path / "trees" / "feature")
    (worktree / "src").mkdir()
    (tmp_path / "link").symlink_to(worktree / "src")
    for place in (worktree / "src", tmp_path / "link", tmp_path / "x" / ".." / "link"):
        assert repository_of(str(place)) == str(repository / "src")


def test_a_project_that_is_excluded_is_no_matter_of_auto_recording():
    """Exclusion and auto-recording are independent settings."""
    assert not policy(auto=True).excludes("/app")
    assert policy(auto=True, exclude=("/app",)).auto_records("/app")


@each(
    ("recording", "doubt"),
    [
        ({}, ""),
        ({"exclude": ("/private",)}, ""),
        ({"auto": True}, ""),
        ({"auto": True, "exclude": ("/private",)}, "its project is not known, and `recording.exclude` may exclude it"),
        ({"auto": ("/app",)}, "its project is not known, and `recording.auto` only lists some"),
    ],
)
def test_a_session_of_an_unknown_project_is_doubted_if_projects_matter(recording, doubt):
    """Only if sessions are auto-recorded at all."""
    assert policy(**recording).doubt_without_project() == doubt


def test_without_globs_no_directory_is_looked_into(monkeypatch):
    """To which repository a directory belongs is read from the disk."""
    monkeypatch.setattr("katod.record.policy.repository_of", lambda _: pytest.fail("it was looked into"))
    assert not policy().excludes("/app")
    assert not policy(exclude=("/app",)).excludes("")


def test_a_recording_freezes_the_options_of_its_time():
    """The options include the version of katod and of its redaction rules."""
    shown = {"max_result": 7, "usage": True, "subagent_reports": True}
    content = ContentSettings(thinking=True, tools="full", attachments="save", redact=False, **shown)
    settings = Settings(OutputSettings(time_zone="Asia/Tokyo"), RecordingSettings(subagents=True), content)
    assert Policy.of(settings, ()).options() == Options(
        thinking=True, tools="full", attachments="save", redact=False, time_zone="Asia/Tokyo", subagents=True,
        recorder=f"katod {__version__}", rules=RULES_VERSION, receipts=True, **shown,
    )  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize(
    ("configured", "given", "shown"),
    [
        ("auto", None, ("full", "summary", "summary")),
        ("auto", "none", ("none", "none", "none")),
        ("summary", None, ("summary", "summary", "summary")),
        ("none", None, ("none", "none", "none")),
        ("full", None, ("full", "full", "full")),
        ("none", "full", ("full", "full", "full")),
    ],
)
def test_pages_have_results_unless_something_else_is_configured(configured, given, shown):
    """What is configured counts for every format, and what a command says more than that."""
    found = Policy.of(Settings(content=ContentSettings(tools=configured)), ())
    forms = ("html", "markdown", "jsonl")
    assert tuple(found.export_options(form, tools=given).tools for form in forms) == shown
    if given is None:
        assert tuple(found.options(form).tools for form in forms) == shown


@pytest.mark.whole
@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_the_local_zone_is_resolved_once(monkeypatch, zone):
    """A later change of the system's time zone does not affect a recording."""
    monkeypatch.setenv("TZ", zone)
    found = Policy.of(Settings(), ())
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert (found.zone, found.options().time_zone) == (zone, zone)


def test_an_export_shows_more_than_the_settings_if_it_is_asked_to():
    """Thinking is shown by either, tools as they are asked for, and secrets are shown only if both say so."""
    plain, full = ContentSettings(), ContentSettings(thinking=True, tools="full", redact=False)
    asked = [
        (content, thinking, tools, redact)
        for content in (plain, full)
        for thinking, tools, redact in ((False, None, True), (True, "none", False))
    ]
    shown = []
    for content, thinking, tools, redact in asked:
        options = Policy.of(Settings(content=content), ()).export_options(thinking=thinking, tools=tools, redact=redact)
        shown.append((options.thinking, options.tools, options.redact))
    assert shown == [(False, "summary", True), (True, "none", False), (True, "full", False), (True, "none", False)]

"""What is found about projects' files."""

from katod.doctor.projects import examine
from katod.project.allowed import Allowed
from katod.project.form import NAME
from katod.store.ledger import Ledger
from tests.support.records import Claude


def found(home):
    """Return level and text of each finding, and what to do."""
    ledger = Ledger.examine(home.state)
    try:
        return [(one.level, one.text, one.advice) for one in examine(home.case(ledger=ledger))]
    finally:
        if ledger is not None:
            ledger.close()


def shop(home, name="shop", text="[recording]\nauto = true\n"):
    """Create a project with a file."""
    path = home.home / name / NAME
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_nothing_is_found_where_there_is_no_file(home):
    """Neither without a ledger nor without projects."""
    assert found(home) == []


def test_a_glob_of_a_directory_that_does_not_exist_is_found(home):
    """A misspelt one excludes nothing; where a wildcard comes first, nothing can be said."""
    (home.home / "work").mkdir()
    home.configure(exclude=["~/wrok/secret", "~/work/*", "*/secret"], auto=["~/works/*"])
    advice = "correct it, unless the directory is still to come"
    assert found(home) == [
        (
            "warning",
            f"`recording.exclude` has ~/wrok/secret, but there is no directory {home.home}/wrok/secret",
            advice,
        ),
        ("warning", f"`recording.auto` has ~/works/*, but there is no directory {home.home}/works", advice),
    ]


def test_the_file_of_a_project_that_was_recorded_is_to_be_allowed(home):
    """One finding for the file, however many sessions there were."""
    path = shop(home)
    home.process()
    for number in (1, 2):
        make = Claude(home, f"{number:08x}-8a53-4c3e-9b5e-0a1d5f8f2c11", cwd=str(path.parent))
        make.append(make.user(f"::start n{number}\nhello"))
    home.process()
    what, advice = f"{path}: it is not allowed, and has no effect", f"read it, then run `katod allow {path.parent}`"
    assert found(home) == [("warning", what, advice)]


def test_what_an_allowed_file_is_refused_is_found(home):
    """The first reason, how many more there are, and where they are listed."""
    path = shop(home, text='[recording]\nauto = true\n[output]\nfilename = "x"\ndirectory = "docs"\n')
    (path.parent / "docs").symlink_to("/tmp")
    Allowed(home.state).allow(path, path.read_bytes())
    fine, refused = found(home)
    assert fine[:2] == ("ok", f"{path} is allowed: transcripts are written to docs/, inside the project")
    assert refused[1] == f"{path}: the directory that {NAME} chose was refused: docs is a symbolic link, and 2 more"
    assert refused[2] == f"its other settings are in effect; `katod allow {path.parent}` lists those that are not"


def test_a_file_that_changed_and_one_that_cannot_count_are_found(home):
    """With what to do about each."""
    changed, link = shop(home, "a"), shop(home, "b")
    for path in (changed, link):
        Allowed(home.state).allow(path, path.read_bytes())
    changed.write_text("")
    link.unlink()
    link.symlink_to("/etc/passwd")
    assert [(level, text.partition(": ")[2]) for level, text, _ in found(home)] == [
        ("warning", "it has changed since you allowed it, and has no effect"),
        ("warning", "it has no effect: it is a symbolic link"),
    ]


def test_a_store_that_cannot_be_read_is_a_problem(home):
    """No file counts then, whatever was allowed."""
    path = shop(home)
    Allowed(home.state).allow(path, path.read_bytes())
    Allowed(home.state).path.write_text("{")
    [(level, text, advice)] = found(home)
    what = "the list of allowed files cannot be read, so no project's file has an effect: it is damaged"
    assert (level, text) == ("problem", f"{Allowed(home.state).path}: {what}")
    assert advice == "move it away, then run `katod allow` in each project again"


def test_not_all_of_very_many_are_listed(home):
    """The others are counted."""
    for number in range(23):
        path = shop(home, f"shop{number:02}")
        Allowed(home.state).allow(path, b"")
    findings = found(home)
    assert len(findings) == 21
    assert findings[-1][1] == "and 3 other project files"

"""Globs of projects name directories, however these are spelled."""

import os
from itertools import product
from pathlib import Path
from unicodedata import normalize

import pytest

from katod.record import projectglobs
from katod.record.projectglobs import is_matched, missing_folder, real_path
from tests.looping import each

CAFE = "caf\u00e9"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Return a home whose `work` is a link to `data`, with two projects in it, one of them through another link."""
    home = tmp_path / "home"
    (home / "data" / CAFE / "src").mkdir(parents=True)
    (home / "elsewhere" / "shop").mkdir(parents=True)
    (home / "work").symlink_to(home / "data")
    (home / "data" / "shop").symlink_to(home / "elsewhere" / "shop")
    monkeypatch.setenv("HOME", str(home))
    projectglobs._linked.cache_clear()
    return home


def spelled(home, name):
    """Return spellings of one directory: by a link, with `..`, `.` and slashes too many, with combining characters."""
    paths = [
        home / "data" / name, home / "work" / name, home / "data/none/.." / name, home / "work/../work" / name
    ]  # fmt: skip
    texts = [str(path) for path in paths] + [f"{home}//work/./{name}/"]
    return [form for text in texts for form in (text, normalize("NFD", text))]


def test_a_directory_is_matched_however_it_is_spelled(tree):
    """Every spelling in the configuration matches every spelling in an agent's records, and what is below."""
    written = spelled(tree, CAFE)
    globs = [*written, f"~/work/{CAFE}", f"~/data/../work/{CAFE}", *(f"{text.rstrip('/')}/**" for text in written)]
    globs += [f"~/work/{CAFE[:-1]}*", "~/w*", "~/work/*", normalize("NFD", f"*/{CAFE}")]
    for glob, place in product(globs, written):
        assert is_matched([place], [glob]), (glob, place)
        assert is_matched([f"{place.rstrip('/')}/src"], [glob]), (glob, place)


def test_no_other_directory_is_matched(tree):
    """Neither one beside it nor the one above it."""
    others = [tree, tree / "data", tree / "work", tree / "data" / f"{CAFE}2", tree / "elsewhere" / CAFE]
    for glob, place in product([*spelled(tree, CAFE), f"~/work/{CAFE}/**"], others):
        assert not is_matched([str(place)], [glob]), (glob, place)


def test_a_link_that_a_wildcard_matches_names_where_it_leads(tree):
    """An agent that is started in `~/work/shop` records where the link leads; what is beside that is not matched."""
    for glob in ("~/work/*", "~/data/s*", "~/*/shop", f"{tree}/w?rk/[s]hop"):
        assert is_matched([str(tree / "elsewhere" / "shop" / "src")], [glob]), glob
        assert not is_matched([str(tree / "elsewhere" / "shop2")], [glob]), glob


def test_a_link_to_a_directory_above_does_not_turn_a_glob_inside_out(tree):
    """`~/work/*` does not stand for all of home because of a link in it."""
    (tree / "data" / "up").symlink_to(tree)
    assert not is_matched([str(tree / "elsewhere")], ["~/work/*"])


def test_a_link_that_is_made_later_is_noticed(tree, monkeypatch):
    """At once where a glob names it, and after some seconds where a wildcard matches it."""
    late = tree / "late"
    assert not is_matched([str(late)], ["~/work/late"])
    assert not is_matched([str(late)], ["~/work/l*"])
    late.mkdir()
    (tree / "data" / "late").symlink_to(late)
    assert is_matched([str(late)], ["~/work/late"])
    now = projectglobs.time.monotonic() + 10
    monkeypatch.setattr(projectglobs.time, "monotonic", lambda: now)
    assert is_matched([str(late)], ["~/work/l*"])


def test_a_directory_that_is_gone_is_matched(tree):
    """As long as the links that lead there are not gone, too."""
    (tree / "data" / CAFE / "src").rmdir()
    (tree / "data" / CAFE).rmdir()
    for glob, place in product(spelled(tree, CAFE), spelled(tree, CAFE)):
        assert is_matched([place], [glob]), (glob, place)


def test_upper_and_lower_case_are_the_same_where_the_file_system_says_so(tree, monkeypatch):
    """It is asked whether both are one directory."""
    glob, place = "~/DATA/*", str(tree / "data" / CAFE)
    assert not is_matched([place], [glob])
    stat = os.stat
    lower = {f"{tree}/DATA": f"{tree}/data"}
    monkeypatch.setattr(projectglobs.os, "stat", lambda path, **more: stat(lower.get(path, path), **more))
    assert is_matched([place], [glob])
    beside = [str(tree / "data" / str(number)) for number in range(9)]
    assert is_matched([place, *beside], ["~/DATA/caf*"]), "each of several places counts"
    assert not is_matched([str(tree / "elsewhere")], [glob])


def test_the_name_of_a_directory_behind_a_link_is_no_glob(tree):
    """It may have characters that are wildcards in a glob."""
    for name in ("[x]", "x"):
        (tree / name).mkdir()
    (tree / "link").symlink_to(tree / "[x]")
    assert is_matched([str(tree / "[x]")], ["~/link"])
    assert not is_matched([str(tree / "x")], ["~/link"])


def test_a_directory_whose_name_looks_like_a_glob_is_matched(tree):
    """By that name, however the folder that it is in is spelled."""
    (tree / "data" / "[old]").mkdir()
    for name in ("work", "data"):
        assert is_matched([str(tree / "data" / "[old]" / "src")], [f"~/{name}/[old]"]), name


@each("path", ["rel/x", "C:\\work", "/a\0b", "/\ud800"])
def test_what_is_no_path_of_this_machine_is_compared_as_it_is(path):
    """Nothing is looked for on the disk, and nothing fails."""
    assert real_path(path) == path
    assert is_matched([path], [path])
    assert not is_matched(["/elsewhere"], [path])


def test_the_folder_that_a_glob_begins_with_may_be_missing(tree):
    """Where a wildcard comes first, any folder may be meant, and on Windows one that is not here."""
    there = ["~/work", "~/work/*", "~/none/../data", f"~/work/{CAFE}/**", "*/secret", "D:/work", "/", "~"]
    there += [normalize("NFD", f"~/work/{CAFE}")]
    assert [missing_folder(glob) for glob in there] == [""] * len(there)
    missing = {"~/wrok/*": "wrok", "~/work/none": "work/none", "~/work/none/**": "work/none"}
    assert {glob: missing_folder(glob) for glob in missing} == {
        glob: str(Path(tree, name)) for glob, name in missing.items()
    }

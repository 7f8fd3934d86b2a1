"""Paths of either system."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from katod.formats.transcript.toolview import View
from katod.paths import below, comparable, name_of, short_paths

PARTS = st.lists(st.from_regex(r"[a-z0-9_-]{1,6}", fullmatch=True), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/me/shop", "shop"), ("/home/me/shop/", "shop"), ("/", ""), ("", ""), ("D:\\work\\shop", "shop"),
        ("D:/work/shop/", "shop"), ("D:\\", ""), ("\\\\server\\share\\shop", "shop"), ("/home/me/a\\b", "a\\b"), ("shop", "shop"),
    ],
)  # fmt: skip
def test_a_name_is_the_last_part(path, name):
    """On Windows, either kind of slash separates; elsewhere a backslash is a character like any other."""
    assert name_of(path) == name


@pytest.mark.parametrize(
    ("path", "folder", "rest"),
    [
        ("/a/b/c", "/a/b", "c"), ("/a/b", "/a/b/", ""), ("/a/bc", "/a/b", None), ("/a", "/", None), ("b", "", None),
        ("D:\\Shop\\src\\a.py", "d:/shop", "src\\a.py"), ("d:/shop/a.py", "D:\\shop\\", "a.py"), ("D:\\shop", "D:/Shop", ""),
        ("C:\\shop\\a.py", "D:\\shop", None), ("D:\\shopping", "D:\\shop", None), ("a.py", "D:\\shop", None),
    ],
)  # fmt: skip
def test_a_path_is_below_a_folder_by_its_own_rules(path, folder, rest):
    """The rest of it is what follows the folder, however that is spelled."""
    assert below(path, folder) == rest


@given(PARTS, PARTS, st.sampled_from("/\\"))
def test_every_path_is_below_the_folders_above_it(outer, inner, slash):
    """On both systems, whatever its parts are."""
    for root, separator in (("/", "/"), (f"D:{slash}", slash)):
        folder = root + separator.join(outer)
        rest = below(separator.join([folder, *inner]), folder)
        assert rest is not None
        assert rest.replace("\\", "/").split("/") == inner


def test_one_path_of_windows_has_many_spellings():
    """They compare as equal; elsewhere each is another path."""
    assert comparable("D:\\Work\\shop") == comparable("d:/work/Shop")
    assert comparable("/Work") != comparable("/work")


def test_calls_show_paths_of_windows_shortened():
    """Relative to the project, or to the home."""
    view = View(str, "C:\\Users\\me\\shop")
    assert view.path("c:/users/me/shop/src/a.py") == "src\\a.py"
    assert view.path("C:\\Users\\me\\notes.md") == "~\\notes.md"
    assert view.path("C:\\Users\\me\\shop") == "."
    assert view.path("D:\\other\\a.py") == "D:\\other\\a.py"


def test_a_project_is_called_by_what_distinguishes_it():
    """The end of its path, as far back as another project has the same."""
    paths = {
        "/home/me/shop": "shop",
        "/home/me/wt/skills": "wt/skills",
        "/srv/alisha/skills": "alisha/skills",
        "/home/me/a/x/y": "me/a/x/y",
        "/home/you/a/x/y": "you/a/x/y",
        "/home/me/api": "~/api",
        "/api": "/api",
        "api": "api",
        "/home/me": "~",
        "/": "/",
        "": "",
    }
    assert dict(zip(paths, short_paths(list(paths), "/home/me"), strict=True)) == paths | {"/home/me/a/x/y": "~/a/x/y"}
    assert short_paths(["/home/me/api", "~/api"], "/home/me") == ["~/api", "~/api"]

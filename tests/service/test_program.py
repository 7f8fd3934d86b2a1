"""Which path of the program a service manager is told."""

import os
import subprocess
import sys

import pytest

from katod.errors import ServiceError
from katod.service.program import (
    environment,
    environment_of,
    installed_program,
    location_names,
    locations,
    under,
    version_of,
)
from tests.support.live import until


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a program in an environment of its own, which is called by its path; nothing is on the PATH."""
    path = tmp_path / "tools" / "katod" / "bin" / "katod"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.setattr(sys, "prefix", str(path.parents[1]))
    monkeypatch.setattr(sys, "executable", str(path.parent / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    return path


def test_the_link_on_the_path_is_named_not_what_it_leads_to(tmp_path, monkeypatch, program):
    """An upgrade by uv or pipx may replace the environment; the link in ~/.local/bin stays."""
    link = tmp_path / "bin" / "katod"
    link.parent.mkdir()
    link.symlink_to(program)
    monkeypatch.setenv("PATH", f"{program.parent}:{link.parent}")
    assert installed_program() == str(link)


def test_without_one_it_is_the_program_itself(program):
    """A program in a virtual environment that is not on the PATH is named by its own path."""
    assert installed_program() == str(program)


def test_another_katod_on_the_path_is_not_meant(tmp_path, monkeypatch, program):
    """Only a link to the program that was called is taken."""
    other = tmp_path / "bin" / "katod"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(other.parent))
    assert installed_program() == str(program)


def test_a_module_that_was_started_finds_the_program_beside_the_interpreter(monkeypatch, program):
    """`python -m katod` belongs to the environment that has a program, too."""
    monkeypatch.setattr(sys, "argv", ["/somewhere/katod/__main__.py"])
    assert installed_program() == str(program)


def test_the_environment_says_where_things_are(monkeypatch):
    """Variables of katod and of the agents that are set, each once; a locale with all characters, whatever is set."""
    for name in location_names(["CODEX_HOME"]):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CODEX_HOME", "/c")
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("LC_CTYPE", "C")
    monkeypatch.setenv("LANG", "C")
    assert locations(["CODEX_HOME", "CODEX_HOME"]) == {"CODEX_HOME": "/c"}
    assert environment(["CODEX_HOME"]) == {"CODEX_HOME": "/c", "LANG": "C.UTF-8"}


@pytest.mark.parametrize(("script", "version"), [("echo katod, version 1.2", "1.2"), ("exit 1", "")])
def test_a_program_is_asked_for_its_version(program, script, version):
    """One that fails, or is gone, has none."""
    program.write_text(f"#!/bin/sh\n{script}\n")
    assert version_of(str(program)) == version
    program.unlink()
    assert version_of(str(program)) == version_of("\0") == ""


def test_without_a_program_it_says_how_to_install_one(monkeypatch, program):
    """A checkout that was never installed cannot be a service."""
    program.unlink()
    with pytest.raises(ServiceError, match="not installed"):
        installed_program()


def test_the_environment_of_a_process_is_seen():
    """That it started with; of a process that is gone, nothing."""
    process = subprocess.Popen(["sleep", "60"], env={"CODEX_HOME": "/else", "EMPTY": ""})
    try:
        until(lambda: environment_of(process.pid) == {"CODEX_HOME": "/else", "EMPTY": ""}, "its environment")
    finally:
        process.kill()
        process.wait()
    assert environment_of(process.pid) is None


def test_what_is_called_under_other_variables_leaves_none_behind(monkeypatch):
    """They are set or not as given, and as before afterwards, also after an error."""
    monkeypatch.setenv("CODEX_HOME", "/here")
    monkeypatch.delenv("ZOT_HOME", raising=False)
    before = dict(os.environ)

    def seen():
        return os.environ.get("CODEX_HOME"), os.environ.get("ZOT_HOME")

    assert under({"ZOT_HOME": "/z"}, ["CODEX_HOME", "ZOT_HOME"], seen) == (None, "/z")
    assert dict(os.environ) == before
    with pytest.raises(KeyError):
        under({"ZOT_HOME": "/z"}, ["CODEX_HOME", "ZOT_HOME"], lambda: os.environ["CODEX_HOME"])
    assert dict(os.environ) == before

"""`katod config`: written, shown, checked."""

import stat

from katod.cli.config import default_config
from tests.looping import each


def test_init_writes_the_commented_defaults(world):
    """The file is private, and its folder is created."""
    target = world.home / "made" / "katod.toml"
    assert world.cli("--config", str(target), "config", "init") == f"wrote {target}\n"
    assert target.read_bytes() == default_config()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_init_never_overwrites(world):
    """An existing file is refused by name and keeps its content."""
    before = world.config.read_bytes()
    world.cli("config", "init", code=1)
    assert f"{world.config}: already exists" in world.said
    assert world.config.read_bytes() == before


def test_path_prints_where_it_is_looked_for(world):
    """The path given by the option takes precedence over the environment."""
    assert world.cli("config", "path") == f"{world.config}\n"
    assert world.cli("--config", "/else.toml", "config", "path") == "/else.toml\n"


def test_show_prints_the_file_as_it_is(world):
    """Even an invalid file is shown: it is the one that has to be fixed."""
    world.config.write_text("[output\n# grüße\n")
    assert world.cli("config", "show") == "[output\n# grüße\n"


def test_show_prints_the_defaults_without_a_file(world):
    """Without a file, the defaults that apply are printed."""
    world.config.unlink()
    assert world.cli("config", "show").encode() == default_config()


def test_check_names_a_file_that_can_be_used(world):
    """For a valid file its path is printed, with exit code 0."""
    assert world.cli("config", "check").startswith(f"{world.config}: ")


def test_check_fails_for_a_mistake(world):
    """The key and its line are named, with exit code 1."""
    world.config.write_text("[output]\ndirectroy = '/x'\n")
    world.cli("config", "check", code=1)
    assert "line 2: unknown key `output.directroy`" in world.said


def test_check_says_that_the_zone_of_the_machine_is_not_known(world, monkeypatch):
    """Times would be in UTC without a word; a zone that is chosen is none of the machine's."""
    world.config.write_text("")
    monkeypatch.setenv("TZ", "XYZ-5:17")
    world.cli("config", "check")
    assert "the time zone of this machine is not known, so that all times are in UTC" in world.said
    world.configure(time_zone="Asia/Tokyo")
    world.cli("config", "check")
    assert "not known" not in world.said


@each("name", [".claude", ".claude/katod", "state/out"])
def test_check_names_an_output_directory_that_katod_never_writes_to(world, name):
    """One in an agent's directory or in that of katod's state: every `::start` would be refused."""
    world.configure(directory=world.home / name)
    world.cli("config", "check", code=1)
    assert f"{world.config}: `output.directory` cannot be written to: the path is in an agent's directory" in world.said


def test_check_fails_for_a_named_file_that_is_missing(world):
    """A missing file is only accepted if it was not named."""
    world.config.unlink()
    world.cli("config", "check", code=1)
    assert str(world.config) in world.said


def test_check_accepts_that_no_file_is_there(world, monkeypatch):
    """No file was named, so the defaults are used."""
    monkeypatch.delenv("KATOD_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / "none"))
    del world.variables["KATOD_CONFIG"]
    assert "default" in world.cli("config", "check")

"""What the commands share: which sessions there are, and the settings."""

import os

import pytest

from katod.cli.context import Context
from katod.errors import ConfigError
from tests.modules import modules


def test_the_files_of_a_session_are_one_session(world):
    """Oldest change first; the session's size is that of all files, and its time that of the newest."""
    first, second = world.claude(), world.claude(folder="-else")
    for age, file in enumerate((second, first)):
        file.append("{}\n" * (age + 1))
        os.utime(file.path, (1000 - age, 1000 - age))
    found = next(iter(Context(None).found().values()))
    assert [path for path, _, _ in found.files] == [str(first.path), str(second.path)]
    assert (found.size, found.changed_ns) == (9, 1000 * 10**9)


def test_a_named_configuration_has_to_exist(world, monkeypatch):
    """A file named by option or environment must exist; one that was not named need not."""
    world.config.unlink()
    with pytest.raises(ConfigError):
        _ = Context(None).settings
    monkeypatch.delenv("KATOD_CONFIG")
    with pytest.raises(ConfigError):
        _ = Context(world.config).settings
    monkeypatch.setenv("XDG_CONFIG_HOME", str(world.home / "none"))
    assert Context(None).settings is not None


@pytest.mark.form
def test_one_function_asks_where_one_stands():
    """The current directory may no longer exist, which others would forget."""
    asking = {module.name for module in modules().values() if module.part == "cli" and "cwd" in module.called}
    assert asking == {"katod.cli.context"}

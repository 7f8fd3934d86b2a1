"""What service managers are told about katod."""

import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given

from katod.service.launch import (
    MARKER,
    Launch,
    command_in,
    command_in_list,
    environment_in,
    environment_in_list,
    has_network,
    property_list,
    strict,
    unit,
    writable_in,
)
from tests.examples import texts

PATHS = texts(min_size=1, max_size=12).filter(lambda text: not set(text) & {"\0", "\n", "\r"})
LAUNCH = Launch("/home/me/.local/bin/katod", "/home/me/a b/katod.toml", {"LANG": "C.UTF-8", "CODEX_HOME": "/c d"})


@given(PATHS, PATHS)
@example(" ", "\x85")
def test_the_command_of_a_unit_can_be_read_again(program, config):
    """Whatever is in the paths: quotes, blanks, dollars, percent signs, backslashes."""
    launch = Launch(f"/{program}", f"/{config}")
    assert command_in(unit(launch)) == launch.arguments


def test_the_command_of_a_property_list_can_be_read_again():
    """The list is one that launchd reads, with a line that says who wrote it."""
    data = property_list(LAUNCH, Path("/log"))
    assert command_in_list(data) == LAUNCH.arguments
    assert plistlib.loads(data)["EnvironmentVariables"] == LAUNCH.environment
    assert MARKER.encode() in data
    assert command_in_list(b"no list") == []


@given(PATHS, PATHS)
@example(" ", "\x85")
def test_the_variables_of_a_unit_can_be_read_again(one, other):
    """Whatever is in them, and what the strict drop-in lets katod write to, too."""
    variables = {"A": one, "B": other}
    assert environment_in(unit(Launch("/katod", "", variables))) == variables
    assert writable_in(strict([f"/{one}", f"/{other}"])) == [f"/{one}", f"/{other}"]


def test_connections_are_allowed_only_if_they_are_needed():
    """By the unit and by the strict drop-in; both can be read again."""
    networked = Launch("/katod", network=True)
    assert "RestrictAddressFamilies=AF_UNIX\n" in unit(LAUNCH)
    assert "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n" in unit(networked)
    assert "PrivateNetwork=yes\n" in strict([])
    assert "PrivateNetwork" not in strict([], network=True)
    assert has_network(unit(networked))
    assert has_network(unit(networked) + strict([], network=True))
    assert not has_network(unit(LAUNCH))
    assert not has_network(unit(networked) + "\n" + strict([]))


def test_settings_of_the_users_own_are_read_after_the_units():
    """Several words, another value, an assignment that takes back those before it, and what cannot be read."""
    assert environment_in('Environment="A=1"\nEnvironment=A=2 "B=x y" C\n') == {"A": "2", "B": "x y"}
    assert environment_in('Environment="A=1"\nEnvironment=\nEnvironment=B=2\nEnvironment="') == {"B": "2"}


@pytest.mark.parametrize("data", [b"no list", b"", plistlib.dumps({}), plistlib.dumps({"EnvironmentVariables": 1})])
def test_a_list_without_variables_has_none(data):
    """Another file in its place has none, either."""
    assert environment_in_list(data) == {}
    assert environment_in_list(property_list(LAUNCH, Path("/log"))) == LAUNCH.environment


def test_a_variable_is_one_word_of_the_unit():
    """Blanks, quotes and percent signs of a variable are its own."""
    assert 'Environment="A=1 \\"2\\" 3%%"\n' in unit(Launch("/katod", "", {"A": '1 "2" 3%'}))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize(("dropped_in", "serves", "most"), [(False, False, 7), (True, False, 2), (False, True, 7)])
def test_systemd_accepts_the_unit(tmp_path, dropped_in, serves, most):
    """`systemd-analyze verify` has nothing to say, and the exposure that it calculates is low."""
    file = tmp_path / "katod.service"
    file.write_text(unit(Launch("/bin/true", "", LAUNCH.environment, network=serves, serves=serves)))
    if dropped_in:
        folder = tmp_path / "katod.service.d"
        folder.mkdir()
        (folder / "strict.conf").write_text(strict(["/home/me/katod", "/home/me/a b"]))
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    verified = subprocess.run(
        ["systemd-analyze", "--user", "verify", file], env=environment, capture_output=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, b"")
    command = ["systemd-analyze", "--user", "security", "--offline=true", file]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert float(said.rpartition("katod.service: ")[2].split()[0]) < most

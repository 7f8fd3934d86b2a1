"""What service managers are told about katod."""

import os
import plistlib
import shutil
import subprocess
from dataclasses import replace
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
    assert writable_in(strict(LAUNCH, [f"/{one}", f"/{other}"])) == [f"/{one}", f"/{other}"]


def test_connections_are_allowed_only_if_they_are_needed():
    """By the unit and by the strict drop-in; both can be read again."""
    networked = Launch("/katod", network=True)
    assert "RestrictAddressFamilies=AF_UNIX\n" in unit(LAUNCH)
    assert "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n" in unit(networked)
    assert "PrivateNetwork=yes\n" in strict(LAUNCH, [])
    assert "PrivateNetwork" not in strict(networked, [])
    assert has_network(unit(networked))
    assert has_network(unit(networked) + strict(networked, []))
    assert not has_network(unit(LAUNCH))
    assert not has_network(unit(networked) + "\n" + strict(LAUNCH, []))


@pytest.mark.parametrize(
    ("writable", "needs", "own"),
    [
        ("/home/me/katod", "/home/me/.codex", True),
        ("/tmpfiles", "/srv/tmp", True),
        ("/tmp/katod", "/home/me/.codex", False),
        ("/var/tmp/katod", "/home/me/.codex", False),
        ("/home/me/katod", "/tmp/codex", False),
    ],
)
def test_a_temporary_directory_of_its_own_hides_nothing_that_it_needs(writable, needs, own):
    """What is recorded there would be gone when the service stops, and sessions there would not be seen."""
    text = strict(replace(LAUNCH, needs=(needs,)), [writable])
    assert ("PrivateTmp=yes\n" in text) is own
    assert writable_in(text) == [writable, *([] if own else ["/tmp", "/var/tmp"])]


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
        (folder / "strict.conf").write_text(strict(LAUNCH, ["/home/me/katod", "/home/me/a b"]))
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    verified = subprocess.run(
        ["systemd-analyze", "--user", "verify", file], env=environment, capture_output=True, check=False
    )
    assert (verified.returncode, verified.stderr) == (0, b"")
    command = ["systemd-analyze", "--user", "security", "--offline=true", file]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert float(said.rpartition("katod.service: ")[2].split()[0]) < most

"""`katod service` with a real systemd: a manager for users, started for the test in a namespace of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.records import line
from tests.support.world import SOURCE

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).parent / "katod"
MANAGER = "/usr/lib/systemd/systemd"
# Starts the manager, and ends it with the script. A manager for users needs a booted system, which a folder pretends,
# and a control group of its own in the hierarchy that it uses: in that of another manager, they end each other's services.
BEGIN = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/0
chmod 700 /run/user/0
hierarchies=$(ls -d /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/{{unified,systemd}}/cgroup.procs 2> /dev/null || true)
for procs in $hierarchies; do
    mkdir "$(dirname $procs)/katod-test-$$"
    echo $$ > "$(dirname $procs)/katod-test-$$/cgroup.procs"
done
export XDG_RUNTIME_DIR=/run/user/0
{manager} --user --log-target=null &
manager=$!
end() {{
    code=$?
    kill $manager
    wait $manager || true
    for procs in $hierarchies; do
        echo $$ > $procs
        find "$(dirname $procs)/katod-test-$$" -depth -type d -exec rmdir {{}} +
    done
    exit $code
}}
trap end EXIT
for _ in $(seq 100); do systemctl --user show-environment > /dev/null 2>&1 && break; sleep 0.1; done
systemctl --user set-environment PYTHONPATH="$PYTHONPATH"
pid() {{ systemctl --user show katod --property=MainPID --value; }}
until_() {{ for _ in $(seq 300); do eval "$1" && return; sleep 0.1; done; echo "never: $1"; exit 1; }}
"""


def in_namespace(world, script, source=SOURCE):
    """Run a script beside a manager for users; return what it prints. `source` has the package of katod."""
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    environment = world.environment | {"PATH": path, "PYTHONPATH": str(source)}
    command = ["unshare", "--mount", "bash", "-c", BEGIN.format(manager=MANAGER) + script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout if done.returncode == 0 else f"{done.stdout}\nexit code {done.returncode}\n{done.stderr}"


@pytest.fixture
def managed(world):
    """Return a world in which a manager for users can be started."""
    if not PROGRAM.exists():
        pytest.skip("katod is not installed as a program")
    if shutil.which("unshare") is None or not Path(MANAGER).exists():
        pytest.skip("there is no systemd")
    said = in_namespace(world, "systemctl --user is-system-running --wait; cat /proc/$manager/cgroup")
    if "running" not in said:
        pytest.skip("no manager for users can be started here")
    assert "/katod-test-" in said, f"the manager has no control group of its own:\n{said}"
    return world


def test_a_service_lives_through_a_kill_and_a_wrong_configuration(managed):
    """It is installed, records, is restarted after a kill but not with a wrong configuration, and leaves no file."""
    world = managed
    source = world.claude()
    source.append(source.user("::start notes\nhello"))
    said = in_namespace(
        world,
        f"""
        katod service install
        until_ 'grep -q hello "{world.out}"/*/notes.md'
        first=$(pid)
        kill -9 $first
        until_ '[ "$(pid)" != 0 ] && [ "$(pid)" != '$first' ] && katod service status > /dev/null'
        echo restarted
        katod service stop > /dev/null
        katod service status > /dev/null || echo stopped
        katod service start > /dev/null
        cp "$KATOD_CONFIG" "$KATOD_CONFIG.good"
        echo '[outptu]' > "$KATOD_CONFIG"
        katod service restart 2> /dev/null || echo refused
        sleep 1
        systemctl --user show katod --property=NRestarts,ActiveState
        cp "$KATOD_CONFIG.good" "$KATOD_CONFIG"
        katod service install
        katod service uninstall
        """,
    )
    unit = world.home / ".config/systemd/user/katod.service"
    lines = said.splitlines()
    assert lines[0] == f"wrote {unit}", said
    assert [line for line in lines if line in ("restarted", "stopped", "refused")] == [
        "restarted",
        "stopped",
        "refused",
    ], said
    assert {"NRestarts=0", "ActiveState=failed"} <= set(lines), said
    assert f"removed {unit}" in lines, said
    assert list(unit.parent.rglob("*")) == []
    assert "hello" in world.written()["notes.md"]


def test_the_doctor_sees_whether_the_service_fits_and_its_restrictions_take_effect(managed):
    """With the manager's own word: it runs as a service, hardened; a variable that was set later differs."""
    world = managed
    said = in_namespace(
        world,
        """
        katod doctor > /dev/null || echo "exit code $? before"
        katod service install > /dev/null
        katod doctor || echo "exit code $? after"
        CODEX_HOME=/elsewhere katod doctor | grep CODEX_HOME
        katod service uninstall
        """,
    )
    assert said.startswith("exit code 1 before\n"), said
    assert "exit code 1 after" not in said, said
    assert "✓ katod is running as a service (PID " in said, said
    assert "✓ the restrictions of the unit are in effect" in said, said
    assert "✗ CODEX_HOME is /elsewhere here, but not set for the service" in said, said


def test_a_unit_that_the_shell_would_put_elsewhere_is_where_the_manager_looks(managed):
    """XDG_CONFIG_HOME of the shell alone: it is installed, found, and removed without a trace."""
    world = managed
    said = in_namespace(
        world,
        """
        export XDG_CONFIG_HOME="$HOME/elsewhere"
        katod service install
        katod service status > /dev/null && echo running
        katod service uninstall
        """,
    )
    unit = world.home / ".config/systemd/user/katod.service"
    assert f"wrote {unit}" in said, said
    assert "\nrunning\n" in said, said
    assert f"removed {unit}" in said, said
    assert list(unit.parent.rglob("*")) == []


def test_a_strict_service_writes_where_others_see_it(managed):
    """A directory below /tmp is not one of its own, which would be gone with it; nor is the session there hidden."""
    world = managed
    source = world.claude()
    source.append(source.user("::start notes\nhello"))
    said = in_namespace(
        world,
        f"""
        katod service install --strict > /dev/null
        until_ 'grep -q hello "{world.out}"/*/notes.md'
        katod service uninstall > /dev/null
        """,
    )
    assert str(world.out).startswith("/tmp/"), "the test needs a directory there"
    assert said == ""
    assert "hello" in world.written()["notes.md"]


def test_a_watchdog_restarts_a_daemon_that_hangs(managed):
    """As long as it sweeps it is left alone, with any patience of the manager; stopped in its tracks, it is replaced."""
    world = managed
    source = world.claude()
    source.append(source.user("::start notes\none"))
    drop_in = world.home / ".config/systemd/user/katod.service.d/mine.conf"
    said = in_namespace(
        world,
        f"""
        katod service install > /dev/null
        mkdir -p "{drop_in.parent}"
        printf '[Service]\nWatchdogSec=2\nRestartSec=0\n' > "{drop_in}"
        systemctl --user daemon-reload
        katod service restart > /dev/null
        first=$(pid)
        sleep 5
        [ "$(pid)" = $first ] && echo alive
        kill -STOP $first
        until_ '[ "$(pid)" != 0 ] && [ "$(pid)" != '$first' ]'
        until_ 'katod service status > /dev/null'
        systemctl --user show katod --property=NRestarts
        katod service stop > /dev/null
        """,
    )
    assert said.splitlines() == ["alive", "NRestarts=1"], said


def test_settings_are_reloaded(managed):
    """`systemctl reload` is enough: the next recording goes to the new directory; a bad file keeps the old one."""
    world = managed
    world.claude().append(world.claude().user("hello"))
    other = world.session(7)
    other.append(other.user("hello"))
    said = in_namespace(
        world,
        f"""
        katod service install > /dev/null
        echo '[output]
directory = "{world.home}/elsewhere"' > "$KATOD_CONFIG"
        systemctl --user reload katod
        sleep 1
        katod start 6f1c2c1e one
        echo '[outptu]' > "$KATOD_CONFIG"
        systemctl --user reload katod
        sleep 1
        systemctl --user show katod --property=ActiveState,StatusText
        echo '[output]
directory = "{world.home}/elsewhere"' > "$KATOD_CONFIG"
        katod start 00000007 two
        katod service stop > /dev/null
        """,
    )
    assert f"recording to {world.home}/elsewhere/app/one.md" in said, said
    assert f"recording to {world.home}/elsewhere/app/two.md" in said, said
    assert "StatusText=invalid configuration, keeping the old settings" in said, said


def test_stopped_in_mid_write_and_upgraded_in_place_every_event_is_there_once(managed):
    """While an agent writes, the service is stopped, started, and restarted with a newer version; live equals export."""
    world = managed
    source = world.claude()
    source.append(source.user("::start notes\nhello"))
    texts = [f"mark-{number:04d}" for number in range(400)]
    lines = world.home / "lines"
    lines.write_bytes(b"".join(line(source.says(text)) for text in texts))
    lib = world.home / "lib"
    shutil.copytree(SOURCE / "katod", lib / "katod", ignore=shutil.ignore_patterns("__pycache__"))
    said = in_namespace(
        world,
        f"""
        katod service install > /dev/null
        (while IFS= read -r line; do printf '%s\\n' "$line" >> "{source.path}"; sleep 0.01; done < "{lines}") &
        writer=$!
        for _ in 1 2 3; do sleep 0.4; katod service stop > /dev/null; katod service start > /dev/null; done
        sed -i 's/^__version__.*/__version__ = "99.0.0"/' "{lib}/katod/__init__.py"
        katod service restart > /dev/null
        katod --version
        wait $writer
        until_ 'grep -q {texts[-1]} "{world.out}"/*/notes.md'
        katod service stop > /dev/null
        """,
        source=lib,
    )
    assert said.splitlines() == ["katod, version 99.0.0"], said
    [row] = world.outputs()
    content = row.path.read_text()
    assert [content.count(text) for text in texts] == [1] * len(texts)
    assert content.encode() == world.export(row)

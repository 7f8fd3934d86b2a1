"""The wheel and the sdist: what they contain, and that katod can be installed from them, upgraded and removed."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from katod import __version__

ROOT = Path(__file__).parents[1]
NEXT = "99.0"
EXTRAS = "matrix,mcp,otlp,seal,serve,zst"
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
LARGEST = {"*.whl": 1_450_000, "*.tar.gz": 3_880_000}  # bytes
INSTALLERS = {
    "pipx": (["install"], ["uninstall", "katod"]),
    "uv": (["tool", "install"], ["tool", "uninstall", "katod"]),
}
pytestmark = pytest.mark.slow


def call(*command: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Return what a program prints; fail with its errors."""
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the programs that build, check and install packages."""
    folder = tmp_path_factory.mktemp("tools")
    venv.create(folder, with_pip=True)
    call(folder / "bin/pip", "install", "-q", "build", "pipx", "twine", "uv")
    return folder / "bin"


@pytest.fixture(scope="module")
def built(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    call(tools / "python", "-m", "build", "-o", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Return the wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    """Return the sdist."""
    (found,) = built.glob("*.tar.gz")
    return found


@pytest.fixture(scope="module")
def newer(tools: Path, sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of a later version."""
    folder = tmp_path_factory.mktemp("newer")
    source = unpacked(sdist, folder)
    module = source / "katod/__init__.py"
    module.write_text(module.read_text().replace(f'"{__version__}"', f'"{NEXT}"'))
    (source / "PKG-INFO").unlink()  # it states the version, too
    call(tools / "python", "-m", "build", "--wheel", "-o", str(folder), str(source))
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program in a clean virtual environment with the wheel and its dependencies."""
    return install(wheel, tmp_path_factory.mktemp("wheel"))


def install(package: Path, folder: Path) -> Path:
    """Install a package into a new virtual environment; return the program."""
    venv.create(folder, with_pip=True)
    call(folder / "bin/pip", "install", "-q", str(package))
    return folder / "bin/katod"


def unpacked(sdist: Path, folder: Path) -> Path:
    """Unpack an sdist into a folder; return its root."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return folder / f"katod-{__version__}"


def run(program: Path, home: Path, *arguments: str) -> str:
    """Return what the installed program prints, run in a home of its own."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    return call(program, *arguments, environment=environment, cwd=home)


def assert_demo_plays(program: Path, home: Path) -> None:
    """Assert that the demo shows its transcript, and leaves nothing in the home."""
    before = sorted(home.rglob("*"))
    shown = run(program, home, "demo")
    assert "*Recording started 22:36*" in shown
    assert "*Recording stopped 22:39*" in shown
    assert sorted(home.rglob("*")) == before


def test_the_demo_plays_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """`katod demo` needs nothing besides the wheel and shows the transcript of its session."""
    assert_demo_plays(installed, tmp_path)


def test_the_default_configuration_is_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    """`katod config init` writes the commented defaults, and they are valid."""
    run(installed, tmp_path, "config", "init")
    (written,) = tmp_path.rglob("katod.toml")
    assert written.read_bytes() == (ROOT / "config/katod.toml").read_bytes()
    assert "valid" in run(installed, tmp_path, "config", "check")


def test_man_finds_the_pages_of_the_wheel(installed: Path) -> None:
    """The pages are installed beside the program, where `man` looks for those of a program on the PATH."""
    pages = sorted(path.name for path in (ROOT / "packaging/man").iterdir())
    assert sorted(path.name for path in (installed.parents[1] / "share/man/man1").glob("katod*")) == pages
    if shutil.which("manpath") is None:
        pytest.skip("man-db is not installed")
    environment = {"PATH": f"{installed.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    assert "NAME\n       katod-export - Export" in call("man", "katod-export", environment=environment)


def test_katod_is_installed_from_the_sdist(sdist: Path, tmp_path: Path) -> None:
    """An sdist can be built and installed where there is no checkout."""
    program = install(sdist, tmp_path / "venv")
    home = tmp_path / "home"
    home.mkdir()
    assert run(program, home, "--version") == f"katod, version {__version__}\n"
    assert_demo_plays(program, home)


def test_the_oldest_libraries_will_do(wheel: Path, tools: Path, tmp_path: Path) -> None:
    """With the oldest versions of its dependencies that are allowed, katod runs and completes."""
    environment, home = tmp_path / "venv", tmp_path / "home"
    home.mkdir()
    venv.create(environment)
    python = ("--python", str(environment / "bin/python"))
    call(tools / "uv", "pip", "install", "-q", "--resolution", "lowest", *python, str(wheel))
    assert_demo_plays(environment / "bin/katod", home)
    for name in (path.stem for path in (ROOT / "katod/cli").glob("[a-z]*.py")):
        call(environment / "bin/python", "-c", f"import katod.cli.{name}")
    completing = {"HOME": str(home), "_KATOD_COMPLETE": "katod export --format=j"}
    assert call(environment / "bin/katod", environment=completing).startswith("plain\t--format=jsonl\t")


@pytest.mark.parametrize("resolution", ["highest", "lowest-direct"])
def test_what_needs_an_extra_works_with_it(resolution: str, wheel: Path, tools: Path, tmp_path: Path) -> None:
    """With the newest libraries, and the oldest that are allowed: pages are served, agents are answered, keys made."""
    environment, home = tmp_path / "venv", tmp_path / "home"
    home.mkdir()
    venv.create(environment)
    python = ("--python", str(environment / "bin/python"))
    wanted = f"katod[{EXTRAS}] @ {wheel.as_uri()}"
    call(tools / "uv", "pip", "install", "-q", "--resolution", resolution, *python, wanted)
    program = environment / "bin/katod"
    assert set(served(program, home, "/login", "/static/page.css", "/static/page.js", "/static/icon.svg")) == {200}
    assert answered(program, home)["serverInfo"]["name"] == "katod"
    assert "key" in run(program, home, "seal", "--new-key")
    assert_demo_plays(program, home)


def test_what_needs_an_extra_says_so_without_it(installed: Path, tmp_path: Path) -> None:
    """It names the extra that is missing."""
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    for command, extra in (("serve", "serve"), ("mcp", "mcp"), ("seal --new-key", "seal")):
        arguments = [installed, *command.split()]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0
        assert f"'.[fast,{extra}]'" in done.stderr


def served(program: Path, home: Path, *paths: str) -> list[int]:
    """Return the statuses of some pages of `katod serve`."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    command = [program, "serve", "--port", "0"]
    with subprocess.Popen(command, env=environment, cwd=home, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1].partition("#")[0]
            return [urlopen(f"{address.rstrip('/')}{path}", timeout=20).status for path in paths]
        finally:
            process.terminate()


def answered(program: Path, home: Path) -> dict[str, Any]:
    """Return what `katod mcp` answers to the first request of an agent."""
    told = subprocess.run(
        [program, "mcp"], env={"HOME": str(home), "PATH": os.environ["PATH"]}, cwd=home, input=f"{json.dumps(HELLO)}\n",
        capture_output=True, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip
    result: dict[str, Any] = json.loads(told)["result"]
    return result


def test_the_sdist_is_what_is_committed(sdist: Path) -> None:
    """It contains every file of the repository, and nothing else: its tests run, and no local file is published."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    with tarfile.open(sdist) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    committed = set(call("git", "ls-files", cwd=ROOT).splitlines())
    assert (found - committed, committed - found) == ({"PKG-INFO"}, set())


def test_the_tests_of_the_sdist_run(sdist: Path, tmp_path: Path) -> None:
    """What the tests compare with is in the sdist; some that read other files than their own are run."""
    source = unpacked(sdist, tmp_path)
    environment = os.environ | {"PYTHONPATH": str(source)}
    chosen = ["tests/test_docs.py", "tests/test_manual.py", "tests/golden/test_golden.py"]
    shown = call(
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        *chosen,
        environment=environment,
        cwd=source,
    )
    assert "passed" in shown


def test_a_build_is_reproducible(wheel: Path, tools: Path, tmp_path: Path) -> None:
    """The wheel from the checkout equals the one from the sdist, byte for byte."""
    call(tools / "python", "-m", "build", "--wheel", "-o", str(tmp_path), str(ROOT))
    (again,) = tmp_path.glob("*.whl")
    assert again.read_bytes() == wheel.read_bytes()


def test_packages_are_small_and_described(built: Path, tools: Path) -> None:
    """An index accepts the description, and no package has grown by accident."""
    packages = sorted(built.glob("katod-*"))
    assert call(tools / "twine", "check", "--strict", *packages).count("PASSED") == 2
    sizes = {path.name: path.stat().st_size for pattern in LARGEST for path in built.glob(pattern)}
    assert all(path.stat().st_size <= most for pattern, most in LARGEST.items() for path in built.glob(pattern)), sizes


def test_an_upgrade_keeps_everything_and_an_uninstall_leaves_nothing(wheel: Path, newer: Path, tmp_path: Path) -> None:
    """A later version takes over configuration and state; uninstalled, no file of katod is left."""
    program, home = tmp_path / "bin/katod", tmp_path / "home"
    home.mkdir()
    pip = tmp_path / "bin/pip"
    install(wheel, tmp_path)
    run(program, home, "config", "init")
    run(program, home, "run", "--once")
    call(pip, "install", "-q", str(newer))
    assert run(program, home, "--version") == f"katod, version {NEXT}\n"
    assert "0 session files known" in run(program, home, "status")
    assert_demo_plays(program, home)
    call(pip, "uninstall", "-q", "-y", "katod")
    left = [path for path in tmp_path.rglob("*katod*") if not path.is_relative_to(home) and path.name != "__pycache__"]
    assert left == []
    assert {path.name for path in home.rglob("*") if path.is_file()} >= {"katod.toml", "ledger.db"}


@pytest.mark.parametrize("installer", INSTALLERS)
def test_pipx_and_uv_install_upgrade_and_remove_katod(
    installer: str, wheel: Path, sdist: Path, newer: Path, tools: Path, tmp_path: Path
) -> None:
    """The program is put on the PATH, replaced by a later version in place, and removed; pipx links the man pages."""
    install_arguments, uninstall = INSTALLERS[installer]
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        "HOME": str(home),
        "PATH": f"{home}/.local/bin:{os.environ['PATH']}",
        **{name: value for name, value in os.environ.items() if re.match("PIP_|UV_|SSL_|HTTPS?_", name, re.IGNORECASE)},
    }
    for package, version in ((sdist if installer == "uv" else wheel, __version__), (newer, NEXT)):
        call(tools / installer, *install_arguments, "--force", str(package), environment=environment)
        assert run(home / ".local/bin/katod", home, "--version") == f"katod, version {version}\n"
    page = home / ".local/share/man/man1/katod.1"
    assert page.exists() == (installer == "pipx")
    call(tools / installer, *uninstall, environment=environment)
    own = re.compile(r"/\.cache/|/logs/|\.lock$")  # the installer's
    assert [path for path in home.rglob("*katod*") if not own.search(str(path))] == []

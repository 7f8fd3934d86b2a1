"""The wheel: it contains what it needs at run time, and works in a clean environment."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program in a clean virtual environment with the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(build, check=True, timeout=300)
    venv.create(folder / "venv", with_pip=True)
    (wheel,) = folder.glob("katod-*.whl")
    subprocess.run([folder / "venv/bin/pip", "install", "-q", str(wheel)], check=True, timeout=300)
    return folder / "venv/bin/katod"


def run(program: Path, home: Path, *arguments: str) -> str:
    """Return what the installed program prints, run in a home of its own."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "TZ": "UTC"}
    done = subprocess.run(
        [program, *arguments], env=environment, cwd=home, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def test_the_demo_plays_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    """`katod demo` needs nothing besides the wheel and shows the transcript of its session."""
    shown = run(installed, tmp_path, "demo")
    assert "*Recording started 22:36*" in shown
    assert "*Recording stopped 22:39*" in shown
    assert list(tmp_path.iterdir()) == []


def test_the_default_configuration_is_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    """`katod config init` writes the commented defaults, and they are valid."""
    run(installed, tmp_path, "config", "init")
    (written,) = tmp_path.rglob("katod.toml")
    assert written.read_bytes() == (ROOT / "config/katod.toml").read_bytes()
    assert "valid" in run(installed, tmp_path, "config", "check")

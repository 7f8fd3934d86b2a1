"""Installs the clients from npm: each version once, atomically, and without its scripts."""

import os
import platform
import shutil
import subprocess

import pytest

NODE_22 = "22.23.3"
PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}  # npm's names for them


def install(folder, name, package):
    """Return the prefix of `package` (`name@version`), installed below `folder` if necessary; skip if that fails."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"no {program} here to install {package} with")
    prefix = folder / f"{name}-{package.rpartition('@')[2]}"
    if not prefix.exists():
        fresh = folder / f"{prefix.name}.{os.getpid()}"
        fresh.mkdir(parents=True)
        _npm_install(fresh, package)
        try:
            fresh.rename(prefix)  # another process may have installed it meanwhile
        except OSError:
            shutil.rmtree(fresh)
    return prefix


def node22(folder):
    """Return a Node of at least version 22: the machine's own, or one installed below `folder`."""
    node = shutil.which("node")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout if node else "v0"
    if int(said.strip()[1:].partition(".")[0]) >= 22:
        return node
    package = f"node-linux-{PROCESSORS.get(platform.machine(), platform.machine())}"
    return install(folder, package, f"{package}@{NODE_22}") / "node_modules" / package / "bin/node"


def _npm_install(prefix, package):
    argv = [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",  # a script may start the client, which creates folders in the user's own home
        "--fetch-retries=1",
        "--prefix",
        str(prefix),
        package,
    ]
    try:
        run = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
        problem = " ".join(run.stderr.split())[:300] if run.returncode else ""
    except subprocess.TimeoutExpired:
        problem = "more than 300 seconds"
    if problem:
        shutil.rmtree(prefix)
        pytest.skip(f"npm install {package} failed: {problem}")

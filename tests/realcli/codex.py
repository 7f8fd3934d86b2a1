"""The real Codex client: installed from npm, given a home of its own, and run without a network."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .processes import end

VERSION = "0.169.0"
PACKAGE = f"@openai/codex@{VERSION}"

CONFIG = """\
model = "gpt-5.1-codex"
model_provider = "scripted"
model_reasoning_summary = "auto"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[projects.{project}]
trust_level = "trusted"
"""


def install(folder):
    """Return the client's start script, installed below `folder` unless it is there; skip where that fails."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            pytest.skip(f"no {program} here to install {PACKAGE} with")
    prefix = folder / f"codex-{VERSION}"
    if not prefix.exists():
        fresh = folder / f"codex-{VERSION}.{os.getpid()}"
        fresh.mkdir(parents=True)
        _npm_install(fresh)
        try:
            fresh.rename(prefix)  # whole or not at all, whoever else installs here
        except OSError:
            shutil.rmtree(fresh)
    return prefix / "node_modules/@openai/codex/bin/codex.js"


def _npm_install(prefix):
    argv = [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--fetch-retries=1",
        "--prefix",
        str(prefix),
        PACKAGE,
    ]
    try:
        run = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
        problem = " ".join(run.stderr.split())[:300] if run.returncode else ""
    except subprocess.TimeoutExpired:
        problem = "more than 300 seconds"
    if problem:
        shutil.rmtree(prefix)
        pytest.skip(f"npm install {PACKAGE} failed: {problem}")


def tree(folder):
    """Return what tells every file below `folder` apart from a changed one."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            stat = path.stat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(folder))] = (
                stat.st_ino,
                stat.st_mode,
                stat.st_nlink,
                stat.st_mtime_ns,
                digest,
            )
    return found


class Codex:
    """One person's Codex: a home, a project, and the conversation that is held in it."""

    def __init__(self, script, namespace, port, folder):
        self.home, self.project = folder / "home", folder / "project"
        self.folder = self.home / ".codex"
        self._command = [shutil.which("node"), str(script)]
        self._namespace, self._log = namespace, folder / "codex.log"
        self.folder.mkdir(parents=True)
        self.project.mkdir()
        (self.project / "note.txt").write_text("inside of the note\n::stop\n")
        config = CONFIG.format(port=port, project=json.dumps(str(self.project)))
        (self.folder / "config.toml").write_text(config)
        self.left = tree(self.folder)

    @property
    def environment(self):
        """All that a program of this person sees of the machine."""
        path = f"{Path(self._command[0]).parent}:/usr/local/bin:/usr/bin:/bin"
        return {"HOME": str(self.home), "CODEX_HOME": str(self.folder), "PATH": path, "LANG": "C.UTF-8"}

    def begin(self, prompt):
        """Ask in a new conversation, and wait for the end of the turn."""
        self._run("exec", "--skip-git-repo-check", prompt)

    def say(self, prompt):
        """Ask in the conversation held last, and wait for the end of the turn."""
        self._run("exec", "resume", "--skip-git-repo-check", "--last", prompt)

    def rollouts(self):
        """Return the records of each conversation file, oldest first."""
        paths = sorted((self.folder / "sessions").rglob("rollout-*.jsonl"))
        return [[json.loads(line) for line in path.read_text().splitlines()] for path in paths]

    def assert_untouched(self):
        """Fail when anything but the client changed its files: while it rested, or by a record it did not number."""
        assert tree(self.folder) == self.left
        for records in self.rollouts():
            assert [record.get("ordinal") for record in records] == list(range(len(records)))

    def _run(self, *arguments):
        self.assert_untouched()
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                self._namespace.enter([*self._command, *arguments]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.project,
                env={**self.environment, "SCRIPTED_KEY": "none", "TERM": "dumb"},
                start_new_session=True,
            )
        try:
            code = process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            code = end(process)
        assert code == 0, f"codex {arguments}: {code}\n{self._log.read_text(errors='replace')[-2000:]}"
        self.left = tree(self.folder)

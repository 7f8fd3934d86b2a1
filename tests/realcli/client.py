"""A real client as one person has it: a home and a project of its own, run without a network."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from .processes import end

NODE = Path(shutil.which("node") or "/usr/bin/node")


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


class Client:
    """One person's agent, and the conversation that is held in it. Each client says where and how it runs."""

    agent = ""  # as katod calls it
    folder = ""  # where below the home the client keeps its files

    def __init__(self, command, namespace, port, place):
        self.home, self.project = place / "home", place / "project"
        self.files = self.home / self.folder
        self._command, self._namespace, self._log = command, namespace, place / f"{self.agent}.log"
        self.files.mkdir(parents=True)
        self.project.mkdir()
        (self.project / "note.txt").write_text("inside of the note\n::stop\n")
        self._variables = self.configure(port)
        self.left = self.kept()

    @property
    def environment(self):
        """All that a program of this person sees of the machine."""
        return {"HOME": str(self.home), "PATH": f"{NODE.parent}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

    def configure(self, port):
        """Write the client's settings, which name the model at `port`; return the variables that only it sees."""
        raise NotImplementedError

    def begin(self, prompt):
        """Ask in a new conversation, and wait for the end of the turn."""
        raise NotImplementedError

    def say(self, prompt):
        """Ask in the conversation held last, and wait for the end of the turn."""
        raise NotImplementedError

    def messages(self):
        """Return by the client's own files what was said in its one conversation, as (role, text)."""
        raise NotImplementedError

    def kept(self):
        """Return the state of all files that nobody but the client may change."""
        return tree(self.files)

    def assert_untouched(self):
        """Fail when anything but the client changed its files while it rested."""
        assert self.kept() == self.left

    def run(self, *arguments):
        """Run the client once, to its end."""
        self.assert_untouched()
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                self._namespace.enter([*map(str, self._command), *arguments]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.project,
                env={**self.environment, **self._variables, "TERM": "dumb"},
                start_new_session=True,
            )
        try:
            code = process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            code = end(process)
        assert code == 0, f"{self.agent} {arguments}: {code}\n{self._log.read_text(errors='replace')[-2000:]}"
        self.left = self.kept()

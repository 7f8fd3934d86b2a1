"""A real client with a home and a project of its own, run without a network."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from .manners import MANNERS
from .processes import end
from .terminal import Terminal

NODE = Path(shutil.which("node") or "/usr/bin/node")


def tree(folder):
    """Return the state of every file below `folder`, so that any change can be detected."""
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
    """One person's agent and conversation. Subclasses define where and how the client runs."""

    agent = ""  # its name in katod
    folder = ""  # where the client keeps its files, relative to the home
    interactive = ()  # arguments of its interactive form
    continued = ("--continue",)  # those with which it goes on with the latest conversation; none if it cannot

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
        """The complete environment of a program run by this person."""
        return {"HOME": str(self.home), "PATH": f"{NODE.parent}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}

    @property
    def manner(self):
        """How its interactive form behaves."""
        return MANNERS[self.agent]

    def configure(self, port):
        """Write the client's settings, with the model at `port`; return environment variables for the client alone."""
        raise NotImplementedError

    def begin(self, prompt):
        """Send a prompt in a new conversation, and wait for the end of the turn."""
        raise NotImplementedError

    def say(self, prompt):
        """Send a prompt in the latest conversation, and wait for the end of the turn."""
        raise NotImplementedError

    def messages(self):
        """Return the messages of the only conversation, read from the client's files, as (role, text)."""
        raise NotImplementedError

    def add_tools(self, command):
        """Add a server of the Model Context Protocol, as a person does, and allow its tools."""
        raise NotImplementedError

    def kept(self):
        """Return the state of all files that only the client may change."""
        return tree(self.files)

    def assert_untouched(self):
        """Assert that nothing changed the client's files while it was not running."""
        assert self.kept() == self.left

    def terminal(self):
        """Return a terminal for the client."""
        return Terminal(self._namespace, {**self.environment, **self._variables})

    def open(self, terminal, *arguments):
        """Start the interactive form."""
        self.assert_untouched()
        terminal.start([*map(str, self._command), *self.interactive, *arguments], self.project)
        self.greeted(terminal)
        terminal.wait_for(self.manner.ready)
        terminal.wait_quiet(self.manner.busy)

    def greeted(self, terminal):
        """Answer what the client asks before it accepts a prompt."""

    def leave(self, terminal):
        """End the interactive form."""
        terminal.submit(self.manner.farewell)
        terminal.wait_ended()
        terminal.close()
        self.left = self.kept()

    def run(self, *arguments):
        """Run the client once, until it exits."""
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

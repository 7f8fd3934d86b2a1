"""A client, its model and the daemon, and the conversation of a play."""

import json
from contextlib import contextmanager
from pathlib import Path

from tests.support.live import Live, until
from tests.support.world import World

SEVERAL_LINES = """\
a prompt of several lines

    ::stop
is not at the margin, ::stop is not alone, and

```text
::start fenced.md
```

is code; grüße, 你好
"""


class Play:
    """A client and its model in one namespace, and the model's log."""

    def __init__(self, client, command, namespace, log):
        self._namespace, self._log = namespace, log
        (ready,) = until(self.log, "the port of the model")
        self.client = client(command, namespace, ready["port"], log.parent)

    def log(self):
        """Return the complete lines of the model's log."""
        whole = self._log.read_text().rpartition("\n")[0] if self._log.exists() else ""
        return [json.loads(line) for line in whole.splitlines()]

    def request(self):
        """Return the newest request that the model answered, as text."""
        return Path(f"{self._log}.request").read_text()

    def kept_log(self):
        """Return the log without the parts of answers that the client does not keep."""
        return [entry for entry in self.log() if self.client.manner.keeps_halves or entry["event"] != "aborted"]

    def note(self, prompt):
        """Add a prompt to the log that the model is not told."""
        with self._log.open("a") as log:
            log.write(json.dumps({"event": "prompt", "text": prompt}) + "\n")

    def release(self):
        """Let a slow answer go on."""
        Path(f"{self._log}.go").touch()

    def last_text(self):
        """Return the newest answer."""
        return [entry for entry in self.log() if entry["event"] == "answer"][-1]["text"]

    def last_answer(self):
        """Return the first line of the newest answer, which appears in no other text."""
        return [entry for entry in self.log() if entry["event"] == "answer"][-1]["text"].splitlines()[0]

    @contextmanager
    def katod(self, form, **settings):
        """Run the daemon within the block, and assert that it leaves the client's files unchanged."""
        world = World(self.client.home, seen_empty=False)
        world.variables |= self.client.environment
        world.configure(format=form, **settings)
        with Live(world, *self._namespace.enter([], pids=False), full=None) as katod:
            yield katod
        self.client.assert_untouched()

    def record(self, katod, prompt, name):
        """Send a prompt that is to be recorded, and wait for its answer in the output."""
        self.client.say(prompt)
        katod.until_written(self.last_answer(), name)

    def hold_conversation(self, katod, notes, later):
        """Send prompts that are to be recorded and others that are not, each after the previous ones were written."""
        self.client.begin("hello one")
        self.record(katod, f"::start {notes}\n\nfirst recorded prompt", notes)
        self.record(katod, "look into it (tool)", notes)
        self.client.say(f"::keep 1 kept.{notes.rpartition('.')[2]}")
        self.record(katod, SEVERAL_LINES, notes)
        self.client.say("::stop")
        self.client.say("after the stop")
        self.record(katod, f"::start {later}\n\nthe last prompt", later)  # written last: all before it was read

"""A conversation typed in a terminal, and recorded: the same for every client."""

import time
from contextlib import contextmanager

from . import judge
from .terminal import SETTLE

PASTE = """\
Look at this page:
line 1
::stop
line 2
::capture stolen.{suffix}
the last line of the page"""
PATIENCE = 3.0  # seconds after which keys are pressed again
POLL = 0.05
QUEUED = "said while it was busy\n::stop\nsaid after the stop"


class Person:
    """A person at the terminal in which a play's client runs."""

    def __init__(self, play, terminal):
        self._play, self.client, self.terminal = play, play.client, terminal

    def open(self, *arguments):
        """Start the client."""
        self.client.open(self.terminal, *arguments)

    def leave(self):
        """End the client."""
        self.client.leave(self.terminal)

    def command(self, command, words=""):
        """Give a command to the client itself, and wait for some words on the screen."""
        self.terminal.submit(command)
        time.sleep(SETTLE)
        self.terminal.wait_for(words)
        self.terminal.wait_quiet(self.client.manner.busy)

    def ask(self, prompt):
        """Send a prompt, and wait for the end of the turn."""
        heard = self.heard()
        self.terminal.submit(prompt)
        self.answered(heard + (2 if "(tool)" in prompt else 1))

    def choose(self, command):
        """Send what the client may complete first: Enter then only takes it from a list."""
        heard = self.heard()
        self.terminal.submit(command)
        if not self._soon(lambda: self.heard() > heard):
            self.terminal.press("Enter")
        self.answered(heard + 1)

    def answered(self, number):
        """Wait until the model has given so many answers, and the client waits for the next prompt."""
        self.terminal.until(lambda: self._count("answer") >= number, f"answer {number}")
        self.terminal.wait_quiet(self.client.manner.busy)

    def interrupt(self, prompt):
        """Send a prompt, and press Esc in the middle of its answer, again if the client did not notice."""
        aborted = self._count("aborted")

        def has_stopped():
            self.terminal.press(*self.client.manner.stop)
            return self._soon(lambda: self._count("aborted") > aborted)

        self.begin(prompt)
        self.terminal.until(has_stopped, "the end of the answer")
        self.terminal.wait_quiet(self.client.manner.busy)

    def queue(self, prompt, queued):
        """Send a prompt, and another one in the middle of its answer; wait for both answers."""
        heard = self.heard()
        self.begin(prompt)
        self.terminal.submit(queued, self.client.manner.queue)
        time.sleep(SETTLE)  # until it is in the queue, which not every screen shows
        self._play.release()
        self.answered(heard + 2)

    def overtake(self, prompt, next_prompt):
        """Send a prompt, and another one that ends its answer in the middle."""
        heard = self.heard()
        self.begin(prompt)
        self.terminal.submit(next_prompt)
        self.answered(heard + 1)

    def begin(self, prompt):
        """Send a prompt, and wait for the first half of its answer."""
        waiting = self._count("waiting")
        self.terminal.submit(prompt)
        self.terminal.until(lambda: self._count("waiting") > waiting, "the first half of the answer")

    def heard(self):
        """Return how many answers were given."""
        return self._count("answer")

    @staticmethod
    def _soon(probe):
        deadline = time.monotonic() + PATIENCE
        while not (found := probe()) and time.monotonic() < deadline:
            time.sleep(POLL)
        return found

    def _count(self, event):
        return sum(entry["event"] == event for entry in self._play.log())


@contextmanager
def talk(play):
    """A person at a terminal in which the client runs."""
    terminal = play.client.terminal()
    try:
        yield Person(play, terminal)
    finally:
        terminal.remove()


def hold_in_terminal(play, form):
    """Hold the conversation that every client understands, and compare the outputs with the model's log."""
    suffix = {"markdown": "md"}.get(form, form)
    with play.katod(form) as katod, talk(play) as person:
        person.open()
        converse(person, suffix)
        katod.until_written(play.last_answer(), f"later.{suffix}")
        person.leave()
        judge.assert_outputs(katod, play.kept_log())
        assert pasted_commands_acted(katod.world, suffix) != play.client.manner.marks_pastes
        assert_reproducible(katod)


def pasted_commands_acted(world, suffix):
    """Return whether the pasted commands acted; if not, `katod status` must say that they did not."""
    acted = f"stolen.{suffix}" in world.written()
    assert acted == (not world.status()["nearMisses"])
    return acted


def converse(person, suffix):
    """Say everything that every client understands; the last prompt is recorded."""
    person.ask("hello")
    person.ask(f"::start notes.{suffix}\nthe first recorded words")
    person.ask("look into it (tool)")
    person.ask(f"thank you\n::keep 2 kept.{suffix}")
    person.ask(PASTE.format(suffix=suffix))
    person.queue("a long one (slow)", QUEUED)
    person.ask("not recorded")
    person.ask(f"::start later.{suffix}\nrecorded again")
    person.queue("another long one (slow)", "said while it was busy again")
    person.interrupt("to be interrupted (slow)")
    person.ask("after the interruption")


def assert_reproducible(katod):
    """Assert that the outputs are what `katod verify` and `katod export` make of the client's files."""
    katod.world.cli("verify", "--strict")
    assert katod.world.assert_live_is_batch()

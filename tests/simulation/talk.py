"""A session in the simulation: what `tests.faults.writer` writes, and what else agents do to their files."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from katod.agents import AGENTS
from tests.faults.writer import SPOKEN, Talk
from tests.support.records import line

from .sessions import CodexSession, GeminiSession, OpenCodeSession, PiSession

OTHERS = {4: PiSession, 5: GeminiSession, 6: OpenCodeSession, 0: GeminiSession}  # by the last digit of its number


class Chat(Talk):
    """One session, the marks that belong in each of its outputs, and a record that is not written as a whole yet."""

    def __init__(self, world, number, rng):
        super().__init__(world, number, rng)
        self.kinds = self.kinds | {"command": rng.choice((4, 8, 30, 150))}
        if other := OTHERS.get(number % 10, CodexSession if self.session.agent == "codex" else None):
            self.session = other(world, self.session.session)
        self.is_stored = isinstance(self.session, OpenCodeSession)  # in a database, and has no file of its own
        self._lines = getattr(self.session, "lines", line)
        self.asks = rng.choice((0.0, 0.05, 0.2))  # how often its person types the same words as before
        self.repeats = 0.0 if self.is_stored else rng.choice((0.0, 0.02, 0.2))
        self.rest = b""
        self.turns = []  # how many records and marks there were after each turn
        self.is_paused = self.is_suspended = self.is_cut = self.is_set_back = False
        self.is_asking = self.was_asking = False  # whether what was typed last, or before, may begin an echo
        self.is_echoing = False  # whether it has just written a part of its history again
        self.is_forgotten = self.is_buried = False  # whether katod has forgotten it, and its file is the same since
        self.is_dated = self.is_stored  # whether katod tells by the clock which of its commands are history

    @property
    def path(self):
        return self.session.path

    @property
    def key(self):
        path = f"{self.path}#{self.session.id}" if self.is_stored else self.path
        return AGENTS[self.session.agent].identity_of(Path(path)).key

    @property
    def exists(self):
        """Whether its agent has it."""
        return self.session.exists if self.is_stored else self.path.exists()

    @property
    def is_recorded_in_part(self):
        """Whether no recording has all of it."""
        return not any(name.startswith("cap-") for name in self.outputs)

    @property
    def begun(self):
        """Whether there is something in its file."""
        return bool(self.written)

    def write(self, rng):
        """Write what happens next, or the rest of what was not written as a whole."""
        self.rng = rng
        if self.rest:
            self.complete()
            return
        before, self.was_asking, self.is_asking = len(self.written), self.is_asking, False
        records = self.turn()
        self.is_echoing = len(self.written) == before
        self._write(records, before, whole=rng.random() < 0.9)

    def _write(self, records, before, *, whole):
        for _, record in self.written[before:]:
            record["timestamp"] = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        data = b"".join(map(self._lines, records))
        self.turns.append((len(self.written), len(self.history)))
        cut = len(data) if whole else self.rng.randrange(len(data))
        self._append(data[:cut])
        self.rest = data[cut:]

    def complete(self):
        """Write the rest of a record, if there is one."""
        if self.rest:
            self._append(self.rest)
            self.rest = b""

    def answer(self):
        """Write an answer to words that wait for it: they may be the beginning of an echo, or their agent may wait."""
        is_open = self.is_stored and self.written and self.written[-1][0] == "user"
        if (self.is_asking or is_open) and self.exists:
            self.complete()
            before, self.is_asking = len(self.written), False
            record = self.session.says(self._text("says"))
            self.written.append(("says", record))
            self._write([record], before, whole=True)

    def _append(self, data):
        self.session.append(data)
        self._touch()

    def _touch(self):
        """Give its file the time of the simulation's clock, as the system does."""
        if not self.is_stored:
            os.utime(self.path, (time.time(), time.time()))

    def _act(self, chance):
        """Act as always, unless katod is paused: then only `::stop` has an effect."""
        if not self.is_paused:
            return super()._act(chance)
        if chance < 0.5:
            self.is_suspended = False
            return "::stop"
        return "::start"

    def _next(self):
        """Write what an agent writes, or now and then that its person typed the same words as before.

        These are never its first ones: all its answers used as many tokens, so that the first exchange, had once more,
        could not be told from a history that is written again.
        """
        if (
            not (self.calling or self.was_asking or self.is_set_back)
            and any(kind == "user" and mark != "ok" for kind, mark in self.history)
            and self.rng.random() < self.asks
        ):
            self._note("user", "ok")
            self.is_asking = True
            return [self.session.typed("ok")]
        records = super()._next()
        return self._joined(records) if self.session.JOINS_RESULTS else records

    def _joined(self, records):
        """Let a call and its result be one message: what is written of it before has neither."""
        if self.calling:
            self.calling = False
            return [*records, self.session.result(self.call, self._text("result"), error=self.rng.random() < 0.3)]
        return [record for record in records if not self.session.is_empty(record)]

    def _again(self):
        """Write nothing again once the clock was set, or at the moment of words that were typed before.

        What follows at an earlier time, and such words, could be part of it.
        """
        return [] if self.is_set_back or self.was_asking else super()._again()

    def _keep(self, begin):
        return "" if self.is_paused or self.is_cut else super()._keep(begin)  # what was answered may be gone

    def pause(self):
        """Model that katod is paused: later, a recording goes on whose session is still there."""
        self.is_suspended = self.recording is not None and self.exists
        self.is_paused, self.recording = True, None

    def resume(self):
        """Model that katod is paused no longer: a recording goes on that was not stopped."""
        self.recording = self.present if self.is_suspended else None
        self.is_paused = self.is_suspended = False
        self.is_dated = True

    def start(self):
        """Model `katod start` in the shell; return the name to ask for."""
        name = ""
        if self.present is None:
            self.present = f"-{self.number:08x}.{self.suffix}"
            self.outputs[self.present] = []
            name = "" if self.suffix == "md" else f"log{self.present}"
        self.recording = self.present
        return name

    def stop(self):
        """Model `katod stop` in the shell."""
        self.recording = None

    @property
    def can_rewind(self):
        """Whether its agent can take back the last turns: none of them is half written."""
        is_plain = self.session.agent == "claude" and not (self.calling or self.rest or self.is_set_back)
        return is_plain and len(self.turns) > 4

    def rewind(self, rng):
        """Take the last records away from its file, all of which katod has read."""
        self.turns = self.turns[: max(4, len(self.turns) - rng.randint(1, 6))]
        records, marks = self.turns[-1]
        self.written, self.history = self.written[:records], self.history[:marks]
        self.questions = [at for at in self.questions if at < len(self.history)]
        last, said = self.history[-1] if self.history else ("", "")
        self.is_asking = (last, said) == ("user", "ok")
        self.is_running = bool(self.questions) and last not in ("says", "ok")
        self.path.write_bytes(b"".join(line(record) for _, record in self.written))
        self._touch()
        self.is_cut = self.is_dated = True

    def rewrite(self):
        """Write its file again as it is, as another file."""
        fresh = self.path.with_name(f"{self.path.name}.tmp")
        fresh.write_bytes(self.path.read_bytes())
        fresh.rename(self.path)
        self._touch()
        self.is_dated, self.is_buried = True, False

    def delete(self):
        """Delete its file: what was recorded stays."""
        (self.session.remove if self.is_stored else self.path.unlink)()
        self.left, self.is_cut, self.is_suspended = 0, True, False

    def forget(self, *, deletes):
        """Model that katod forgets it: what was recorded stays, unless that is deleted, too."""
        self.left, self.is_cut, self.is_suspended, self.recording = 0, True, False, None
        self.is_forgotten = self.is_buried = True
        if deletes:
            self.outputs.clear()


def wanted(chats):
    """Return what each output must contain: the marks of all that was said, and of all else, and how many `ok`."""
    found = {}
    for chat in chats:
        for name, marks in chat.outputs.items():
            found[name] = {
                "said": [mark for kind, mark in marks if kind in SPOKEN and mark != "ok"],
                "all": [mark for _, mark in marks if mark != "ok"],
                "ok": sum(mark == "ok" for _, mark in marks),
            }
    return found

"""Simulates agents: appends to several sessions until standard input ends, then writes what must be recorded.

Usage: `python -m tests.faults.writer FOLDER SEED TRUTH`. TRUTH becomes a JSON object that maps the end of a file name
to `{"said": […], "all": […], "ok": number}`: the marks that the output must contain, in this order, and the number of
`ok` messages. `all` applies to JSONL outputs, which also contain thinking, calls and results.

A mark ends a text; in a message it is on a line of its own. A session's id and the names of its outputs contain its
number as 8 hexadecimal digits. A person writes only to outputs with odd numbers.
"""

import json
import random
import select
import sys
from pathlib import Path
from types import SimpleNamespace

from tests.support.records import line
from tests.support.world import numbered

WORDS = ("alpha", "grüße", "你好", "#", "echo", ">", "foxtrot", "`golf`", "**hotel**", "<india>", "🎉", "juliet")
SESSIONS = 6
LONG = 200_000
SPOKEN = ("user", "says")


class Talk:
    """One session, and the marks that belong in each of its outputs."""

    def __init__(self, world, number, rng):
        self.number, self.rng = number, rng
        self.session = numbered(world, number, "codex" if number % 3 == 0 else "claude")
        self.suffix = "jsonl" if number // 2 % 2 else "md"
        self.left = rng.randint(80, 500)
        self.marks = 0
        self.history = []
        self.outputs = {}
        self.present = self.recording = None
        self.calling = False

    def turn(self):
        """Return the records of the next thing that happens in the session."""
        self.left -= 1
        first = [] if self.session.count else self.session.opening()
        if self.calling:
            self.calling = False
            return [*first, self.session.result(self.call, self._text("result"), error=self.rng.random() < 0.3)]
        kinds = {"user": 12, "says": 40, "ok": 4, "thinks": 10, "runs": 20, "command": 8}
        kind = self.rng.choices(list(kinds), kinds.values())[0]
        if kind == "command" or (self.present is None and self.session.count > 2):
            return [*first, self._command()]
        if kind == "ok":
            self._note("ok", "ok")
            return [*first, self.session.says("ok")]
        if kind == "runs":
            self.calling, self.call = True, f"call-{self.marks}"
            return [*first, self.session.runs(self.call, f"true {self._mark(kind)}")]
        make = {"user": self.session.typed, "says": self.session.says, "thinks": self.session.thinks}[kind]
        return [*first, make(self._text(kind))]

    def _command(self):
        """Return a typed message with a command in the middle."""
        before = self._text("user")
        line = self._act(self.rng.random())
        return self.session.typed(f"{before}\n{line}\n{self._text('user')}")

    def _act(self, chance):
        name = f"{self.number:08x}-{self.marks}.{self.rng.choice(('md', 'jsonl'))}"
        if self.present is None:
            self.present = self.recording = f"-{self.number:08x}.{self.suffix}"
            self.outputs[self.present] = []
            return "::start" if self.suffix == "md" else f"::start log{self.present}"
        if chance < 0.08:
            self.present = self.recording = f"cap-{name}"
            self.outputs[self.present] = list(self.history)
            return f"::capture cap-{name}"
        if chance < 0.16:
            self.outputs[f"exp-{name}"] = list(self.history)
            return f"::export exp-{name}"
        if self.recording and chance < 0.85:
            self.recording = None
            return "::stop"
        self.recording = self.present
        return "::start"

    def _text(self, kind):
        size = self.rng.choices((0, 60, 2_000, LONG), (20, 60, 19, 1))[0]
        words = self.rng.choices(WORDS, k=self.rng.randint(0, size // 7))
        lines = [" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]
        return "\n".join([*lines, self._mark(kind)])

    def _mark(self, kind):
        self.marks += 1
        mark = f"mark-{self.number:08x}-{self.marks:06d}."
        self._note(kind, mark)
        return mark if kind in SPOKEN else f"see {mark}"

    def _note(self, kind, mark):
        self.history.append((kind, mark))
        if self.recording:
            self.outputs[self.recording].append((kind, mark))


def truth(talks):
    """Return the expected content of each output."""
    found = {}
    for talk in talks:
        for name, marks in talk.outputs.items():
            spoken = [mark for kind, mark in marks if kind in SPOKEN]
            everything = [mark for kind, mark in marks if kind != "ok"]
            found[name] = {"said": spoken, "all": everything, "ok": sum(kind == "ok" for kind, _ in marks)}
    return found


def main(folder, seed, target):
    rng = random.Random(seed)
    world = SimpleNamespace(home=Path(folder))
    talks = []
    while not select.select([sys.stdin], [], [], rng.uniform(0.002, 0.012))[0]:
        busy = [talk for talk in talks if talk.left > 0]
        if len(busy) < SESSIONS:
            talks.append(Talk(world, len(talks) + 1, rng))
            busy.append(talks[-1])
        talk = rng.choice(busy)
        records = b"".join(map(line, talk.turn()))
        cut = rng.randrange(len(records)) if rng.random() < 0.1 else len(records)
        talk.session.append(records[:cut])
        talk.session.append(records[cut:])
    Path(target).write_text(json.dumps(truth(talks)))


if __name__ == "__main__":
    main(*sys.argv[1:])

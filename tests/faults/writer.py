"""Simulates agents: appends to several sessions until standard input ends, then writes what must be recorded.

Usage: `python -m tests.faults.writer FOLDER SEED TRUTH`. TRUTH becomes a JSON object that maps the end of a file name
to `{"said": […], "all": […], "ok": number}`: the marks that the output must contain, in this order, and the number of
`ok` messages. `all` applies to JSONL outputs, which also contain thinking, calls and results.

A mark ends a text; in a message it is on a line of its own. A session's id and the names of its outputs contain its
number as 8 hexadecimal digits. A person writes only to outputs with odd numbers.

Like real clients, these write some results before their calls, and now and then their history again, under other ids
and times, which says nothing new. Beside their sessions are those that older versions left, and damaged ones.
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
    """One session, and the marks that belong in each of its outputs.

    `kinds` says how often each kind of record is written, `repeats` how often a part of the history is written again.
    """

    kinds = {"user": 12, "says": 40, "ok": 4, "thinks": 10, "runs": 20, "command": 8}  # noqa: RUF012 - never changed
    repeats = 0.02

    def __init__(self, world, number, rng):
        self.number, self.rng = number, rng
        self.session = numbered(world, number, "codex" if number % 3 == 0 else "claude")
        self.suffix = "jsonl" if number // 2 % 2 else "md"
        self.left = rng.randint(80, 500)
        self.marks = 0
        self.history = []
        self.questions, self.is_running = [], False  # where exchanges begin in it, and if the last one has no answer
        self.outputs, self.named = {}, 0
        self.present = self.recording = None
        self.calling = False
        self.copies = 0
        self.written = []  # the kind of each record, and the record

    def turn(self):
        """Return the records of the next thing that happens in the session."""
        self.left -= 1
        if self.written and not self.calling and self.rng.random() < self.repeats and (again := self._again()):
            return again
        before = len(self.history)
        records = self._next()
        kind = "user" if any(kind == "user" for kind, _ in self.history[before:]) else "other"
        kind = "says" if [one for one, _ in self.history[before:]] in (["says"], ["ok"]) else kind
        self.written += [(kind if record is records[-1] else "other", record) for record in records]
        return records

    def _again(self):
        """Return a part of the history, in order and with an answer, as a client writes it again within a moment."""
        prompts = [at for at, (kind, _) in enumerate(self.written) if kind == "user"]
        answers = [at for at, (kind, _) in enumerate(self.written) if kind == "says"]
        begin = self.rng.choice([0, *prompts[-8:]]) if prompts else len(self.written)
        begin = min((at for at in prompts if at >= begin), default=len(self.written))
        later = [at for at in answers if at > begin]
        if not later:
            return []
        end = self.rng.choice(later[:12])
        between = [at for at in range(begin + 1, end) if self.rng.random() < 0.7]
        return [self._copied(self.written[at][1], n) for n, at in enumerate((begin, *between, end))]

    def _copied(self, record, number):
        """Return a record under another id, within the moment of the last one."""
        copy = json.loads(json.dumps(record)) | {
            "timestamp": self.written[-1][1]["timestamp"].replace(".000Z", f".{number:03}Z")
        }
        self.copies += 1
        if "uuid" in copy:
            copy["uuid"] = f"{self.number:08x}-0001-4000-8000-{self.copies:012d}"
            copy["message"] |= {"id": f"msg_copy_{self.copies}"} if "id" in copy["message"] else {}
        elif "ordinal" in copy:
            copy["ordinal"] = self.session.count
            self.session.count += 1
        else:
            copy["id"] = f"{self.copies:08x}c"
        return copy

    def _next(self):
        first = [] if self.session.count else self.session.opening()
        if self.calling:
            self.calling = False
            return [*first, self.session.result(self.call, self._text("result"), error=self.rng.random() < 0.3)]
        kind = self.rng.choices(list(self.kinds), self.kinds.values())[0]
        if kind == "command" or (self.present is None and self.session.count > 2):
            return [*first, self._command()]
        if kind == "ok":
            self._note("ok", "ok")
            return [*first, self.session.says("ok")]
        if kind == "runs":
            self.calling, self.call = True, f"call-{self.marks}"
            call = self.session.runs(self.call, f"true {self._mark(kind)}")
            if self.rng.random() < 0.8:
                return [*first, call]
            self.calling = False
            return [*first, self.session.result(self.call, self._text("result")), call]
        make = {"user": self.session.typed, "says": self.session.says, "thinks": self.session.thinks}[kind]
        return [*first, make(self._text(kind))]

    def _command(self):
        """Return a typed message with a command: where pastes are marked in the middle, elsewhere at its ends."""
        begin = len(self.history)
        parts = [True, True] if self.session.agent == "claude" else self.rng.choice(([True, False], [False, True]))
        before = f"{self._text('user')}\n" if parts[0] else ""
        line = self._keep(begin) if self.rng.random() < 0.15 else ""
        line = line or self._act(self.rng.random())
        return self.session.typed(f"{before}{line}\n{self._text('user') if parts[1] else ''}")

    def _keep(self, begin):
        """Return a command that keeps the last exchanges, without the words above it if those begin the next one."""
        questions = [at for at in self.questions if at < begin]
        if not questions:
            return ""
        count = self.rng.randint(1, 4)
        end = begin if self.questions[-1] >= begin else len(self.history)
        name = self._name()
        self.outputs[f"keep-{name}"] = self.history[questions[-count:][0] : end]
        return f"::keep {count} keep-{name}"

    def _name(self):
        """Return the end of a name that no other output has."""
        self.named += 1
        return f"{self.number:08x}-{self.named}.{self.rng.choice(('md', 'jsonl'))}"

    def _act(self, chance):
        name = self._name()
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
        if kind == "user" and not self.is_running:
            self.questions.append(len(self.history))
        self.is_running = bool(self.questions) and kind not in ("says", "ok")  # before the first one, nothing is asked
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


def leftovers(home):
    """Write what older versions of agents leave beside their sessions, and damaged files of each."""
    data = home / ".local/share/opencode/storage"
    info = {"id": "ses_left", "directory": "/home/me/app", "version": "1.1.65", "time": {"created": 1, "updated": 2}}
    message = {"id": "msg_left", "sessionID": "ses_left", "role": "user", "time": {"created": 1}}
    part = {"id": "prt_left", "messageID": "msg_left", "type": "text", "text": "old words"}
    found = {
        data / "session/p1/ses_left.json": json.dumps(info),
        data / "message/ses_left/msg_left.json": json.dumps(message),
        data / "part/msg_left/prt_left.json": json.dumps(part),
        data / "session/p1/ses_torn.json": '{"id": "ses_torn", "tim',
        home / ".local/share/opencode/opencode.db": "no database",
        home / ".gemini/tmp/app/chats/session-2025-01-01T00-00-00000000.json": "[[[[",
        home
        / ".claude/projects/-home-me-app/deadbeef-8a53-4c3e-9b5e-0a1d5f8f2c11.jsonl": '{"type": ["user"]}\n\0\0\n{',
        home / ".pi/agent/sessions/--app--/2025-01-01T00-00-00-000Z_left.jsonl": '{"type": 7, "message": []}\n',
    }
    for path, text in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(folder, seed, target):
    rng = random.Random(seed)
    world = SimpleNamespace(home=Path(folder))
    leftovers(world.home)
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

"""The expected content of an output, derived only from the test's actions, without any code of katod.

Each message contains a unique mark. While a recording is on, katod must write each mark once, in the order in which
it first read them. Whatever happens to the source later, a written mark stays.
"""

import json
import re

from tests.support.reading import lines

MARK = re.compile(r"^mark-\d{5}\.$", re.MULTILINE)
_IN_RECORD = re.compile(r"mark-\d{5}\.")
START, STOP, SAY = "start", "stop", "say"


class Expected:
    """A model of one output."""

    def __init__(self):
        self.kinds = {}
        self.seen = set()
        self.recorded = []
        self.recording = False
        self.loose = set()  # removed when the person saved an old copy: neither written again nor missed
        self.notes = []

    def new(self, kind):
        """Return the text of the next message."""
        mark = f"mark-{len(self.kinds):05d}."
        self.kinds[mark] = kind
        return {START: f"::start\n{mark}", STOP: f"{mark}\n::stop", SAY: mark}[kind]

    def read(self, records):
        """Model that katod reads these records, some of which it may already know."""
        for mark in _IN_RECORD.findall("\n".join(json.dumps(record) for record in records)):
            if mark not in self.seen:
                self.seen.add(mark)
                self._see(mark)

    def _see(self, mark):
        self.recording = self.recording or self.kinds[mark] == START
        if self.recording:
            self.recorded.append(mark)
        self.recording = self.recording and self.kinds[mark] != STOP

    def note(self):
        """Return a note by the person, which must stay."""
        self.notes.append(f"a note of mine, number {len(self.notes)}.")
        return self.notes[-1]

    def replaced(self, before, after):
        """Model that the person overwrote the output with other content."""
        kept = set(marks_of(after))
        self.loose |= {mark for mark in marks_of(before) if mark not in kept}
        self.notes = [note for note in self.notes if note in after]

    def difference(self, content):
        """Return a description of what is wrong with the output, empty if nothing is."""
        found = marks_of(content)
        firm = [mark for mark in found if mark not in self.loose]
        wanted = [mark for mark in self.recorded if mark not in self.loose]
        wrong = [] if firm == wanted else [f"{firm} instead of {wanted}"]
        wrong += [f"{mark} is there twice" for mark in self.loose if found.count(mark) > 1]
        wrong += [f"{note!r} is there {content.count(note)} times" for note in self.notes if content.count(note) != 1]
        return "; ".join(wrong)


def marks_of(content):
    """Return the marks in an output, Markdown or JSONL, in order."""
    return [mark for line in lines(content) for mark in MARK.findall(_text(line))]


def _text(line):
    """Return a line, or the text of the event if the line is one."""
    try:
        return json.loads(line)["payload"].get("text", "")
    except (ValueError, TypeError, KeyError):
        return line

"""What an output has to hold, told from what was said and done. It knows nothing of katod.

Each thing that is said holds a mark of its own. katod has to print a mark once, in the order in which it came to see
them, if a recording was on; whatever becomes of the source then, it stays printed.
"""

import json
import re

MARK = re.compile(r"^mark-\d{5}\.$", re.MULTILINE)
_IN_RECORD = re.compile(r"mark-\d{5}\.")
START, STOP, SAY = "start", "stop", "say"


class Expected:
    """The model of one output."""

    def __init__(self):
        self.kinds = {}
        self.seen = set()
        self.recorded = []
        self.recording = False
        self.loose = set()  # the person took them out with an old copy: they are not to be printed again, nor missed
        self.notes = []

    def new(self, kind):
        """Return the text of the next thing that is said."""
        mark = f"mark-{len(self.kinds):05d}."
        self.kinds[mark] = kind
        return {START: f"::start\n{mark}", STOP: f"{mark}\n::stop", SAY: mark}[kind]

    def read(self, records):
        """Have katod see these records, of which it may know some."""
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
        """Return a note of the person, which has to stay."""
        self.notes.append(f"a note of mine, number {len(self.notes)}.")
        return self.notes[-1]

    def replaced(self, before, after):
        """Note that the person saved another content over the output."""
        kept = set(marks_of(after))
        self.loose |= {mark for mark in marks_of(before) if mark not in kept}
        self.notes = [note for note in self.notes if note in after]

    def difference(self, content):
        """Return in words what is wrong with the output, nothing if all is well."""
        found = marks_of(content)
        firm = [mark for mark in found if mark not in self.loose]
        wanted = [mark for mark in self.recorded if mark not in self.loose]
        wrong = [] if firm == wanted else [f"{firm} instead of {wanted}"]
        wrong += [f"{mark} is there twice" for mark in self.loose if found.count(mark) > 1]
        wrong += [f"{note!r} is there {content.count(note)} times" for note in self.notes if content.count(note) != 1]
        return "; ".join(wrong)


def marks_of(content):
    """Return the marks in an output, Markdown or JSONL, in their order."""
    return [mark for line in content.split("\n") for mark in MARK.findall(_text(line))]


def _text(line):
    """Return a line, or what was said in it if it is an event."""
    try:
        return json.loads(line)["payload"].get("text", "")
    except (ValueError, TypeError, KeyError):
        return line

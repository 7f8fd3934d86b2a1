"""Mutants that change nothing that anything outside could notice, with the reason. By function, so that modules may move."""

from typing import Final

from tests.mutants.trial import Mutant

_LOWER: Final = "a label has no letter in upper case"
_NEVER: Final = "Starlette calls this for an HTTPException alone"

REASONS: Final[dict[str, str]] = {
    '_line_end: found = following.find(line + b"\\n", found + [1 → 2])': (
        "the next byte cannot begin such a line: the one before it is the first byte of the line that was found"
    ),
    "_line_end: return found + len(line) + 1 if found >= 0 else -[1 → 2]": "any negative number says that there is none",
    "_wrong: error.status_code if isinstance(error, HTTPException) else [500 → 499]": _NEVER,
    "_end: end = text.rfind(closing, opening.end() - [1 → 2], limit)": "a closing tag begins with a line break",
    'ZotAdapter._meta: self.new.now.update({"started": ["1" → \'1X\']} | kept)': "only whether there is one counts",
    (
        "Outline._set_mark: if [len(self) - self._before(len(self)).number < _EVERY"
        " → len(self) - self._before(len(self)).number <= _EVERY]:"
    ): "how often a mark is set changes what a page costs by one message, and nothing that is in it",
    "_wrong: error.status_code if isinstance(error, HTTPException) else [500 → 501]": _NEVER,
    (
        ": _STEP: Final = [32_768 → 1]  # characters, after which others have their turn"
    ): "how long a step is changes when others have their turn, and nothing that is found",
    (
        'Echoes.__init__: self._last: str = kept.get("last", ["" → \'X\'])  # when the last event that is no echo was written'
    ): "neither is a time",
    "note_document: batch = file.read(Cursor(), [0 → -1])": "a document is read as a whole, whatever the size",
    '_label: return _DASHES.sub("-", kept).lstrip(["#-./" → \'#-./X\'])[:LONGEST_LABEL].rstrip("-./")': _LOWER,
    '_label: DASHES.sub("-", kept).lstrip("#-./")[:LONGEST_LABEL].rstrip(["-./" → \'-./X\'])': _LOWER,
    (
        '_Act._decided: return Action(end=bool(state.recording), begin=["here" → \'hereX\'], target="generated")'
    ): "it only is not the beginning",
    "_last_bytes: return begin, os.pread(fd, [size - begin → size + begin], begin)": "no more than that can be read",
    ("Client.__init__: self._room = quote(settings.room, safe=[\"\" → 'X'])"): "no letter is quoted",
    "ZotAdapter._call: if not self._calls.add(call, [1 → 0]):": "only whether there is one counts",
    "ZotAdapter._call: if not self._calls.add(call, [1 → 2]):": "only whether there is one counts",
    "_title_in: return text_of(row[[0 → -1]])": "the query asks for one column",
    "_mode: return [\"immutable=1\" → 'immutable=1X']": "SQLite reads the number that this begins with",
    "_answers: for question, answer in [zip(asked, answers, strict=False) → zip(asked, answers)]:": "it is so by default",
    'reprint: e = (state["index"], state["active"]) == (kept.get("index", [0 → 1]), kept.get("active", False))': (
        "as long as nothing was printed, the state of the format is empty, as it is if the sources are incomplete"
    ),
    "Follower.__init__: self.moved = [False → True]  # whether something was read in the last advance": (
        "it is asked for behind an advance, which sets it"
    ),
    ": _CONTINUES: Final = frozenset([\"+.([?`*/-\" → '+.([?`*/-X'])  # what follows makes a string a part of something else": (
        "no letter follows a string"
    ),
    "Hub.__init__: self.reading = WorkerThread([\"katod-reading\" → 'katod-readingX'])": "the name of a thread",
    ": _BYTES: Final = [32 → 33]": "a token may be longer",
    ": _READ_BYTES: Final = [512 * 1024 → 1]": "how much is read at a time changes nothing that is found",
    "run: [gc.collect() → pass]": "what is not collected now takes memory, and nothing else",
}


def reason(mutant: Mutant) -> str:
    """Return why no test can notice a mutant, empty if one should."""
    return REASONS.get(mutant.words, "")
